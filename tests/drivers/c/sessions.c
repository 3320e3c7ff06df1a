// Sessions: prepared statements and cursors, resets, locks, other commands.
#include "cases.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void prepared_statements(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  run(m, "CREATE TABLE ps (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(50), d DATETIME)");
  MYSQL_STMT *insert = prepared(m, "INSERT INTO ps (s, d) VALUES (?, ?)");
  execute(insert, "one", "2024-01-02 03:04:05");
  execute(insert, "\1NULL", "\1NULL");
  execute(insert, "three", "not a date");
  MYSQL_STMT *select = prepared(m, "SELECT id, s, d, ? FROM ps WHERE id > ?");
  execute(select, "x", "0");
  execute(select, "\1NULL", "1");
  line("reset %d", mysql_stmt_reset(select));
  execute(select, "y", "5");
  run(m, "ALTER TABLE ps ADD COLUMN more INT");
  execute(select, "z", "0");
  execute(prepared(m, "SELECT * FROM ps ORDER BY id"));
  prepared(m, "SELECT * FROM nosuch WHERE a = ?");
  prepared(m, "SELEC ?");
  prepared(m, "SELECT 1; SELECT 2");
  execute(prepared(m, "SET @a = ?"), "7");
  execute(prepared(m, "SHOW VARIABLES LIKE 'lower_case_table_names'"));
  execute(prepared(m, "CREATE TABLE by_statement (n INT)"));
  execute(prepared(m, "DROP TABLE by_statement"));
  MYSQL_STMT *many[50];
  for (int i = 0; i < 50; i++) {
    many[i] = mysql_stmt_init(m);
    char sql[50];
    int length = sprintf(sql, "SELECT %d + ?", i);
    if (mysql_stmt_prepare(many[i], sql, (unsigned)length)) statement_failed(many[i], "one of many");
  }
  for (int i = 0; i < 50; i += 7) execute(many[i], "100");
  for (int i = 0; i < 50; i++) mysql_stmt_close(many[i]);
  // A result that nobody fetches, and then a close.
  if (select && mysql_stmt_execute(select) == 0) line("close %d", mysql_stmt_close(select));
  run(m, "SELECT 'in step'");
  if (insert) mysql_stmt_close(insert);
  mysql_close(m);
}

static void with_cursor(MYSQL *m, const char *sql, unsigned long rows) {
  MYSQL_STMT *s = mysql_stmt_init(m);
  unsigned long type = CURSOR_TYPE_READ_ONLY;
  mysql_stmt_attr_set(s, STMT_ATTR_CURSOR_TYPE, &type);
  mysql_stmt_attr_set(s, STMT_ATTR_PREFETCH_ROWS, &rows);
  line("cursor of %lu rows: %s", rows, sql);
  if (mysql_stmt_prepare(s, sql, strlen(sql))) statement_failed(s, "prepare");
  else execute(s);
  mysql_stmt_close(s);
}

void cursor(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  quiet(m, "CREATE TABLE c (id INT PRIMARY KEY, s VARCHAR(10))");
  char sql[100];
  for (int i = 0; i < 25; i++) {
    sprintf(sql, "INSERT INTO c VALUES (%d, 'row %d')", i, i);
    quiet(m, sql);
  }
  with_cursor(m, "SELECT * FROM c ORDER BY id", 1);
  with_cursor(m, "SELECT * FROM c ORDER BY id", 7);
  with_cursor(m, "SELECT * FROM c ORDER BY id", 25);
  with_cursor(m, "SELECT * FROM c ORDER BY id", 1000);
  with_cursor(m, "SELECT * FROM c WHERE id < 0", 1);
  with_cursor(m, "SELECT GET_LOCK('by cursor', 0)", 1);
  with_cursor(m, "SELECT id, IS_USED_LOCK('by cursor') = CONNECTION_ID() FROM c WHERE id < 3 ORDER BY id", 2);
  with_cursor(m, "SELECT RELEASE_LOCK('by cursor')", 5);
  with_cursor(m, "UPDATE c SET s = 'x' WHERE id = 1", 5);
  // Two open cursors, fetched in turns, with commands between.
  MYSQL_STMT *s[2];
  int id[2] = {0, 0};
  unsigned long type = CURSOR_TYPE_READ_ONLY, rows = 3;
  for (int i = 0; i < 2; i++) {
    MYSQL_BIND b;
    memset(&b, 0, sizeof b);
    b.buffer_type = MYSQL_TYPE_LONG;
    b.buffer = &id[i];
    s[i] = mysql_stmt_init(m);
    mysql_stmt_attr_set(s[i], STMT_ATTR_CURSOR_TYPE, &type);
    mysql_stmt_attr_set(s[i], STMT_ATTR_PREFETCH_ROWS, &rows);
    const char *text = i ? "SELECT id FROM c ORDER BY id DESC" : "SELECT id FROM c ORDER BY id";
    if (mysql_stmt_prepare(s[i], text, strlen(text)) || mysql_stmt_execute(s[i]) || mysql_stmt_bind_result(s[i], &b))
      statement_failed(s[i], "in turns");
  }
  for (int turn = 0; turn < 8; turn++) {
    for (int i = 0; i < 2; i++) line("turn %d: %d %d", turn, mysql_stmt_fetch(s[i]), id[i]);
    if (turn % 3 == 0) line("between: %ld", number(m, "SELECT GET_LOCK('between', 1)"));
  }
  for (int i = 0; i < 2; i++) line("close %d", mysql_stmt_close(s[i]));
  run(m, "SELECT RELEASE_ALL_LOCKS()");
  mysql_close(m);
}

