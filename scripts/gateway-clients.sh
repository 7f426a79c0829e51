#!/usr/bin/env bash
# The official OpenAI and Anthropic clients of Python behind the gateway, of the versions
# that examples/gateway pins, streamed and not, with an edit and without. It installs them
# into a private folder first, and prints what docs/gateway-clients.txt keeps.
#
#   scripts/gateway-clients.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { echo "usage: scripts/gateway-clients.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
for need in python3 go; do
	command -v "$need" >/dev/null || { echo "gateway-clients needs $need on PATH" >&2; exit 2; }
done
if [ ! -e "$dir/python/requirements.txt" ] || ! cmp -s examples/gateway/requirements.txt "$dir/python/requirements.txt"; then
	rm -rf "$dir/python"
	python3 -m venv "$dir/python"
	"$dir/python/bin/pip" install --quiet --disable-pip-version-check --no-deps -r examples/gateway/requirements.txt >&2
	cp examples/gateway/requirements.txt "$dir/python/requirements.txt"
fi
grep -E '^(openai|anthropic)==' examples/gateway/requirements.txt | tr '\n' ' '
echo
AGENTBOUND_GATEWAY_PYTHON="$dir/python/bin/python" go test -count=1 -v -run '^TestPythonClients$' ./internal/gateway |
	sed -E -e '/^=== /d' -e 's/ +[a-z_]+\.go:[0-9]+: /    /' -e 's/ \([0-9.]+s\)//' -e 's/\t[0-9.]+s$//'
