#!/usr/bin/env bash
# Build what a release has: a static program for each system, in an archive with
# man pages and completions, and in a wheel for Python; a list of what is in it, and
# checksums. The same
# commit gives the same bytes.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/release.sh [--out DIR] [SYSTEM/PROCESSOR…]

Builds linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64, or those
that are named, without cgo: the segmenter gojieba, which gives the same words as
the embedded one, is not in them.

  --out DIR  folder of the archives, made anew (default: dist)

Needs go, git, jq, tar, gzip, zip, python3. Exit codes: 0 done, 1 failed, 2 usage.
USAGE
}

die() { echo "release.sh: $1" >&2; exit "${2:-1}"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=dist targets=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --out) (($# > 1)) || die "--out needs a value" 2; out=$2; shift 2 ;;
    */*) targets+=("$1"); shift ;;
    *) die "$1: write SYSTEM/PROCESSOR, like linux/arm64; see --help" 2 ;;
  esac
done
((${#targets[@]})) || targets=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64)
for tool in go git jq tar gzip zip python3; do
  command -v "$tool" >/dev/null || die "$tool is not in PATH: install it"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"

export TZ=UTC LC_ALL=C CGO_ENABLED=0
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' job/internal/version/version.go)
[[ -n $version ]] || die "job/internal/version/version.go states no version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is the same for all systems.
mkdir -p "$work/man" "$work/completions"
# -trimpath as below: nothing is compiled twice.
go build -trimpath -o "$work/here" ./job/neardup
go run -trimpath ./job/internal/manual "$work/man" "$(date -d "@$SOURCE_DATE_EPOCH" +%F)"
for shell in bash zsh fish; do
  "$work/here" completion "$shell" >"$work/completions/neardup.$shell"
done

scripts/licences.sh "$work/licences"

files=()
for target in "${targets[@]}"; do
  system=${target%/*} processor=${target#*/}
  name=neardup-$version-$system-$processor
  program=neardup
  [[ $system != windows ]] || program=neardup.exe
  mkdir -p "$work/$name"
  GOOS=$system GOARCH=$processor go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$work/$name/$program" ./job/neardup
  cp -r LICENSE README.md "$work/man" "$work/completions" "$work/licences" "$work/$name"
  # The list of modules, with the checksums of go.sum, in CycloneDX.
  go version -m -json "$work/$name/$program" | jq --arg version "$version" '{
    bomFormat: "CycloneDX", specVersion: "1.6", version: 1,
    metadata: {component: {type: "application", name: "neardup", version: $version}},
    components: [{type: "platform", name: "go", version: .GoVersion}, (.Deps[] | {
      type: "library", name: .Path, version: .Version, purl: "pkg:golang/\(.Path)@\(.Version)",
      properties: [{name: "go.sum", value: .Sum}]})]}' >"$out/$name.cdx.json"
  find "$work/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  if [[ $system == windows ]]; then
    archive=$name.zip
    rm -f "$out/$archive"
    (cd "$work" && find "$name" -type f | sort | zip -q -X -@ "$out/$archive")
  else
    archive=$name.tar.gz
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w -cf - "$name" | gzip -n -9 >"$out/$archive"
  fi
  wheel=$(scripts/wheel.py "$target" "$work/$name/$program" "$work/licences" "$out")
  files+=("$archive" "$name.cdx.json" "$(basename "$wheel")")
  printf '%s\n' "$out/$archive" "$wheel"
done
(cd "$out" && sha256sum "${files[@]}" >SHA256SUMS)
