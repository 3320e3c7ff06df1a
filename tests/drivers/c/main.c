// The cases of the driver matrix in C, for libmysqlclient and libmariadb.
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *running, *host, *user, *password, *schema, *flavour;
unsigned port;

static void login(const char *what, const char *as, const char *by, const char *into) {
  MYSQL *m = prepared_handle();
  if (mysql_real_connect(m, host, as, by, into, port, NULL, 0)) line("%s: let in", what);
  else failed(m, what);
  mysql_close(m);
}

static int tls_at_the_server(MYSQL *m) {
  if (mysql_query(m, "SHOW STATUS LIKE 'Ssl_cipher'")) failed(m, "status");
  MYSQL_RES *result = mysql_store_result(m);
  MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
  int yes = row && row[1][0];
  mysql_free_result(result);
  return yes;
}

static void connect_case(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  line("version %s (%lu) protocol %u", mysql_get_server_info(m), mysql_get_server_version(m), mysql_get_proto_info(m));
  line("%s, character set %s, status %x", mysql_get_host_info(m), mysql_character_set_name(m), m->server_status);
  line("TLS %s", mysql_get_ssl_cipher(m) ? "yes" : "no");
  line("TLS at the server %s", tls_at_the_server(m) ? "yes" : "no");
  line("id is mine: %s", number(m, "SELECT CONNECTION_ID()") == (long)mysql_thread_id(m) ? "yes" : "no");
  run(m, "SELECT USER(), CURRENT_USER(), DATABASE(), @@character_set_client, @@collation_connection");
  if (lists_sessions()) {
    run(m, "SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = "
           "CONNECTION_ID() AND attr_name IN ('program', '_client_name')");
  }
  mysql_close(m);
  login("without a schema", user, password, NULL);
  login("wrong password", user, "wrong", schema);
  login("no password", user, "", schema);
  login("unknown user", "nobody", "x", schema);
  login("unknown schema", user, password, "nosuch");
}

static void transactions(void) {
  MYSQL *a = open_connection(), *b = open_connection();
  if (!a || !b) return;
  run(a, "CREATE TABLE accounts (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL)");
  mysql_autocommit(a, 0);
  run(a, "INSERT INTO accounts (n) VALUES (1), (2)");
  run(b, "SELECT COUNT(*) FROM accounts");
  line("commit %d", mysql_commit(a));
  run(b, "SELECT COUNT(*) FROM accounts");
  run(a, "UPDATE accounts SET n = n + 10");
  run(a, "SAVEPOINT here");
  run(a, "DELETE FROM accounts");
  run(a, "ROLLBACK TO SAVEPOINT here");
  run(a, "SELECT GET_LOCK('in a transaction', 0)");
  line("rollback %d", mysql_rollback(a));
  run(a, "SELECT id, n, IS_USED_LOCK('in a transaction') = CONNECTION_ID() FROM accounts ORDER BY id");
  mysql_autocommit(a, 1);
  run(a, "START TRANSACTION READ ONLY");
  run(a, "DELETE FROM accounts");
  run(a, "COMMIT");
  run(a, "BEGIN");
  run(a, "SELECT n FROM accounts WHERE id = 1 FOR UPDATE");
  quiet(b, "SET innodb_lock_wait_timeout = 1");
  run(b, "UPDATE accounts SET n = 5 WHERE id = 1");
  run(a, "COMMIT AND CHAIN");
  run(a, "COMMIT RELEASE");
  line("after RELEASE: %s", mysql_query(a, "SELECT 1") ? "no more" : "still there");
  mysql_close(a);
  mysql_close(b);
}

