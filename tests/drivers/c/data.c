// Values: of every type, large ones, many, several results, files.
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *common_columns =
  "id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d MEDIUMINT, e INT UNSIGNED ZEROFILL, f BIGINT, "
  "g BIGINT UNSIGNED, h FLOAT, i DOUBLE, j DECIMAL(30,10), k BIT(12), l BOOL, m DATE, n TIME(6), o DATETIME(6), "
  "p TIMESTAMP(3) NULL, q YEAR, r CHAR(8), s VARCHAR(20), t VARCHAR(20) CHARACTER SET latin1, u BINARY(4), "
  "v VARBINARY(8), w TINYTEXT, x TEXT, y MEDIUMBLOB, z LONGTEXT, aa ENUM('a','b\xc3\xa9'), ab SET('x','y','z'), ac JSON, "
  "ad GEOMETRY";

static const char *values[] = {
  "1, -128, 255, -32768, -8388608, 42, -9223372036854775808, 18446744073709551615, 1.5, -2.25e100, "
  "'-12345678901234567890.0123456789', b'101010101010', TRUE, '2024-02-29', '-838:59:58.999999', "
  "'9999-12-31 23:59:59.999999', '2024-06-01 12:00:00.123', 2155, 'abc ', '\xf0\x9f\x98\x80 \xc3\xa9', '\xc3\xa9', 'ab', "
  "x'00ff00', 'tiny', 'text', x'0001', REPEAT('long ', 100), 'b\xc3\xa9', 'x,z', '{\"a\": [1, null, \"\xc3\xa9\"]}', "
  "ST_GeomFromText('POINT(1 2)')",
  "2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'0', FALSE, '1000-01-01', '00:00:00', '1000-01-01 00:00:00', "
  "'1970-01-02 00:00:01', 1901, '', '', '', '', '', '', '', '', '', 'a', '', 'null', NULL",
  "3" ", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
  "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
};

// With the types of the protocol, not as texts.
static void native(MYSQL *m) {
  MYSQL_STMT *s = prepared(m, "SELECT f, g, h, i, m, n, o, q FROM types ORDER BY id");
  if (!s) return;
  long long f = 0;
  unsigned long long g = 0;
  float h = 0;
  double i = 0;
  short q = 0;
  MYSQL_TIME times[3];
  flag nulls[8];
  MYSQL_BIND b[8];
  memset(b, 0, sizeof b);
  memset(times, 0, sizeof times);
  b[0].buffer_type = b[1].buffer_type = MYSQL_TYPE_LONGLONG;
  b[0].buffer = &f, b[1].buffer = &g, b[1].is_unsigned = 1;
  b[2].buffer_type = MYSQL_TYPE_FLOAT, b[2].buffer = &h;
  b[3].buffer_type = MYSQL_TYPE_DOUBLE, b[3].buffer = &i;
  b[4].buffer_type = MYSQL_TYPE_DATE, b[4].buffer = &times[0];
  b[5].buffer_type = MYSQL_TYPE_TIME, b[5].buffer = &times[1];
  b[6].buffer_type = MYSQL_TYPE_DATETIME, b[6].buffer = &times[2];
  b[7].buffer_type = MYSQL_TYPE_SHORT, b[7].buffer = &q;
  for (int k = 0; k < 8; k++) b[k].is_null = &nulls[k];
  if (mysql_stmt_execute(s) || mysql_stmt_bind_result(s, b)) statement_failed(s, "native");
  int status;
  while ((status = mysql_stmt_fetch(s)) == 0 || status == MYSQL_DATA_TRUNCATED) {
    if (nulls[0]) {
      line("  native: NULL");
      continue;
    }
    line("  native: %lld %llu %.9g %.17g %d", f, g, (double)h, i, q);
    for (int k = 0; k < 3; k++)
      line("  native: %c%u-%u-%u %u:%u:%u.%lu", times[k].neg ? '-' : '+', times[k].year, times[k].month, times[k].day,
           times[k].hour, times[k].minute, times[k].second, times[k].second_part);
  }
  mysql_stmt_close(s);
}

void types(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  char sql[4000];
  quiet(m, "SET time_zone = '+00:00', sql_mode = ''");
  snprintf(sql, sizeof sql, "CREATE TABLE types (%s)", common_columns);
  quiet(m, sql);
  for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
    snprintf(sql, sizeof sql, "INSERT INTO types VALUES (%s)", values[i]);
    quiet(m, sql);
  }
  run(m, "SELECT * FROM types ORDER BY id");
  MYSQL_STMT *s = prepared(m, "SELECT * FROM types WHERE id >= ? ORDER BY id");
  execute(s, "0");
  execute(s, "3");
  if (s) mysql_stmt_close(s);
  native(m);
  if (strcmp(flavour, "mariadb") == 0) {
    run(m, "CREATE TABLE more (a UUID, b INET4, c INET6)");
    run(m, "INSERT INTO more VALUES ('123e4567-e89b-12d3-a456-426655440000', '10.0.0.1', '::1'), (NULL, NULL, NULL)");
    run(m, "SELECT * FROM more");
    execute(prepared(m, "SELECT * FROM more"));
  }
  run(m, "SELECT NULL, 1, -1, 1.5, 1e3, 'a', x'00', TRUE, CURRENT_DATE > 0, 1 = 2");
  mysql_close(m);
}

