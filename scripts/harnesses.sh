#!/usr/bin/env bash
# Plays agent programs that are installed against a scripted model on loopback, with the
# proxy, the tools and the confinement of a run, and prints what docs/harnesses.txt keeps.
#
#   scripts/harnesses.sh NAME…
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: scripts/harnesses.sh NAME…" >&2; exit 2; }
cd "$(dirname "$0")/.."
named=$(IFS=, && echo "$*")

# Without places in files, times of single tests, and what was not asked for.
plain() {
	sed -E -e '/^=== RUN   Test(RunsAgentPrograms$|[^R])/d' -e '/: SKIP|--- SKIP/d' -e '/does not name it/d' \
		-e 's/^ +[a-z_]+\.go:[0-9]+: /    /' -e 's/ \([0-9.]+s\)$//' -e 's/\t[0-9.]+s$//'
}

AGENTBOUND_TEST_HARNESSES="$named" go test -count=1 -v -timeout 2h -run 'AgentPrograms$|^TestPrograms|^TestKilledProgramRun$' ./cmd/agentbound | plain
