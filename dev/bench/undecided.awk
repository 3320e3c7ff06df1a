# See undecided in measure.sh.

$1 "/" $2 "/" $5 == of && $3 "/" $4 == a { x[++n] = $6 }
$1 "/" $2 "/" $5 == of && $3 "/" $4 == b { y[++m] = $6 * target }
END {
  sort(x, n); sort(y, m)
  exit !(n && m && at(x, n, .25) <= at(y, m, .75) && at(y, m, .25) <= at(x, n, .75))
}