static int execute_in_pieces(MYSQL_STMT *s, const char *data, unsigned long size) {
  for (unsigned long at = 0; at < size; at += 3UL << 20)
    if (mysql_stmt_send_long_data(s, 0, data + at, size - at < 3UL << 20 ? size - at : 3UL << 20)) return 1;
  return mysql_stmt_execute(s);
}

void big_packet(void) {
  unsigned long size = 20UL << 20;
  char *data = malloc(size + 100);
  unsigned seed = 1;
  for (unsigned long i = 0; i < size; i++) data[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
  line("hash %lx", hash(HASH, data, size));
  MYSQL *m = open_connection();
  if (!m) return;
  MYSQL_STMT *s = mysql_stmt_init(m);
  const char *sql = "SELECT SHA2(?, 256), LENGTH(?), ?";
  MYSQL_BIND b[3];
  memset(b, 0, sizeof b);
  for (int i = 0; i < 3; i++) b[i].buffer_type = MYSQL_TYPE_BLOB, b[i].buffer = data, b[i].buffer_length = size;
  b[1].buffer_length = 1000;
  if (mysql_stmt_prepare(s, sql, strlen(sql))) statement_failed(s, "prepare");
  else if (mysql_stmt_bind_param(s, b)) statement_failed(s, "bind");
  else {
    if (mysql_stmt_execute(s)) statement_failed(s, "at once");
    else statement_results(s);
    // In pieces, too. Sessions that move must bind the types again: docs/differences-reference.md.
    int failed = execute_in_pieces(s, data, size);
    if (failed && moves() && mysql_stmt_errno(s) == 1235 && !mysql_stmt_bind_param(s, b))
      failed = execute_in_pieces(s, data, size);
    if (failed) statement_failed(s, "in pieces");
    else statement_results(s);
  }
  mysql_stmt_close(s);
  // As a text, of exactly the lengths at which a packet is divided.
  unsigned long lengths[] = {(1UL << 24) - 2, (1UL << 24) - 1, 1UL << 24, size};
  for (int i = 0; i < 4; i++) {
    int head = sprintf(data, "SELECT LENGTH('");
    memset(data + head, 'x', lengths[i] - 1 - (unsigned)head - 2);
    memcpy(data + lengths[i] - 3, "')", 2);
    run_long(m, data, lengths[i] - 1);
  }
  run(m, "SELECT REPEAT('y', (1 << 24) - 5)");
  run(m, "SELECT REPEAT('y', (1 << 24) + 1), 1");
  mysql_close(m);
  free(data);
}

void big_result(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  quiet(m, "CREATE TABLE digits (n INT PRIMARY KEY)");
  quiet(m, "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
  const char *sql = "SELECT a.n * 100000 + b.n * 10000 + c.n * 1000 + d.n * 100 + e.n * 10 + f.n AS i, "
                    "CONCAT('row ', a.n, b.n, c.n, d.n, e.n, f.n, REPEAT('x', 40)) FROM digits a, digits b, digits c, "
                    "digits d, digits e, digits f WHERE a.n < 2 ORDER BY i";
  if (mysql_query(m, sql)) failed(m, "query");
  MYSQL_RES *result = mysql_use_result(m);
  unsigned long sum = HASH, count = 0;
  MYSQL_ROW row;
  while (result && (row = mysql_fetch_row(result))) {
    unsigned long *lengths = mysql_fetch_lengths(result);
    for (int i = 0; i < 2; i++) sum = hash(sum, row[i], lengths[i]);
    count++;
    // Another command in the middle is the client's own error.
    if (count == 1000) line("in the middle: %d %u", mysql_query(m, "SELECT 1"), mysql_errno(m));
  }
  line("%lu rows, hash %lx, error %u", count, sum, mysql_errno(m));
  mysql_free_result(result);
  run(m, "SELECT FOUND_ROWS()");
  mysql_close(m);
}

void multi_results(void) {
  MYSQL *m = connected(prepared_handle(), CLIENT_MULTI_STATEMENTS);
  if (!m) return;
  run(m, "CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2); SELECT * FROM t; UPDATE t SET n = 3; SELECT 2, 'b'");
  run(m, "SELECT 1; SELECT nosuch; SELECT 3");
  run(m, "SELECT GET_LOCK('many', 0); SELECT IS_FREE_LOCK('many'), 1; DO RELEASE_LOCK('many'); SELECT "
         "IS_USED_LOCK('many')");
  run(m, "SELECT 1;;");
  quiet(m, "CREATE PROCEDURE p(INOUT x INT, OUT y VARCHAR(10)) BEGIN SELECT n, x FROM t; SET x = x + 1, y = 'out'; "
           "SELECT 'second', y; END");
  quiet(m, "CREATE PROCEDURE broken() BEGIN SELECT 1; SELECT * FROM nosuch; END");
  run(m, "SET @x = 1; CALL p(@x, @y); SELECT @x, @y");
  run(m, "CALL broken()");
  MYSQL_STMT *s = prepared(m, "CALL p(?, ?)");
  execute(s, "41", "");
  execute(s, "7", "");
  if (s) mysql_stmt_close(s);
  execute(prepared(m, "CALL broken()"));
  line("off: %d", mysql_set_server_option(m, MYSQL_OPTION_MULTI_STATEMENTS_OFF));
  run(m, "SELECT 1; SELECT 2");
  line("on: %d", mysql_set_server_option(m, MYSQL_OPTION_MULTI_STATEMENTS_ON));
  run(m, "SELECT 1; SELECT 2");
  mysql_close(m);
  m = open_connection();
  if (!m) return;
  run(m, "SELECT 1; SELECT 2");
  run(m, "CALL broken()");
  mysql_close(m);
}

// --- files ------------------------------------------------------------------

static const char *lines;
static size_t given;

static int begin(void **state, const char *name, void *data) {
  (void)data;
  *state = NULL;
  line("  the server asks for %s", name);
  given = 0;
  return lines == NULL;
}

static int more(void *state, char *buffer, unsigned size) {
  (void)state;
  size_t left = strlen(lines) - given;
  if (left == 0 && strcmp(lines, "9,breaks\n") == 0) return -1;
  if (left > size) left = size;
  memcpy(buffer, lines + given, left);
  given += left;
  return (int)left;
}

static void done(void *state) { (void)state; }

static int error(void *state, char *text, unsigned size) {
  (void)state;
  snprintf(text, size, "the client's own");
  return 2;
}

void infile(void) {
  unsigned on = 1;
  MYSQL *m = prepared_handle();
  mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &on);
  m = connected(m, 0);
  if (!m) return;
  quiet(m, "CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(20))");
  const char *load = "LOAD DATA LOCAL INFILE 'the file' INTO TABLE loaded FIELDS TERMINATED BY ','";
  const char *contents[] = {"1,one\n2,two\n3,GET_LOCK('x'\\, 1)\n", "1,again\nx,bad\n", "", NULL, "9,breaks\n", "4,last"};
  mysql_set_local_infile_handler(m, begin, more, done, error, NULL);
  for (int i = 0; i < 6; i++) {
    lines = contents[i];
    run(m, load);
    run(m, "SHOW WARNINGS");
  }
  run(m, "SELECT * FROM loaded ORDER BY id");
  char *many = malloc(4UL << 20), *end = many;
  for (int i = 100; i < 100100; i++) end += sprintf(end, "%d,line %d\n", i, i);
  lines = many;
  run(m, load);
  run(m, "SELECT COUNT(*), SUM(id), SUM(CRC32(s)) FROM loaded");
  free(many);
  mysql_close(m);
  m = prepared_handle();
  on = 0;
  mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &on);
  m = connected(m, 0);
  if (!m) return;
  lines = "1,x\n";
  mysql_set_local_infile_handler(m, begin, more, done, error, NULL);
  run(m, load);
  mysql_close(m);
}