// --- resets ---------------------------------------------------------------------

// State of all kinds, which a reset of the session clears.
static MYSQL_STMT *state(MYSQL *m) {
  quiet(m, "SET @mine = 1, SESSION sql_mode = 'ANSI_QUOTES', SESSION wait_timeout = 1234");
  quiet(m, "CREATE TEMPORARY TABLE mine (n INT)");
  quiet(m, "INSERT INTO kept VALUES (1)");
  quiet(m, "BEGIN");
  quiet(m, "INSERT INTO kept VALUES (2)");
  quiet(m, "SET NAMES latin1");
  run(m, "SELECT GET_LOCK('mine', 0), GET_LOCK('mine too', 0)");
  return prepared(m, "SELECT @mine, GET_LOCK('again', 0)");
}

static void what_is_left(MYSQL *m, MYSQL *other, MYSQL_STMT *s) {
#ifndef LIBMARIADB
  // MariaDB does not know its character set, and goes back to whichever the thread had before.
  if (strcmp(flavour, "mariadb") == 0) quiet(m, "SET NAMES utf8mb4");
#endif
  run(m, "SELECT @mine, @@sql_mode, @@wait_timeout = 1234, DATABASE(), @@character_set_client, LAST_INSERT_ID()");
  run(m, "SELECT * FROM mine");
  run(m, "SELECT * FROM kept");
  run(m, "SELECT IS_USED_LOCK('mine'), IS_FREE_LOCK('mine too'), IS_FREE_LOCK('again')");
  run(other, "SELECT GET_LOCK('mine', 0), RELEASE_LOCK('mine')");
  run(m, "SELECT RELEASE_ALL_LOCKS()");
  if (s) {
    execute(s);
    mysql_stmt_close(s);
  }
}

void reset(void) {
  MYSQL *m = open_connection(), *other = open_connection();
  if (!m || !other) return;
  quiet(m, "CREATE TABLE kept (n INT)");
  unsigned long id = mysql_thread_id(m);
  MYSQL_STMT *s = state(m);
  line("reset %d", mysql_reset_connection(m));
  what_is_left(m, other, s);
  line("the same id: %s", number(m, "SELECT CONNECTION_ID()") == (long)id ? "yes" : "no");
  for (int i = 0; i < 3; i++) line("again %d", mysql_reset_connection(m));
  run(m, "SELECT GET_LOCK('after', 0), RELEASE_LOCK('after')");
  mysql_close(m);
  mysql_close(other);
}

void change_user(void) {
  MYSQL *m = open_connection(), *other = open_connection();
  if (!m || !other) return;
  quiet(m, "CREATE TABLE kept_too (n INT)");
  quiet(m, "CREATE TABLE IF NOT EXISTS kept (n INT)");
  quiet(m, "TRUNCATE kept");
  MYSQL_STMT *s = state(m);
  if (mysql_change_user(m, user, password, schema)) failed(m, "change");
  else line("changed, character set %s, status %x", mysql_character_set_name(m), m->server_status);
  what_is_left(m, other, s);
  line("my id is the server's: %s", number(m, "SELECT CONNECTION_ID()") == (long)mysql_thread_id(m) ? "yes" : "no");
  run(m, "SELECT USER(), CURRENT_USER()");
  if (mysql_change_user(m, user, password, NULL)) failed(m, "without a schema");
  run(m, "SELECT DATABASE()");
  if (mysql_change_user(m, user, password, "nosuch")) failed(m, "unknown schema");
  line("alive: %s", mysql_query(m, "DO 1") ? "no" : "yes");
  mysql_close(m);
  if (!(m = open_connection())) return;
  run(m, "SELECT GET_LOCK('before', 0)");
  if (mysql_change_user(m, user, "wrong", schema)) failed(m, "wrong password");
  // After a wrong proof by parsec over TLS, MariaDB either closes the connection or replies again: it depends on timing.
  if (strcmp(user, "app_parsec") || strcmp(getenv("DB_TLS"), "on"))
    line("alive: %s", mysql_query(m, "DO 1") ? "no" : "yes");
  mysql_close(m);
  // The server lets the lock go when it has closed the connection.
  run(other, "SELECT GET_LOCK('before', 30), RELEASE_LOCK('before')");
  if (!(m = open_connection())) return;
  if (mysql_change_user(m, "nobody", "x", schema)) failed(m, "unknown user");
  mysql_close(m);
  mysql_close(other);
}

