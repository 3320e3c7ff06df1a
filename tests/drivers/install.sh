# shellcheck shell=bash
# What the languages' install scripts share; sourced, not run. Sets $here and $cache, the language's folders.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd -P)
language=${here##*/}
cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}/drivers/$language

# need TEST PACKAGE...: has the distribution's packages installed if the command TEST fails.
need() {
  local test=$1
  shift
  if eval "$test" >/dev/null 2>&1; then return; fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    printf '%s: packages are missing (their names in Debian): %s\n' "$language" "$*" >&2
    exit 1
  fi
  {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" ||
      { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
  } >&2
  eval "$test" >/dev/null || {
    printf '%s: %s is not what these packages give: %s\n' "$language" "$test" "$*" >&2
    exit 1
  }
}

# once FILE... -- COMMAND...: runs it in an empty $cache, unless it ran with these files as they are.
once() {
  local files=() sum
  while [ "$1" != -- ]; do files+=("$here/$1"); shift; done
  shift
  sum=$(cat "${files[@]}" | sha256sum)
  [ "$(cat "$cache/.ready" 2>/dev/null)" != "$sum" ] || return 0
  rm -rf "$cache"
  mkdir -p "$cache"
  "$@" >&2
  printf '%s\n' "$sum" >"$cache/.ready"
}
