#!/usr/bin/env bash
# The documentation as a site with a search, by mdBook:
#
#   dev/docs.sh            into target/docs/book
#
# Pages keep their places in the repository, so that their links work on the site too. docs/SUMMARY.md lists them; what they
# link to besides (sample files, sources) is copied, and a folder gets a page with its files.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'docs: %s\n' "$*"; }

# One version for all, as in dev/check.sh.
version=0.5.4
tool=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}/mdbook-$version
if [ ! -x "$tool/bin/mdbook" ]; then
  say "building mdBook $version, some minutes, once"
  cargo install --quiet --locked --root "$tool" --version "=$version" mdbook
fi

out=${CARGO_TARGET_DIR:-target}/docs
rm -rf "$out"
mkdir -p "$out/src"
cp docs/book.toml "$out/"

# links FILE: the files and folders that it links to, as paths from the root.
links() {
  local folder=${1%/*} target
  [ "$folder" != "$1" ] || folder=.
  grep -oE '(\]\(|src=")[^)"# ]+' "$1" | sed -E 's/^(\]\(|src=")//' | grep -v '://' | while IFS= read -r target; do
    realpath --relative-to=. --canonicalize-missing "$folder/$target"
  done
}

# place FILE: copies a file of the repository.
place() {
  mkdir -p "$out/src/$(dirname "$1")"
  cp "$1" "$out/src/$1"
}

# shelf FOLDER: copies a folder, with a page that lists its files.
shelf() {
  local file
  while IFS= read -r file; do place "$file"; done < <(git ls-files -- "$1")
  {
    printf '<!doctype html><meta charset="utf-8"><title>%s</title><h1>%s</h1><ul>\n' "$1" "$1"
    git ls-files -- "$1" | sed "s,^$1/\(.*\),<li><a href=\"\1\">\1</a>,"
    echo '</ul>'
  } >"$out/src/$1/index.html"
}

# mdBook wants its index beside the pages, which lie below the root of the repository here.
sed -E -e 's,\]\(\.\./,](,;t' -e 's,\]\(,](docs/,' docs/SUMMARY.md >"$out/src/SUMMARY.md"
pages=$(links docs/SUMMARY.md | sort -u)
for page in $pages; do place "$page"; done
for target in $(for page in $pages; do links "$page"; done | sort -u); do
  if [ -d "$target" ]; then
    shelf "$target"
  elif [ ! -e "$out/src/$target" ]; then
    place "$target"
  fi
done

"$tool/bin/mdbook" build "$out"
say "$out/book/index.html"
