# Larger prepared statements whose columns change: a client reads rows by the definitions that it was sent last.
@only mariadb
@also over_tls over_zlib
@session c caps=+MARIADB_CACHE_METADATA
@session d caps=+MARIADB_CACHE_METADATA,-DEPRECATE_EOF
c prepare t : SELECT ? AS v, GET_LOCK('$Nt',0)
c execute t 5
c execute t 'text'
c execute t 'text'
c execute t 7
c execute t 1.5
c: SET NAMES latin1
c prepare n : SELECT USER() AS u, GET_LOCK(?,0)
c execute n '$Nt'
c: SET NAMES utf8mb4
c execute n '$Nt'
c execute n '$Nt'
c prepare w : SELECT @w, GET_LOCK('$Nt',0)
c execute w
c: SET @w = 'word'
c execute w
c: SET @w = 17
c execute w
d prepare t : SELECT ? AS v, GET_LOCK('$Nd',0)
d execute t 5
d execute t 'text'
d execute t 'text'
d execute t 7
d execute t 1.5
d: SET NAMES latin1
d prepare n : SELECT USER() AS u, GET_LOCK(?,0)
d execute n '$Nd'
d: SET NAMES utf8mb4
d execute n '$Nd'
d execute n '$Nd'
d prepare w : SELECT @w, GET_LOCK('$Nd',0)
d execute w
d: SET @w = 'word'
d execute w
d: SET @w = 17
d execute w
c execute n '$Nt' cursor
c fetch n 2
c execute n '$Nt'
c: SET NAMES latin1
c execute n '$Nt' cursor
c fetch n 2
d execute n '$Nd' cursor
d fetch n 2
d execute n '$Nd'
d: SET NAMES latin1
d execute n '$Nd' cursor
d fetch n 2
