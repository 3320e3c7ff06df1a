# What the cases find in their schema. One statement a line; "mysql:" or "mariadb:" before it says for which flavour it is.
CREATE TABLE digits (n INT PRIMARY KEY)
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)
CREATE TABLE items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, amount INT CHECK (amount < 1000)) ENGINE=InnoDB
CREATE TABLE loaded (id INT, name VARCHAR(20) CHARACTER SET utf8mb4)
CREATE PROCEDURE results(IN x INT, OUT y INT) BEGIN SELECT x AS a, 'one' AS b; SELECT n FROM digits WHERE n < x ORDER BY n; UPDATE digits SET n = n WHERE n = x; SELECT 'last' AS c WHERE FALSE; SET y = x * 2; END
CREATE TABLE numbers (id INT PRIMARY KEY, c_tiny TINYINT, c_utiny TINYINT UNSIGNED, c_small SMALLINT, c_usmall SMALLINT UNSIGNED, c_medium MEDIUMINT, c_umedium MEDIUMINT UNSIGNED, c_int INT, c_uint INT UNSIGNED, c_big BIGINT, c_ubig BIGINT UNSIGNED, c_bool BOOL, c_bit1 BIT(1), c_bit20 BIT(20), c_bit64 BIT(64), c_float FLOAT, c_double DOUBLE, c_decimal DECIMAL(30,10), c_money DECIMAL(5,2) UNSIGNED)
INSERT INTO numbers VALUES (1, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, TRUE, b'1', b'10101010101010101010', b'1111111111111111111111111111111111111111111111111111111111111111', 1.5, 3.141592653589793, 12345678901234567890.0123456789, 999.99)
INSERT INTO numbers VALUES (2, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, FALSE, b'0', b'0', b'0', -0.25, -1e100, -0.0000000001, 0)
INSERT INTO numbers (id) VALUES (3)
CREATE TABLE texts (id INT PRIMARY KEY, c_char CHAR(8), c_varchar VARCHAR(300), c_latin VARCHAR(20) CHARACTER SET latin1, c_tinytext TINYTEXT, c_text TEXT, c_mediumtext MEDIUMTEXT, c_longtext LONGTEXT, c_enum ENUM('a', 'b c', 'ü'), c_set SET('x', 'y', 'z'), c_json JSON) CHARACTER SET utf8mb4
INSERT INTO texts VALUES (1, 'char', CONCAT('ü€', _utf8mb4 x'f09f9881'), 'äöü', 'tiny', 'a''b"c\\d', REPEAT('m', 260), REPEAT('l', 300), 'b c', 'x,z', '{"a": [1, 2.5, null], "b": "ü"}')
INSERT INTO texts VALUES (2, '', '', '', '', '', '', '', 'ü', '', 'null')
INSERT INTO texts (id) VALUES (3)
CREATE TABLE bytes (id INT PRIMARY KEY, c_binary BINARY(4), c_varbinary VARBINARY(300), c_tinyblob TINYBLOB, c_blob BLOB, c_mediumblob MEDIUMBLOB, c_longblob LONGBLOB, c_point POINT)
INSERT INTO bytes VALUES (1, x'00ff', x'fb00fe', x'fffb', x'0d0a1a00', REPEAT(x'fe', 251), REPEAT(x'00', 252), ST_GeomFromText('POINT(1 2.5)'))
INSERT INTO bytes VALUES (2, '', '', '', '', '', '', ST_GeomFromText('POINT(0 0)'))
INSERT INTO bytes (id) VALUES (3)
CREATE TABLE times (id INT PRIMARY KEY, c_date DATE, c_time TIME, c_time6 TIME(6), c_datetime DATETIME, c_datetime6 DATETIME(6), c_timestamp TIMESTAMP NULL, c_timestamp3 TIMESTAMP(3) NULL, c_year YEAR)
INSERT INTO times VALUES (1, '2024-02-29', '23:59:59', '12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', 2024)
INSERT INTO times VALUES (2, '1000-01-01', '00:00:00', '00:00:00.000001', '1000-01-01 00:00:00', '9999-12-31 23:59:59.999999', '2038-01-19 03:00:00', '1970-01-02 00:00:00.001', 1901)
INSERT INTO times (id) VALUES (3)
CREATE TABLE durations (id INT PRIMARY KEY, c_long TIME, c_negative TIME(6))
INSERT INTO durations VALUES (1, '838:59:59', '-838:59:58.999999'), (2, '100:00:00', '-00:00:00.5')
CREATE TABLE others (id INT PRIMARY KEY)
INSERT INTO others VALUES (1), (2)
mysql: ALTER TABLE others ADD c_vector VECTOR(3)
mysql: UPDATE others SET c_vector = TO_VECTOR('[1, 2.5, -3]') WHERE id = 1
mariadb: ALTER TABLE others ADD c_uuid UUID, ADD c_inet INET6, ADD c_inet4 INET4
mariadb: UPDATE others SET c_uuid = '123e4567-e89b-12d3-a456-426655440000', c_inet = '::ffff:192.0.2.1', c_inet4 = '192.0.2.1' WHERE id = 1
