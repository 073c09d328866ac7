#!/usr/bin/env bash
# Gather the licences of all that a program without cgo has in it: the modules that
# are linked in, and what its data is made from.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/licences.sh FOLDER

Writes into FOLDER, made anew, the licence and notice files of each linked module in
a folder of its path, and DATA.md, which names the data. Fails if a module has no
licence that is known, or one that is not in the list below.

Needs go. Exit codes: 0 done, 1 failed, 2 usage.
USAGE
}

die() { echo "licences.sh: $1" >&2; exit "${2:-1}"; }

# What may be linked into a program that is given away under MIT.
ALLOWED=Apache-2.0,BSD-2-Clause,BSD-3-Clause,BSL-1.0,ISC,MIT,MPL-2.0,Zlib,Unlicense,CC0-1.0

# Their licence files name many parts at once, which the tool does not tell apart:
# Apache-2.0 with those of bundled code. The files are copied as they are.
COMPOSITE=(github.com/apache/arrow/go/v15 github.com/apache/thrift)

case ${1:-} in -h | --help) usage; exit 0 ;; esac
(($# == 1)) || { usage >&2; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
rm -rf "$1"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export CGO_ENABLED=0
(cd "$root/scripts/tools" && go build -o "$work/go-licenses" github.com/google/go-licenses/v2)
cd "$root"
ignored=(--ignore github.com/neardup/neardup)
for module in "${COMPOSITE[@]}"; do
  ignored+=(--ignore "$module")
done
"$work/go-licenses" check ./job/neardup "${ignored[@]}" --allowed_licenses="$ALLOWED" >"$work/said" 2>&1 || die "$(grep -v '^W\|^/' "$work/said" | tail -5)"
"$work/go-licenses" save ./job/neardup "${ignored[@]}" --force --save_path="$folder" >"$work/said" 2>&1 || die "$(tail -3 "$work/said")"
for module in "${COMPOSITE[@]}"; do
  from=$(go list -m -f '{{.Dir}}' "$module")
  mkdir -p "$folder/$module"
  find "$from" -maxdepth 1 \( -name 'LICENSE*' -o -name 'NOTICE*' \) -exec cp {} "$folder/$module/" \;
done
chmod -R u+w "$folder"
cp job/docs/licences.md "$folder/DATA.md"

# Every linked module has a file.
missing=()
while read -r module; do
  [[ -n $(find "$folder/$module" -type f 2>/dev/null | head -1) ]] || missing+=("$module")
done < <(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./job/neardup | sort -u)
((${#missing[@]} == 0)) || die "no licence of ${missing[*]}"
