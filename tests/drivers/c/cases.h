// What the cases share: connections, and printing what a server says to the last field.
#ifndef CASES_H
#define CASES_H

#include <mysql.h>

#ifdef LIBMARIADB
typedef my_bool flag;
#else
#include <stdbool.h>
typedef bool flag;
#endif

// Of the running case; each line begins with it.
extern const char *running;

// Prints a line.
void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints bytes so that all of them can be seen, at most 200.
void bytes(const char *data, unsigned long length);
// A hash of bytes: begin with HASH, go on with its result.
#define HASH 14695981039346656037UL
unsigned long hash(unsigned long before, const char *data, unsigned long length);

// A handle with the options for TLS, not connected.
MYSQL *prepared_handle(void);
// Connects it with further capabilities; NULL after an error, which it printed.
MYSQL *connected(MYSQL *handle, unsigned long flags);
// Both, and the schema.
MYSQL *open_connection(void);

// Prints the error.
void failed(MYSQL *m, const char *what);
// Runs a text and prints all its results.
void run(MYSQL *m, const char *sql);
void run_long(MYSQL *m, const char *sql, unsigned long length);
// Prints the results that are there, beginning with the present one.
void results(MYSQL *m);
// Runs it and prints no more than an error.
void quiet(MYSQL *m, const char *sql);
// One value of one row as a number, -1 for NULL, -2 after an error, which it printed.
long number(MYSQL *m, const char *sql);
// Waits until the session waits for a lock, as the server shows it.
int lists_sessions(void);
// Whether the session gives its connection away whenever it may.
int moves(void);
void until_waiting(MYSQL *observer, unsigned long id);

// Prepares a text; NULL after an error, which it printed.
MYSQL_STMT *prepared(MYSQL *m, const char *sql);
void statement_failed(MYSQL_STMT *s, const char *what);
// Executes it with texts as parameters (NULL at the end; "\1NULL" is NULL) and prints all results.
void execute(MYSQL_STMT *s, ...);
// Prints the results of an execution: columns, rows as texts.
void statement_results(MYSQL_STMT *s);

extern const char *host, *user, *password, *schema, *flavour;
extern unsigned port;

void types(void);
void prepared_statements(void);
void cursor(void);
void big_packet(void);
void big_result(void);
void multi_results(void);
void infile(void);
void compression(void);
void uploads(MYSQL *m);
void reset(void);
void change_user(void);
void reconnect(void);
void lock(void);
void busy(void);
void commands(void);
void bulk(void);
#endif
