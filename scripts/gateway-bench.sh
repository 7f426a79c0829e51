#!/usr/bin/env bash
# The gateway under load: what it adds beside a bare reverse proxy and no proxy, or what it
# holds over some minutes. Upstream, proxies and the load are processes of this machine, on
# loopback. It prints what docs/gateway-bench.txt and docs/gateway-soak.txt keep.
#
#   scripts/gateway-bench.sh bench 5s     each of the runs
#   scripts/gateway-bench.sh soak 10m     the whole of it
set -euo pipefail
case ${1-} in
bench) test=TestLoad ;;
soak) test=TestSoak ;;
*) echo "usage: scripts/gateway-bench.sh bench|soak DURATION" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
go test -c -o "$program/load.test" ./internal/gateway
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '%s, %s, %s, niceness %s\n' "$(go env GOVERSION)" "$(go env GOOS)/$(go env GOARCH)" "${cpu:-unknown processor}" "$(nice)"
AGENTBOUND_GATEWAY_LOAD=$2 "$program/load.test" -test.run "^$test\$" -test.v -test.timeout 2h 2>&1 | sed -E -e '/^=== /d' -e 's/^ +load_test\.go:[0-9]+: //' -e 's/ \([0-9.]+s\)$//'
