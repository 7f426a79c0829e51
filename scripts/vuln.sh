#!/usr/bin/env bash
# Reports known vulnerabilities in what agentbound calls: scripts/vuln.sh GOVULNCHECK
#
# The database is the Go team's own, taken as a module through the Go command, so
# that whoever can build the project can check it. govulncheck reads its flat
# folder of OSV files as it stands and makes the index in memory.
set -euo pipefail
cd "$(dirname "$0")/.."

db=$(go mod download -json golang.org/x/vulndb@latest | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
if [ ! -d "$db/data/osv" ]; then
	echo "vuln.sh: golang.org/x/vulndb has no data/osv any more; its layout has changed" >&2
	exit 3
fi
echo "database: $(basename "$db"), $(find "$db/data/osv" -name 'GO-*.json' | wc -l) entries"
exec "$1" -db "file://$db/data/osv" ./...
