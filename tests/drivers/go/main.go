// The cases of the clients in Go.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var (
	schema  = os.Getenv("DB_SCHEMA")
	flavour = os.Getenv("DB_FLAVOUR")
	name    = os.Args[1]
	ctx     = context.Background()
	current string
)

func say(format string, args ...any) {
	fmt.Println(strings.ReplaceAll(current+": "+fmt.Sprintf(format, args...), schema, "SCHEMA"))
}

func tell(what string, value any, err error) {
	if err != nil {
		say("%s = %s", what, fault(err))
	} else {
		say("%s = %s", what, show(value))
	}
}

func fault(err error) string {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("error %d %s %s", e.Number, e.SQLState[:], e.Message)
	}
	return "error " + err.Error()
}

func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		if len(v) > 80 {
			return fmt.Sprintf("text:%d:%x", len(v), sha256.Sum256([]byte(v)))
		}
		return fmt.Sprintf("%q", v)
	case []byte:
		if len(v) > 80 {
			return fmt.Sprintf("bytes:%d:%x", len(v), sha256.Sum256(v))
		}
		return fmt.Sprintf("x%q", v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case fmt.Stringer:
		return v.String()
	}
	if r := reflect.ValueOf(value); r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return "NULL"
		}
		return show(r.Elem().Interface())
	}
	return fmt.Sprintf("%T(%v)", value, value)
}

// rows reads a whole result, with the columns' names and types in front if asked for.
func rows(r *sql.Rows, err error, each func(string)) error {
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		columns, err := r.ColumnTypes()
		if err != nil {
			return err
		}
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		for r.Next() {
			if err := r.Scan(places...); err != nil {
				return err
			}
			var line strings.Builder
			for i, c := range columns {
				fmt.Fprintf(&line, " %s:%s", c.Name(), show(values[i]))
			}
			each(line.String())
		}
		if !r.NextResultSet() {
			return r.Err()
		}
		each(" next result")
	}
}

func (s *Session) table(text string, args ...any) (string, error) {
	var all strings.Builder
	r, err := s.Query(ctx, text, args...)
	err = rows(r, err, func(line string) { all.WriteString("[" + strings.TrimSpace(line) + "]") })
	return table(all.String()).String(), err
}

type table string

func (t table) String() string { return string(t) }

// value is the first column of the first row.
func (s *Session) value(text string, args ...any) (v any, err error) {
	return s.within(ctx, text, args...)
}

func (s *Session) within(c context.Context, text string, args ...any) (v any, err error) {
	r, err := s.Query(c, text, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if !r.Next() {
		return nil, errors.Join(r.Err(), errors.New("no row"))
	}
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	places := make([]any, len(columns))
	for i := range places {
		places[i] = new(any)
	}
	places[0] = &v
	if err := r.Scan(places...); err != nil {
		return nil, err
	}
	return v, r.Close()
}

func (s *Session) told(what, text string, args ...any) {
	v, err := s.value(text, args...)
	tell(what, v, err)
}

func (s *Session) done(what, text string, args ...any) {
	n, err := s.Exec(text, args...)
	tell(what, n, err)
}

func (s *Session) listed(what, text string, args ...any) {
	t, err := s.table(text, args...)
	if err == nil {
		say("%s = %s", what, t)
	} else {
		say("%s = %s %s", what, t, fault(err))
	}
}

// using opens a session for a piece of work.
func using(o Options, work func(*Session)) error {
	s, err := clients[name](o)
	if err != nil {
		return err
	}
	defer s.Close()
	work(s)
	return nil
}

func setup(s *Session) {
	file, err := os.Open(os.Getenv("SETUP"))
	must(err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		for _, f := range []string{"mysql", "mariadb"} {
			if rest, ok := strings.CutPrefix(text, f+": "); ok {
				if text = ""; f == flavour {
					text = rest
				}
			}
		}
		if text != "" && !strings.HasPrefix(text, "#") {
			_, err := s.Exec(text)
			must(err)
		}
	}
	must(lines.Err())
}

func run(c string, work func(*Session)) {
	current = c
	defer func() {
		if e := recover(); e != nil {
			if err, ok := e.(error); ok {
				say("%s", fault(err))
			} else {
				say("error %v", e)
			}
		}
	}()
	must(using(Options{}, work))
}

func main() {
	if clients[name] == nil {
		fmt.Fprintln(os.Stderr, "no such client:", name)
		os.Exit(2)
	}
	must(using(Options{}, setup))
	for _, c := range cases {
		run(c.name, c.work)
	}
	if name == "gorm" {
		run("model", func(*Session) { model() })
	}
}
