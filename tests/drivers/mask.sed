# What differs between two runs of one client, wherever an error or a status line tells it.
s/([Cc]onnection|[Tt]hread)( id)?(:?[[:space:]]+)[0-9]+/\1\2\3N/g
s/\(?[0-9]+\.[0-9]{2,3} sec\)?/(T sec)/g