// Over a connection that compresses, if the client asked for that.
void uploads(MYSQL *m) {
  quiet(m, "CREATE TEMPORARY TABLE uploaded (id INT, s VARCHAR(20))");
  mysql_set_local_infile_handler(m, begin, more, done, error, NULL);
  lines = "1,one\n2,two\n";
  const char *load = "LOAD DATA LOCAL INFILE 'small' INTO TABLE uploaded FIELDS TERMINATED BY ','";
  run(m, load);
  char *many = malloc(4UL << 20), *end = many;
  for (int i = 0; i < 100000; i++) end += sprintf(end, "%d,line %d\n", i, i);
  lines = many;
  run(m, load);
  free(many);
  run(m, "SELECT COUNT(*), SUM(id) FROM uploaded");
  // Packets that are divided, of bytes that are hard to compress.
  unsigned long lengths[] = {1UL << 24, 17UL << 20}, size = 18UL << 20;
  char *text = malloc(size);
  unsigned seed = 1;
  for (int i = 0; i < 2; i++) {
    int head = sprintf(text, "SELECT SHA2('");
    for (unsigned long at = (unsigned)head; at < size; at++)
      text[at] = (char)('a' + ((seed = seed * 1103515245 + 12345) >> 16) % 26);
    memcpy(text + lengths[i] - 8, "', 256)", 7);
    run_long(m, text, lengths[i] - 1);
  }
  free(text);
  run(m, "SELECT REPEAT('y', (1 << 24) + 1), 1");
  run(m, "SELECT GET_LOCK('changed', 0)");
  if (mysql_errno(m)) return; // libmariadb does not survive the next call then
  if (mysql_change_user(m, user, password, schema)) failed(m, "change");
  run(m, "SELECT IS_FREE_LOCK('changed'), DATABASE()");
}
