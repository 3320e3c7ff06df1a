#!/usr/bin/env bash
# A certificate authority for tests, and what it signs:
#
#   dev/certificates.sh DIR
#
# DIR gets ca.pem, server-cert.pem and -key.pem (for localhost, 127.0.0.1 and ::1),
# the same for no name (nameless), and two clients' certificates: client (CN=app) and
# other (CN=other).
set -euo pipefail

die() { printf 'certificates: %s\n' "$*" >&2; exit 1; }
command -v openssl >/dev/null || die "there is no openssl; install the package openssl"
[ $# -eq 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"

# quietly COMMAND...: what it says is worth reading only when it fails.
quietly() { "$@" >log 2>&1 || { cat log >&2; die "${*:1:2} failed"; }; }

# issue NAME SUBJECT EXTENSION...
issue() {
  local name=$1 subject=$2
  shift 2
  printf '%s\n' basicConstraints=CA:FALSE "$@" >extensions
  quietly openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$name-key.pem" -subj "$subject" -out request
  quietly openssl x509 -req -in request -CA ca.pem -CAkey ca-key.pem -CAcreateserial \
    -days 3650 -sha256 -extfile extensions -out "$name-cert.pem"
}

quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -sha256 \
  -keyout ca-key.pem -out ca.pem -subj '/O=Lockstead tests/CN=authority' \
  -addext keyUsage=critical,keyCertSign,cRLSign
issue server '/O=Lockstead tests/CN=localhost' extendedKeyUsage=serverAuth \
  'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1'
issue nameless '/CN=Server_Auto_Generated_Server_Certificate'
issue client '/O=Lockstead tests/CN=app' extendedKeyUsage=clientAuth
issue other '/O=Lockstead tests/CN=other' extendedKeyUsage=clientAuth
rm -f request extensions log ca.srl