static void until_gone(MYSQL *observer, unsigned long id) {
  char sql[200];
  if (!lists_sessions()) {
    poll(NULL, 0, 300);
    return;
  }
  sprintf(sql, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %lu", id);
  while (number(observer, sql) == 1) {}
}

void reconnect(void) {
  MYSQL *m = open_connection(), *other = open_connection();
  if (!m || !other) return;
  char sql[50];
  unsigned long id = mysql_thread_id(m);
  run(m, "SELECT GET_LOCK('killed', 0)");
  sprintf(sql, "KILL %lu", id);
  quiet(other, sql);
  until_gone(other, id);
  run(other, "SELECT GET_LOCK('killed', 30)");
  line("ping %s", mysql_ping(m) ? "fails" : "works");
  line("after a kill: %s", mysql_query(m, "SELECT 1") ? "an error" : "none");
  mysql_close(m);
  if (!(m = open_connection())) return;
  line("another id: %s", mysql_thread_id(m) != id ? "yes" : "no");
  run(m, "SELECT IS_USED_LOCK('killed') IS NULL");
  run(m, "KILL CONNECTION_ID()");
  mysql_close(m);
  if (!(m = open_connection())) return;
  // KILL QUERY while it runs, and while it waits.
  sprintf(sql, "KILL QUERY %lu", mysql_thread_id(m));
  mysql_send_query(m, "SELECT GET_LOCK('killed', 60)", 29);
  until_waiting(other, mysql_thread_id(m));
  quiet(other, sql);
  if (mysql_read_query_result(m)) failed(m, "killed in a wait");
  else results(m);
  run(m, "SELECT 'in step'");
  mysql_close(m);
  mysql_close(other);
}

// --- locks ------------------------------------------------------------------------

void lock(void) {
  MYSQL *a = open_connection(), *b = open_connection(), *c = open_connection();
  if (!a || !b || !c) return;
  run(a, "SELECT GET_LOCK('job', 10)");
  run(b, "SELECT GET_LOCK('job', 0)");
  run(b, "SELECT GET_LOCK('job', 0.2) AS too_soon");
  line("holder is a: %s", number(b, "SELECT IS_USED_LOCK('job')") == (long)mysql_thread_id(a) ? "yes" : "no");
  run(b, "SELECT IS_FREE_LOCK('job'), IS_FREE_LOCK('other'), RELEASE_LOCK('job'), RELEASE_LOCK('other')");
  mysql_send_query(b, "SELECT GET_LOCK('job', 30)", 26);
  until_waiting(c, mysql_thread_id(b));
  run(a, "SELECT RELEASE_LOCK('job')");
  if (mysql_read_query_result(b)) failed(b, "wait");
  else results(b);
  line("holder is b: %s", number(a, "SELECT IS_USED_LOCK('job')") == (long)mysql_thread_id(b) ? "yes" : "no");
  mysql_send_query(a, "DO GET_LOCK('job', 30)", 22);
  until_waiting(c, mysql_thread_id(a));
  mysql_close(b);
  if (mysql_read_query_result(a)) failed(a, "wait for a close");
  else results(a);
  run(a, "SELECT GET_LOCK('job', 1), GET_LOCK('second', 1), RELEASE_ALL_LOCKS()");
  MYSQL_STMT *get = prepared(a, "SELECT GET_LOCK(?, ?)"), *release = prepared(a, "DO RELEASE_LOCK(?)");
  execute(get, "by statement", "0");
  execute(get, "\1NULL", "0");
  execute(get, "by statement", "nonsense");
  line("holder is a: %s", number(c, "SELECT IS_USED_LOCK('by statement')") == (long)mysql_thread_id(a) ? "yes" : "no");
  execute(release, "by statement");
  execute(release, "by statement");
  run(c, "SELECT IS_FREE_LOCK('by statement'), RELEASE_ALL_LOCKS()");
  run(a, "SELECT n, IS_FREE_LOCK('over rows') FROM digits ORDER BY n LIMIT 1");
  run(a, "INSERT INTO digits VALUES (9 + GET_LOCK('in an insert', 0))");
  // Two that wait for each other.
  run(c, "SELECT GET_LOCK('x', 0)");
  run(a, "SELECT GET_LOCK('y', 0)");
  mysql_send_query(a, "SELECT GET_LOCK('x', 60)", 24);
  until_waiting(c, mysql_thread_id(a));
  run(c, "SELECT GET_LOCK('y', 60)");
  run(c, "SELECT RELEASE_ALL_LOCKS()");
  if (mysql_read_query_result(a)) failed(a, "freed");
  else results(a);
  mysql_close(a);
  mysql_close(c);
}

void busy(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  quiet(m, "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)");
  quiet(m, "INSERT INTO busy (n) VALUES (0)");
  run(m, "SELECT GET_LOCK('busy', 5)");
  int errors = 0, over = 0;
  for (int round = 0; round < 400 && !over; round++) {
    int failed = mysql_query(m, "UPDATE busy SET n = n + 1");
    if (!failed) failed = mysql_query(m, "SELECT n > 510 FROM busy");
    MYSQL_RES *result = failed ? NULL : mysql_store_result(m);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    if (row) over = *row[0] == '1';
    else errors++;
    if (result) mysql_free_result(result);
    usleep(50000);
  }
  line("over: %d, one error at most: %s", over, errors < 2 ? "yes" : "no");
  run(m, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()");
  run(m, "SELECT id = LAST_INSERT_ID() FROM busy");
  run(m, "SELECT RELEASE_LOCK('busy')");
  quiet(m, "DROP TABLE busy");
  mysql_close(m);
}

// --- lesser commands ----------------------------------------------------------------

void commands(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  line("ping %d", mysql_ping(m));
  line("select schema %d", mysql_select_db(m, "information_schema"));
  if (mysql_select_db(m, "nosuch")) failed(m, "select an unknown schema");
  run(m, "SELECT DATABASE()");
  mysql_select_db(m, schema);
  const char *stat = mysql_stat(m);
  line("stat %.7s", stat ? stat : "none");
  if (mysql_set_character_set(m, "latin1")) failed(m, "character set");
  line("%s", mysql_character_set_name(m));
  run(m, "SELECT '\xe9', CONVERT('\xe9' USING utf8mb4)");
  quiet(m, "SET NAMES utf8mb4");
  MYSQL_RES *fields = mysql_list_fields(m, "digits", "%");
  line("fields %u", fields ? mysql_num_fields(fields) : mysql_errno(m));
  mysql_free_result(fields);
  MYSQL_RES *tables = mysql_list_tables(m, "dig%");
  line("tables %lu", tables ? (unsigned long)mysql_num_rows(tables) : 0);
  mysql_free_result(tables);
  if (mysql_dump_debug_info(m)) failed(m, "debug");
#ifdef LIBMARIADB
  MYSQL_RES *list = mysql_list_processes(m);
  line("processes %s", list && mysql_num_rows(list) ? "some" : "none");
  mysql_free_result(list);
  if (mysql_refresh(m, 1)) failed(m, "refresh");
#endif
  run(m, "SET SESSION session_track_schema = 1, session_track_system_variables = 'sql_mode,autocommit,time_zone', session_track_state_change = 1, "
         "session_track_transaction_info = 'CHARACTERISTICS'");
  run(m, "SET @@sql_mode = 'ANSI'");
  run(m, "USE information_schema");
  run(m, "BEGIN");
  run(m, "SELECT GET_LOCK('tracked', 0)");
  run(m, "SELECT COUNT(*) FROM dual");
  run(m, "COMMIT");
  run(m, "SELECT RELEASE_LOCK('tracked')");
  mysql_close(m);
#ifndef LIBMARIADB
  // Query attributes are sent before the text.
  if (!(m = open_connection())) return;
  MYSQL_BIND b[2];
  const char *names[] = {"trace", "n"};
  int n = 7;
  memset(b, 0, sizeof b);
  b[0].buffer_type = MYSQL_TYPE_STRING, b[0].buffer = "GET_LOCK('no', 1)", b[0].buffer_length = 17;
  b[1].buffer_type = MYSQL_TYPE_LONG, b[1].buffer = &n;
  static const char *texts[] = {"SELECT GET_LOCK('attributed', 0)", "SELECT 1", "SELECT RELEASE_ALL_LOCKS() + 1"};
  for (int i = 0; i < 3; i++) {
    if (mysql_bind_param(m, 2, b, names)) failed(m, "attributes");
    run(m, texts[i]);
  }
  mysql_close(m);
#endif
}

static void roundtrip(MYSQL *m) {
  line("compressed %d", m->net.compress);
  run(m, "SELECT REPEAT('compress me ', 100000), GET_LOCK('compressed', 0)");
  run(m, "SELECT 1");
  char *text = malloc(3UL << 20);
  int head = sprintf(text, "SELECT SHA2('");
  memset(text + head, 'z', 2UL << 20);
  strcpy(text + head + (2 << 20), "', 256)");
  run(m, text);
  run(m, "SELECT RELEASE_LOCK('compressed')");
  free(text);
  execute(prepared(m, "SELECT ?, REPEAT('x', 1000)"), "y");
}

void compression(void) {
  unsigned on = 1;
  MYSQL *m = prepared_handle();
  mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &on);
  mysql_options(m, MYSQL_OPT_COMPRESS, NULL);
  if ((m = connected(m, CLIENT_COMPRESS))) {
    roundtrip(m);
    uploads(m);
    mysql_close(m);
  }
#ifndef LIBMARIADB
  static const char *algorithms[] = {"zlib", "zstd", "zstd,zlib,uncompressed", "uncompressed"};
  for (int i = 0; i < 4; i++) {
    // MariaDB's server does not know it, the proxy does.
    if (i == 1 && strcmp(flavour, "mariadb") == 0) continue;
    line("%s", algorithms[i]);
    m = prepared_handle();
    mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &on);
    mysql_options(m, MYSQL_OPT_COMPRESSION_ALGORITHMS, algorithms[i]);
    if (!(m = connected(m, 0))) continue;
    roundtrip(m);
    if (strcmp(algorithms[i], "zstd") == 0) uploads(m);
    mysql_close(m);
  }
#endif
}

