# shellcheck shell=bash
# The network between the nodes of a topology, and how it is cut; sourced by dev/topology.sh.
#
# Root gets a real network: each node runs in a network namespace of its own, with one
# link to a router, which is a namespace too. Nodes reach each other at 10.77.0.11 and so on.
# Clients reach a node at 127.0.0.1 in all cases, for its server listens outside of its
# namespace as well. So a node that is cut from the others still answers clients. (A cut
# between clients and a node is for the program that runs the clients.)
#
# The router cuts by rules that drop packets in silence, in both directions or in one. That is
# what a broken network between two machines looks like: a link that is set down, or
# a bridge without the port, would give errors after some seconds. It needs no netfilter and no netem, which
# kernels may lack.
#
# Others than root, and --loopback: all nodes on 127.0.0.1, and a cut is a SIGSTOP. A node that is stopped
# answers nobody, and goes on where it was; a node that is cut off goes on all the time.
#
# $folder/network has the beginning of the namespaces' names, or is empty.

addresses=10.77.0

# address N: where the other nodes reach it.
address() {
  if [ -n "$network" ]; then printf '%s.1%s\n' "$addresses" "$1"; else echo 127.0.0.1; fi
}

# network_up real|loopback: makes it. Sets $network.
network_up() {
  local n
  network=
  if [ "$1" = real ] && [ "$(id -u)" -ne 0 ]; then
    say 'only root makes network namespaces: all nodes on 127.0.0.1, and a cut will be a SIGSTOP'
  elif [ "$1" = real ]; then
    command -v ip >/dev/null || die 'ip is missing: install the package iproute2, or use --loopback'
    network=lockstead-$(printf %s "$folder" | cksum | cut -d ' ' -f 1)
  fi
  printf '%s\n' "$network" >"$folder/network"
  [ -n "$network" ] || return 0
  ip netns add "$network-router"
  ip netns exec "$network-router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  # Where clients are, by a name that MySQL can use in its bind-address.
  ip netns attach "$network-clients" $$
  for n in $nodes; do network_link "$n"; done
}

# network_link N: a namespace for the node, its link, and the program that starts a server in it.
network_link() {
  local n=$1 there=$network-$1 at router=$network-router
  at=$(address "$n")
  ip netns add "$there"
  ip link add "node$n" netns "$router" type veth peer name eth0 netns "$there"
  ip -n "$router" addr add "$addresses.1" peer "$at/32" dev "node$n"
  ip -n "$router" link set "node$n" up
  ip -n "$there" link set lo up
  ip -n "$there" addr add "$at" peer "$addresses.1/32" dev eth0
  ip -n "$there" link set eth0 up
  ip -n "$there" route add default via "$addresses.1"
  {
    echo '#!/bin/sh'
    if [ "$flavour" = mysql ]; then
      printf 'exec nsenter --net=/run/netns/%q "$@"\n' "$there"
    else
      printf 'exec %q %q %q "$@"\n' "$dev/topology/listen.pl" "$there" "$at"
    fi
  } >"$folder/run$n"
  chmod +x "$folder/run$n"
}

# runner N: the program in which dev/server.sh shall run a node; nothing without namespaces.
runner() { [ -z "$network" ] || printf '%s/run%s\n' "$folder" "$1"; }

# listening N: sets $listen, the options that say where the node's server listens. listen.pl
# does it for MariaDB, which can only do it in its own namespace.
listening() {
  listen=()
  [ -z "$network" ] || [ "$flavour" != mysql ] ||
    listen=("--bind-address=127.0.0.1/$network-clients,$(address "$1")")
}

network_down() {
  local name
  [ -n "$network" ] || return 0
  for name in router clients $nodes; do
    [ ! -e "/run/netns/$network-$name" ] || ip netns del "$network-$name"
  done
}

is_cut() { [ -e "$folder/cut$1" ]; }

# cut N both|in|out: in: the node hears nobody; out: nobody hears the node.
cut_node() {
  local n=$1 way=$2 at
  ! is_cut "$n" || die "node $n is cut off already"
  if [ -z "$network" ]; then
    [ "$way" = both ] || die 'a cut in one direction needs network namespaces, which root has'
    kill -STOP "$(pid_of "$n")"
    say "node $n is stopped (SIGSTOP): without network namespaces that is the nearest to a cut. It answers clients neither"
  else
    at=$(address "$n")
    [ "$way" = in ] || ip -n "$network-router" rule add from "$at" blackhole
    [ "$way" = out ] || ip -n "$network-router" rule add to "$at" blackhole
  fi
  printf '%s\n' "$way" >"$folder/cut$n"
}

heal_node() {
  local n=$1 way at
  is_cut "$n" || die "node $n is not cut off"
  way=$(cat "$folder/cut$n")
  if [ -z "$network" ]; then
    kill -CONT "$(pid_of "$n")"
  else
    at=$(address "$n")
    [ "$way" = in ] || ip -n "$network-router" rule del from "$at" blackhole
    [ "$way" = out ] || ip -n "$network-router" rule del to "$at" blackhole
  fi
  rm "$folder/cut$n"
}
