# shellcheck shell=bash
# Chromium for test-page.sh and incident.sh, which source this after common.sh.

# need_browser: sets and exports CHROMIUM, Debian's own, and sets $browser_python, a Python that drives it.
need_browser() {
  # shellcheck disable=SC2154 # root is common.sh's
  local cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead} wanted=$root/tests/page/requirements.txt missing=() into made
  command -v chromium >/dev/null || missing+=(chromium)
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
  # The page's own fonts are the machine's.
  [ -n "$(find /usr/share/fonts -name '*.ttf' -print -quit 2>/dev/null)" ] || missing+=(fonts-dejavu-core)
  if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" -eq 0 ] || die "install the packages ${missing[*]}"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
      die "the packages ${missing[*]} cannot be installed"
  fi
  CHROMIUM=$(command -v chromium) || die "chromium is missing"
  export CHROMIUM PYTHONDONTWRITEBYTECODE=1
  into=$cache/page
  made=$(cat "$wanted" <(python3 --version) | sha256sum)
  if [ "$(cat "$into/made" 2>/dev/null)" != "$made" ]; then
    rm -rf "$into"
    python3 -m venv "$into"
    # The driver alone: no browser is downloaded.
    "$into/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
    echo "$made" >"$into/made"
  fi
  # shellcheck disable=SC2034 # for who sources this
  browser_python=$into/bin/python
}