// MariaDB's own: many rows in one execution, and executions that do not wait for the prepare.
void bulk(void) {
#ifdef LIBMARIADB
  MYSQL *m = open_connection();
  if (!m) return;
  quiet(m, "CREATE TABLE bulk (id INT PRIMARY KEY, s VARCHAR(20))");
  MYSQL_STMT *s = prepared(m, "INSERT INTO bulk VALUES (?, ?)");
  enum { ROWS = 5000 };
  static int ids[ROWS];
  static const char *texts[ROWS];
  static unsigned long lengths[ROWS];
  static char indicators[ROWS];
  for (int i = 0; i < ROWS; i++) {
    ids[i] = i;
    texts[i] = i % 2 ? "odd" : "even";
    lengths[i] = strlen(texts[i]);
    indicators[i] = i % 10 ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL;
  }
  MYSQL_BIND b[2];
  memset(b, 0, sizeof b);
  b[0].buffer_type = MYSQL_TYPE_LONG, b[0].buffer = ids;
  b[1].buffer_type = MYSQL_TYPE_STRING, b[1].buffer = texts, b[1].length = lengths, b[1].u.indicator = indicators;
  unsigned rows = ROWS;
  mysql_stmt_attr_set(s, STMT_ATTR_ARRAY_SIZE, &rows);
  for (int i = 0; i < 2; i++) {
    mysql_stmt_bind_param(s, b);
    if (mysql_stmt_execute(s)) statement_failed(s, "bulk");
    else line("affected %lld", (long long)mysql_stmt_affected_rows(s));
  }
  run(m, "SELECT COUNT(*), SUM(id), SUM(s IS NULL) FROM bulk");
  mysql_stmt_close(s);
  static const char *direct[] = {
    "SELECT 1, 'direct'", "SELECT GET_LOCK('direct', 0)", "SELECT IS_USED_LOCK('direct') = CONNECTION_ID()",
    "SELECT nosuch", "DO RELEASE_LOCK('direct')", "SELECT GET_LOCK('', 1)", "SELECT IS_FREE_LOCK('direct')",
    "SELECT GET_LOCK('a', 0) + GET_LOCK('b', 0)", "SELECT RELEASE_ALL_LOCKS()",
  };
  for (unsigned i = 0; i < sizeof direct / sizeof *direct; i++) {
    line("at once: %s", direct[i]);
    s = mysql_stmt_init(m);
    if (mariadb_stmt_execute_direct(s, direct[i], strlen(direct[i]))) statement_failed(s, "  at once");
    else statement_results(s);
    mysql_stmt_close(s);
  }
  mysql_close(m);
#endif
}
