# XA transactions, to each of their states.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t VALUES (1, 1)

# Active, idle, prepared, committed.
a: XA START '$Nx'
a: INSERT INTO t VALUES (2, 2)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: DO 1
a: SELECT id FROM t
= 1; 2
a: XA END '$Nx'
a: SELECT 1
= 1
a: INSERT INTO t VALUES (3, 3)
= ERR 1399/XAE07
a ping
[mysql] = OK W1
[mariadb] = OK
a: XA PREPARE '$Nx'
a: SELECT 1
= 1
a ping
a: XA COMMIT '$Nx'
a: SELECT id FROM t
= 1; 2

# Rolled back from each state.
a: XA BEGIN '$Nx', 'branch', 5
a: INSERT INTO t VALUES (3, 3)
a: XA ROLLBACK '$Nx', 'branch', 5
= ERR 1399/XAE07
a: XA END '$Nx', 'branch', 5
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: XA ROLLBACK '$Nx', 'branch', 5
a: XA START '$Nx'
a: INSERT INTO t VALUES (3, 3)
a: XA END '$Nx'
a: XA PREPARE '$Nx'
a: XA ROLLBACK '$Nx'
a: SELECT id FROM t
= 1; 2

# One phase; nothing done; a hexadecimal name.
a: XA START '$Nx'
a: UPDATE t SET v = 5 WHERE id = 1
a: XA END '$Nx'
a: XA COMMIT '$Nx' ONE PHASE
a: SELECT v FROM t WHERE id = 1
= 5
a: XA START X'$X', X'00ff', 1
a: XA END X'$X', X'00ff', 1
a: XA PREPARE X'$X', X'00ff', 1
a: XA COMMIT X'$X', X'00ff', 1

# What may not be done inside.
b: XA START '$Ny'
b: BEGIN
= ERR 1399/XAE07
b: COMMIT
= ERR 1399/XAE07
b: SET autocommit = 0
b: CREATE TABLE x (id INT)
= ERR 1399/XAE07
b: XA START '$Nz'
= ERR 1399/XAE07
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: INSERT INTO t VALUES (1, 1)
= ERR 1062/23000
b: LOCK TABLES t READ
= ERR 1399/XAE07
b: XA END '$Ny'
b: SELECT v FROM t
= ERR 1399/XAE07
b: XA COMMIT '$Ny'
= ERR 1399/XAE07
b: XA ROLLBACK '$Ny'
b: BEGIN
b: XA START '$Ny'
= ERR 1400/XAE09
b: COMMIT
b: XA END '$Nnone'
= ERR 1399/XAE07
b: XA PREPARE '$Nnone'
= ERR 1399/XAE07
b: XA COMMIT '$Nnone'
[mysql] = ERR 1397/XAE04
[mariadb] = ERR 1400/XAE09
b: SELECT @@autocommit
= 0

# A savepoint, an error and a lock inside.
b: XA START '$Ny'
b: SAVEPOINT s
b: INSERT INTO t VALUES (4, 4)
b: ROLLBACK TO s
b: SELECT nosuch
= ERR 1054/42S22
b: SELECT RELEASE_ALL_LOCKS()
= 1
b: XA END '$Ny'
b: XA PREPARE '$Ny'
b: XA COMMIT '$Ny'
b: SELECT id FROM t
= 1; 2
b: COMMIT
b: SET autocommit = 1

# A reset and a change of user end one that is not prepared.
c: XA START '$Nc'
c: INSERT INTO t VALUES (5, 5)
c reset
c: SELECT id FROM t
= 1; 2
c: XA END '$Nc'
= ERR 1399/XAE07
c: XA START '$Nc'
c: INSERT INTO t VALUES (5, 5)
c: XA END '$Nc'
c changeuser
c: SELECT id FROM t
= 1; 2
c: XA ROLLBACK '$Nc'
= ERR 1397/XAE04

# By prepared statements and variables that live on.
d: SET @x = 1
d: XA START '$Nd'
d: SET @x = 2
d prepare i : INSERT INTO t VALUES (?, ?)
d execute i 6 6
d: XA END '$Nd'
d: XA PREPARE '$Nd'
[mariadb] d: SELECT @x
[mariadb] = 2
d: XA ROLLBACK '$Nd'
d execute i 7 7
d: SELECT id, @x FROM t
= 1 | 2; 2 | 2; 7 | 2
