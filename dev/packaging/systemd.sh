#!/usr/bin/env bash
# A systemd of its own, process 1 of its own namespaces, for root. It sees this machine's files, and what it changes in
# /etc, /usr and /var is gone with it; the network is the machine's.
#
#   dev/packaging/systemd.sh start DIR             returns when it is up; DIR/log has what services write
#   dev/packaging/systemd.sh run DIR COMMAND...    beside it
#   dev/packaging/systemd.sh stop DIR              ends it, and all that it has started
set -euo pipefail

me=$(readlink -f "$0")
die() { printf 'systemd: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '5,7s/^# *//p' "$0" >&2; exit 2; }

# In new namespaces: what process 1 becomes.
boot() {
  local dir=$1 of target
  mount --make-rprivate /
  mount -t proc proc /proc
  mount -t tmpfs tmpfs /run
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  # Not on the disk: that may be layers already, on which there are no others.
  mkdir -p "$dir/layers"
  mount -t tmpfs tmpfs "$dir/layers"
  for of in etc usr var; do
    mkdir -p "$dir/layers/$of/"{new,work}
    mount -t overlay overlay -o "lowerdir=/$of,upperdir=$dir/layers/$of/new,workdir=$dir/layers/$of/work" "/$of"
  done
  rm -f /usr/sbin/policy-rc.d
  # None of this machine's services; those that are tried log into one file.
  for of in /etc/systemd/system /usr/lib/systemd/system; do mount -t tmpfs -o mode=755 tmpfs "$of"; done
  for target in basic sysinit multi-user network-online shutdown; do
    printf '[Unit]\nDefaultDependencies=no\n' >"/usr/lib/systemd/system/$target.target"
  done
  mkdir /etc/systemd/system/service.d
  printf '[Service]\nStandardOutput=append:%s/log\nStandardError=append:%s/log\n' "$dir" "$dir" \
    >/etc/systemd/system/service.d/log.conf
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=lockstead \
    /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=false
}

start() {
  local dir=$1 deadline=$((SECONDS + 20)) pid
  [ "$(id -u)" -eq 0 ] || die 'only root may make namespaces'
  mkdir -p "$dir"
  setsid unshare --pid --mount --uts --ipc --cgroup --fork --kill-child "$me" boot "$dir" </dev/null >"$dir/boot" 2>&1 &
  echo $! >"$dir/pid"
  # In these it is process 1.
  until pid=$(pgrep -P "$(cat "$dir/pid")") && echo "$pid" >"$dir/first" && run "$dir" systemctl is-active --quiet basic.target 2>/dev/null; do
    kill -0 "$(cat "$dir/pid")" 2>/dev/null || die "it ended: $(tail -n 5 "$dir/boot")"
    [ $SECONDS -lt $deadline ] || die "it is not up after 20 s: $(tail -n 5 "$dir/boot")"
    sleep 0.05
  done
}

run() {
  local dir=$1
  shift
  nsenter --target "$(cat "$dir/first")" --all --wd=/ -- env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR "$@"
}

stop() {
  # Its processes end with the first of them.
  kill -KILL "$(cat "$1/first")" 2>/dev/null || true
  while kill -0 "$(cat "$1/pid")" 2>/dev/null; do sleep 0.02; done
}

[ $# -ge 2 ] || usage
case $1 in
start | run | stop | boot) "$@" ;;
*) usage ;;
esac