static void errors(void) {
  static const char *statements[] = {
    "SELEC 1", "SELECT * FROM nosuch", "SELECT nosuch", "SELECT nosuch()", "USE nosuch",
    "CREATE TABLE e (id INT PRIMARY KEY, s VARCHAR(3) NOT NULL, u TINYINT UNSIGNED, e ENUM('a','b'))",
    "INSERT INTO e VALUES (1, 'abc', 1, 'a')", "INSERT INTO e VALUES (1, 'abc', 1, 'a')",
    "INSERT INTO e VALUES (2, 'abcd', 1, 'a')", "INSERT INTO e VALUES (3, NULL, 1, 'a')",
    "INSERT INTO e VALUES (4, '', 256, 'a')", "INSERT INTO e VALUES (5, '', 1, 'c')",
    "INSERT INTO e VALUES (6, '', 1 / 0, 'a')", "SELECT CAST('x' AS DECIMAL)", "",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'd\xc3\xa9j\xc3\xa0', MYSQL_ERRNO = 5000", "KILL 4000000000",
    "SELECT GET_LOCK('', 1)", "SELECT GET_LOCK(NULL, 1)", "SELECT GET_LOCK('x')", "SELECT GET_LOCK('x', -1)",
    "SELECT GET_LOCK(REPEAT('x', 65), 1)", "SELECT RELEASE_LOCK('nobody has it')", "SELECT RELEASE_ALL_LOCKS(1)",
    "SELECT GET_LOCK('x', 1", "SELECT EXTRACTVALUE('<a>', '/b'), EXTRACTVALUE('<a/>', '$@')", "SHOW WARNINGS",
  };
  MYSQL *m = open_connection();
  if (!m) return;
  for (unsigned i = 0; i < sizeof statements / sizeof *statements; i++) run(m, statements[i]);
  mysql_close(m);
}

static void warnings(void) {
  MYSQL *m = open_connection();
  if (!m) return;
  run(m, "SET sql_mode = ''");
  run(m, "CREATE TABLE w (s VARCHAR(3), n TINYINT)");
  run(m, "INSERT INTO w VALUES ('abcdef', 1000), ('x', 'y')");
  run(m, "SHOW WARNINGS");
  run(m, "SHOW COUNT(*) WARNINGS");
  run(m, "DROP TABLE IF EXISTS nosuch, nosuch2");
  run(m, "SHOW WARNINGS LIMIT 1");
  run(m, "SELECT CAST('12x' AS SIGNED), GET_LOCK('warned', '1x')");
  run(m, "SHOW WARNINGS");
  run(m, "SELECT RELEASE_LOCK('warned')");
  run(m, "SHOW WARNINGS");
  execute(prepared(m, "INSERT INTO w VALUES (?, ?)"), "abcdef", "12x");
  run(m, "SHOW WARNINGS");
  mysql_close(m);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
  {"connect", connect_case}, {"types", types}, {"prepared", prepared_statements}, {"transactions", transactions},
  {"errors", errors}, {"big_packet", big_packet}, {"big_result", big_result}, {"cursor", cursor},
  {"multi_results", multi_results}, {"warnings", warnings}, {"infile", infile}, {"compression", compression},
  {"reconnect", reconnect}, {"reset", reset}, {"change_user", change_user}, {"lock", lock},
  {"commands", commands}, {"bulk", bulk}, {"busy", busy},
};

static const char *given(const char *name) {
  const char *value = getenv(name);
  if (!value) {
    fprintf(stderr, "%s is not set\n", name);
    exit(1);
  }
  return value;
}

// With arguments, the cases of these names.
int main(int count, char **names) {
  host = given("DB_HOST"), user = given("DB_USER"), password = given("DB_PASSWORD"), schema = given("DB_SCHEMA");
  flavour = given("DB_FLAVOUR"), port = (unsigned)atoi(given("DB_PORT"));
  given("DB_TLS");
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (mysql_library_init(0, NULL, NULL)) return 1;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    int wanted = count == 1;
    for (int n = 1; n < count; n++) wanted |= strcmp(names[n], cases[i].name) == 0;
    running = cases[i].name;
    if (wanted) cases[i].run();
  }
  mysql_library_end();
  return 0;
}
