# Quantiles.

function sort(v, n,   i, j, t) {
  for (i = 2; i <= n; i++) {
    t = v[i]
    for (j = i - 1; j > 0 && v[j] > t; j--) v[j + 1] = v[j]
    v[j + 1] = t
  }
}

# The quantile `part` of the first n of v, which are sorted.
function at(v, n, part,   place, low) {
  place = 1 + (n - 1) * part; low = int(place)
  return low < n ? v[low] + (v[low + 1] - v[low]) * (place - low) : v[n]
}
