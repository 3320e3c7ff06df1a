# Numbers that differ between two runs of one client, in errors and in status lines.
s/([Cc]onnection|[Tt]hread)( id)?(:?[[:space:]]+)[0-9]+/\1\2\3N/g
s/\(?[0-9]+\.[0-9]{2,3} sec\)?/(T sec)/g
# A killed connection: its end may be read before the reset that answers the next statement, or not.
s/(TLS\/SSL error: )(unexpected eof while reading|Connection reset by peer \(104\))/\1GONE/g
