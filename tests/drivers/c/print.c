// Connections, and printing what a server says.
#include "cases.h"

#include <ctype.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void line(const char *format, ...) {
  va_list arguments;
  printf("%s: ", running);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

unsigned long hash(unsigned long before, const char *data, unsigned long length) {
  for (unsigned long i = 0; i < length; i++) before = (before ^ (unsigned char)data[i]) * 1099511628211UL;
  return before;
}

void bytes(const char *data, unsigned long length) {
  if (length > 200) {
    printf("(%lu bytes, hash %lx)", length, hash(HASH, data, length));
    return;
  }
  putchar('\'');
  for (unsigned long i = 0; i < length; i++) {
    unsigned char c = (unsigned char)data[i];
    if (c >= 32 && c < 127 && c != '\\') putchar(c);
    else printf("\\x%02x", c);
  }
  putchar('\'');
}

static int tls(void) { return strcmp(getenv("DB_TLS"), "on") == 0; }

MYSQL *prepared_handle(void) {
  MYSQL *m = mysql_init(NULL);
  unsigned seconds = 60;
  if (!m) abort();
  mysql_options(m, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options4(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program", "cases");
  unsigned long largest = 64UL << 20;
  mysql_options(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &largest);
#ifdef LIBMARIADB
  flag yes = 1, no = 0;
  if (tls()) {
    mysql_ssl_set(m, NULL, NULL, getenv("DB_CA"), NULL, NULL);
    mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
  } else {
    mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &no);
    mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
  }
#else
  unsigned mode = tls() ? SSL_MODE_VERIFY_IDENTITY : SSL_MODE_DISABLED;
  mysql_options(m, MYSQL_OPT_SSL_MODE, &mode);
  if (tls()) mysql_options(m, MYSQL_OPT_SSL_CA, getenv("DB_CA"));
  bool key = true; // how a password gets across without TLS
  mysql_options(m, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &key);
#endif
  return m;
}

MYSQL *connected(MYSQL *handle, unsigned long flags) {
  if (mysql_real_connect(handle, host, user, password, schema, port, NULL, flags)) return handle;
  failed(handle, "connecting");
  mysql_close(handle);
  return NULL;
}

MYSQL *open_connection(void) { return connected(prepared_handle(), 0); }

void failed(MYSQL *m, const char *what) {
  line("%s: error %u (%s) %s", what, mysql_errno(m), mysql_sqlstate(m), mysql_error(m));
}

static void columns(MYSQL_RES *result) {
  unsigned count = mysql_num_fields(result);
  MYSQL_FIELD *fields = mysql_fetch_fields(result);
  for (unsigned i = 0; i < count; i++) {
    MYSQL_FIELD *f = &fields[i];
    line("  column %s (%s) of %s (%s) in %s catalog %s: type %d length %lu flags %x decimals %u charset %u", f->name,
         f->org_name, f->table, f->org_table, f->db, f->catalog, f->type, f->length, f->flags, f->decimals,
         f->charsetnr);
  }
}

static void rows(MYSQL *m, MYSQL_RES *result) {
  unsigned count = mysql_num_fields(result);
  MYSQL_ROW row;
  while ((row = mysql_fetch_row(result))) {
    unsigned long *lengths = mysql_fetch_lengths(result);
    printf("%s:   row", running);
    for (unsigned i = 0; i < count; i++) {
      putchar(' ');
      if (row[i]) bytes(row[i], lengths[i]);
      else printf("NULL");
    }
    putchar('\n');
  }
  if (mysql_errno(m)) failed(m, "  rows");
}

static void tracked(MYSQL *m) {
  const char *data;
  size_t length;
  for (int kind = SESSION_TRACK_BEGIN; kind <= SESSION_TRACK_END; kind++) {
    if (mysql_session_track_get_first(m, kind, &data, &length)) continue;
    do {
      printf("%s:   tracked %d ", running, kind);
      bytes(data, length);
      putchar('\n');
    } while (!mysql_session_track_get_next(m, kind, &data, &length));
  }
}

void results(MYSQL *m) {
  int more;
  do {
    MYSQL_RES *result = mysql_store_result(m);
    if (result) {
      columns(result);
      rows(m, result);
      mysql_free_result(result);
    } else if (mysql_field_count(m)) {
      failed(m, "  result");
    }
    const char *info = mysql_info(m);
    line("  affected %lld id %llu warnings %u status %x info %s", (long long)mysql_affected_rows(m),
         (unsigned long long)mysql_insert_id(m), mysql_warning_count(m), m->server_status, info ? info : "-");
    tracked(m);
    more = mysql_next_result(m);
    if (more > 0) failed(m, "  next");
  } while (more == 0);
}

void run_long(MYSQL *m, const char *sql, unsigned long length) {
  printf("%s: > ", running);
  bytes(sql, length);
  putchar('\n');
  if (mysql_real_query(m, sql, length)) failed(m, " ");
  else results(m);
}

void run(MYSQL *m, const char *sql) { run_long(m, sql, strlen(sql)); }

void quiet(MYSQL *m, const char *sql) {
  if (mysql_query(m, sql)) failed(m, sql);
  else mysql_free_result(mysql_store_result(m));
}

long number(MYSQL *m, const char *sql) {
  if (mysql_query(m, sql)) {
    failed(m, sql);
    return -2;
  }
  MYSQL_RES *result = mysql_store_result(m);
  MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
  if (!row) {
    failed(m, sql);
    return -2;
  }
  long value = row[0] ? atol(row[0]) : -1;
  mysql_free_result(result);
  return value;
}

int lists_sessions(void) {
  const char *lists = getenv("DB_LISTS_SESSIONS");
  return !lists || strcmp(lists, "no");
}

int moves(void) {
  const char *moves = getenv("DB_MOVES");
  return moves && !strcmp(moves, "yes");
}

void until_waiting(MYSQL *observer, unsigned long id) {
  char sql[200];
  if (!lists_sessions()) {
    poll(NULL, 0, 300);
    return;
  }
  snprintf(sql, sizeof sql,
           "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %lu AND state = 'User lock'", id);
  for (int tries = 0; tries < 1000; tries++) {
    if (number(observer, sql) == 1) return;
    poll(NULL, 0, 10);
  }
  line("nobody waits");
}

MYSQL_STMT *prepared(MYSQL *m, const char *sql) {
  MYSQL_STMT *s = mysql_stmt_init(m);
  line("prepare %s", sql);
  if (mysql_stmt_prepare(s, sql, strlen(sql))) {
    statement_failed(s, "prepare");
    mysql_stmt_close(s);
    return NULL;
  }
  line("  parameters %lu columns %u warnings %u", mysql_stmt_param_count(s), mysql_stmt_field_count(s),
       mysql_warning_count(m));
  MYSQL_RES *meta = mysql_stmt_result_metadata(s);
  if (meta) {
    columns(meta);
    mysql_free_result(meta);
  }
  return s;
}

void statement_failed(MYSQL_STMT *s, const char *what) {
  line("%s: error %u (%s) %s", what, mysql_stmt_errno(s), mysql_stmt_sqlstate(s), mysql_stmt_error(s));
}

void execute(MYSQL_STMT *s, ...) {
  if (!s) return;
  unsigned long count = mysql_stmt_param_count(s);
  MYSQL_BIND *binds = calloc(count + 1, sizeof *binds);
  va_list values;
  va_start(values, s);
  for (unsigned long i = 0; i < count; i++) {
    const char *value = va_arg(values, const char *);
    binds[i].buffer_type = strcmp(value, "\1NULL") ? MYSQL_TYPE_STRING : MYSQL_TYPE_NULL;
    binds[i].buffer = (void *)value;
    binds[i].buffer_length = strlen(value);
  }
  va_end(values);
  line("execute");
  if (count && mysql_stmt_bind_param(s, binds)) statement_failed(s, "  bind");
  if (mysql_stmt_execute(s)) statement_failed(s, "  execute");
  else statement_results(s);
  free(binds);
}

// One value, whatever its length: it is fetched again when its length is known.
static void value(MYSQL_STMT *s, MYSQL_BIND *bind, unsigned i) {
  if (*bind->is_null) {
    printf("NULL");
    return;
  }
  char *text = malloc(*bind->length + 1);
  MYSQL_BIND whole = *bind;
  whole.buffer = text;
  whole.buffer_length = *bind->length;
  if (*bind->length && mysql_stmt_fetch_column(s, &whole, i, 0)) printf("(not fetched)");
  else bytes(text, *bind->length);
  free(text);
}

static void statement_rows(MYSQL_STMT *s, unsigned count) {
  MYSQL_BIND *binds = calloc(count, sizeof *binds);
  unsigned long *lengths = calloc(count, sizeof *lengths);
  flag *nulls = calloc(count, sizeof *nulls);
  int status;
  for (unsigned i = 0; i < count; i++) {
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].length = &lengths[i];
    binds[i].is_null = &nulls[i];
  }
  if (mysql_stmt_bind_result(s, binds)) statement_failed(s, "  bind result");
  while ((status = mysql_stmt_fetch(s)) == 0 || status == MYSQL_DATA_TRUNCATED) {
    printf("%s:   row", running);
    for (unsigned i = 0; i < count; i++) {
      putchar(' ');
      value(s, &binds[i], i);
    }
    putchar('\n');
  }
  if (status == 1) statement_failed(s, "  fetch");
  free(nulls);
  free(lengths);
  free(binds);
}

void statement_results(MYSQL_STMT *s) {
  int more;
  do {
    unsigned count = mysql_stmt_field_count(s);
    MYSQL_RES *meta = mysql_stmt_result_metadata(s);
    if (meta) {
      columns(meta);
      mysql_free_result(meta);
      statement_rows(s, count);
    }
    line("  affected %lld id %llu warnings %u status %x", (long long)mysql_stmt_affected_rows(s),
         (unsigned long long)mysql_stmt_insert_id(s), mysql_warning_count(s->mysql), s->mysql->server_status);
    mysql_stmt_free_result(s);
    more = mysql_stmt_next_result(s);
    if (more > 0) statement_failed(s, "  next");
  } while (more == 0);
}
