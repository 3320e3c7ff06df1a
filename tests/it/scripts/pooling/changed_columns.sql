# A table changes under prepared statements: how the client learns of other columns, if each result ends with a status.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (a INT PRIMARY KEY, b VARCHAR(10))
@setup INSERT INTO $DB.t VALUES (1, 'one'), (2, 'two'), (3, 'three')
@session r user=root

# Another number of columns: at the first execution only.
a prepare all : SELECT * FROM t ORDER BY a
a prepare one : SELECT a FROM t ORDER BY a
a execute all
= 1 | one; 2 | two; 3 | three
r: ALTER TABLE $DB.t ADD COLUMN c INT DEFAULT 7
a execute all
= 1 | one | 7; 2 | two | 7; 3 | three | 7
a execute all
a execute one
= 1; 2; 3
r: ALTER TABLE $DB.t DROP COLUMN b
a: DO 1
a execute all
a execute all
a execute one

# As many columns, of other types and names.
r: ALTER TABLE $DB.t CHANGE c d BIGINT DEFAULT 8
a execute all
= 1 | 7; 2 | 7; 3 | 7
a execute all

# With a cursor.
r: ALTER TABLE $DB.t ADD COLUMN e VARCHAR(5) DEFAULT 'e'
a execute all cursor
= empty
a fetch all 2
a fetch all 9
a execute all cursor
= empty
a resetstmt all

# Twice, and back again; an execution that fails between.
r: ALTER TABLE $DB.t DROP COLUMN e
r: ALTER TABLE $DB.t ADD COLUMN f VARCHAR(5) DEFAULT 'f'
a execute all
r: ALTER TABLE $DB.t RENAME TO $DB.u
a execute all
= ERR 1146/42S02
a: SELECT COUNT(*) FROM u
= 3
r: ALTER TABLE $DB.u RENAME TO $DB.t, DROP COLUMN f
a execute all
a execute all

# Statements without rows have none.
a prepare change : UPDATE t SET d = ? WHERE a = 1
a execute change 5
r: ALTER TABLE $DB.t ADD COLUMN g INT
a execute change 6
a execute all
a closestmt all
= empty
