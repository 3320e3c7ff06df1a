#!/usr/bin/env bash
# The program as the documents call it: `serve` replaces a running proxy and returns when the new one is ready, and a
# finding of the doctor is no failure. DOCS_PROGRAM is the real one, DOCS_PORT and DOCS_HTTP are where it
# serves, DOCS_SERVED is a file with the id of the process that does, DOCS_LOG its log.
set -euo pipefail

case $1 in
  serve)
    if [ -s "$DOCS_SERVED" ]; then
      before=$(cat "$DOCS_SERVED")
      kill "$before"
      while kill -0 "$before" 2>/dev/null; do sleep 0.05; done
    fi
    LOCKSTEAD_LISTEN=127.0.0.1:$DOCS_PORT LOCKSTEAD_HTTP=127.0.0.1:$DOCS_HTTP setsid "$DOCS_PROGRAM" "$@" >>"$DOCS_LOG" 2>&1 &
    echo $! >"$DOCS_SERVED"
    for _ in $(seq 200); do
      kill -0 $! || exit 1
      { exec 3<>"/dev/tcp/127.0.0.1/$DOCS_HTTP" && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && grep -q '^HTTP/1.. 200' <&3; } 2>/dev/null && exit
      sleep 0.1
    done
    exit 1
    ;;
  doctor) "$DOCS_PROGRAM" "$@" || [ $? -eq 1 ] ;;
  *) exec "$DOCS_PROGRAM" "$@" ;;
esac
