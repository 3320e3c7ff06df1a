# Transactions that follow each other at once. MySQL then tells clients that track sessions that something has changed,
# and not what: a session with shared connections does not hear it.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@not shuffled
w: CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
w: INSERT INTO t VALUES (1, 1)

# With AND CHAIN the next transaction has the same.
e: SET TRANSACTION READ ONLY
e: BEGIN
e: COMMIT AND CHAIN
e: UPDATE t SET v = 9
= ERR 1792/25006
e: COMMIT
e: UPDATE t SET v = 22
