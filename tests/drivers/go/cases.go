package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

var cases = []struct {
	name string
	work func(*Session)
}{
	{"connect", connect}, {"types", types}, {"prepared", prepared}, {"transactions", transactions}, {"errors", faults},
	{"big_packet", bigPacket}, {"big_result", bigResult}, {"multi_results", multiResults}, {"warnings", warnings},
	{"infile", infile}, {"compression", compression}, {"reconnect", reconnect}, {"lock", lock}, {"pool", pooled}, {"busy", busy},
}

func connect(s *Session) {
	s.told("version", "SELECT VERSION()")
	// With which cipher is for each pair to agree upon.
	ciphers, err := s.table("SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''")
	tell("TLS", ciphers != "", err)
	s.told("account", "SELECT CURRENT_USER()")
	s.listed("character set", "SELECT @@character_set_client AS c, @@character_set_results AS r, @@collation_connection AS x")
	tell("ping", "ok", s.Conn.PingContext(ctx))
	for _, o := range []Options{{Password: "wrong"}, {Schema: "nosuch"}, {User: "nosuch"}} {
		tell("wrong", "no error", using(o, func(other *Session) { other.told("in", "SELECT 1") }))
	}
}

func types(s *Session) {
	for _, t := range []string{"numbers", "texts", "bytes", "times", "durations", "others"} {
		r, err := s.Query(ctx, "SELECT * FROM "+t+" LIMIT 0")
		must(err)
		columns, err := r.ColumnTypes()
		must(err)
		for _, c := range columns {
			length, _ := c.Length()
			precision, scale, _ := c.DecimalSize()
			nullable, _ := c.Nullable()
			say("%s %s %s %d %d,%d %t %s", t, c.Name(), c.DatabaseTypeName(), length, precision, scale, nullable, c.ScanType())
		}
		must(r.Close())
		s.listed(t+" text", "SELECT * FROM "+t+" ORDER BY id")
		s.listed(t+" prepared", "SELECT * FROM "+t+" WHERE id > ? ORDER BY id", 0)
	}
}

func prepared(s *Session) {
	s.listed("sum", "SELECT ? + ? AS x", 1, 2)
	moment := time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC)
	for i, v := range []any{1, -1.5, "ü€😀", nil, true, []byte{0, 255, 39}, moment, uint64(1 << 63)} {
		s.listed(fmt.Sprintf("parameter %d", i), fmt.Sprintf("SELECT ? AS v%d, LENGTH( ?) AS l", i), v, v)
		must(using(Options{Interpolate: true}, func(other *Session) {
			other.listed(fmt.Sprintf("interpolated %d", i), fmt.Sprintf("SELECT ? AS v%d, LENGTH( ?) AS l", i), v, v)
		}))
	}
	kept, err := s.Conn.PrepareContext(ctx, "SELECT CONCAT(?) AS v")
	must(err)
	for _, v := range []any{1, "two", nil, 3.5} {
		r, err := kept.Query(v)
		tell("another type", "ok", rows(r, err, func(line string) { say("another type%s", line) }))
	}
	must(kept.Close())
	locks, err := s.Conn.PrepareContext(ctx, "SELECT GET_LOCK(?, ?), IS_USED_LOCK(?) = CONNECTION_ID(), RELEASE_LOCK(?)")
	must(err)
	for i := range 3 {
		lock := fmt.Sprint(schema, ".p", i)
		var got, mine, released any
		err := locks.QueryRow(lock, i, lock, lock).Scan(&got, &mine, &released)
		tell("lock", fmt.Sprint(got, mine, released), err)
	}
	must(locks.Close())
	s.done("insert", "INSERT INTO items (name, amount) VALUES (?, ?)", "p", 7)
	s.done("update", "UPDATE items SET amount = ? WHERE name = ?", 8, "p")
	s.done("delete", "DELETE FROM items WHERE name = ?", "p")
	s.told("syntax", "SELEC ?", 1)
	s.told("missing", "SELECT * FROM nosuch WHERE id = ?", 1)
	s.told("afterwards", "SELECT ?", "end")
}

func transactions(s *Session) {
	must(using(Options{}, func(other *Session) {
		must(s.Begin())
		s.done("insert", "INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)")
		other.told("not seen", "SELECT COUNT(*) FROM items")
		must(s.Rollback())
		s.told("rolled back", "SELECT COUNT(*) FROM items")
		must(s.Begin())
		s.done("insert", "INSERT INTO items (name, amount) VALUES (?, ?)", "a", 1)
		s.done("savepoint", "SAVEPOINT x")
		s.done("insert", "INSERT INTO items (name, amount) VALUES ('b', 2)")
		s.done("back", "ROLLBACK TO SAVEPOINT x")
		must(s.Commit())
		other.listed("committed", "SELECT name, amount FROM items ORDER BY name")
		other.done("patience", "SET SESSION innodb_lock_wait_timeout = 1")
		must(s.Begin())
		s.done("update", "UPDATE items SET amount = 5 WHERE name = 'a'")
		other.done("row lock", "UPDATE items SET amount = 6 WHERE name = 'a'")
		must(s.Rollback())
		s.done("empty", "DELETE FROM items")
	}))
}

func faults(s *Session) {
	s.done("first", "INSERT INTO items (id, name) VALUES (1, 'taken')")
	for _, text := range []string{
		"SELEC 1", "SELECT nosuch FROM items", "SELECT * FROM nosuch", "INSERT INTO items (name) VALUES ('taken')",
		"INSERT INTO items (name) VALUES (NULL)", "INSERT INTO items (name, amount) VALUES ('x', 5000)",
		"SELECT 1; SELECT 2", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321", "CALL nosuch()",
		"SELECT GET_LOCK(REPEAT('x', 65), 0)", "SELECT GET_LOCK()", "SELECT RELEASE_LOCK('nosuch')",
		"SELECT GET_LOCK(NULL, 0)", "DO RELEASE_LOCK('nosuch')", "KILL 4294967295", "", "SELECT (SELECT n FROM digits)",
		"SELECT 18446744073709551615 + 1",
	} {
		s.done(text, text)
		s.listed(text, text)
		t, err := s.table(text+" -- ?", 1)
		tell("prepared", t, err)
	}
	s.done("empty", "DELETE FROM items")
}

func bigPacket(s *Session) {
	data := make([]byte, 20<<20)
	for i := range data {
		data[i] = byte(i * 2654435761 >> 13)
	}
	say("sent = %x", sha256.Sum256(data))
	// With the blank, since GORM makes a parameter of each byte right after a parenthesis.
	s.listed("prepared", "SELECT SHA2( ?, 256) AS there, ? AS back", data, data)
	must(using(Options{Interpolate: true}, func(other *Session) {
		other.listed("text", "SELECT SHA2(b, 256) AS there, b AS back FROM (SELECT ? AS b) x", data)
	}))
	s.told("afterwards", "SELECT 1")
}

const many = `SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,
  IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f
  WHERE f.n < 2 ORDER BY id`

func bigResult(s *Session) {
	for _, args := range [][]any{nil, {2}} {
		text := many
		if args != nil {
			text = strings.Replace(many, "f.n < 2", "f.n < ?", 1)
		}
		sum, n := sha256.New(), 0
		r, err := s.Query(ctx, text, args...)
		err = rows(r, err, func(line string) { n++; io.WriteString(sum, line) })
		tell("streamed", fmt.Sprintf("%d %x", n, sum.Sum(nil)), err)
	}
	r, err := s.Query(ctx, many)
	must(err)
	r.Next()
	tell("left early", "ok", r.Close())
	s.told("afterwards", "SELECT 1")
}

func multiResults(*Session) {
	must(using(Options{Multi: true}, func(s *Session) {
		s.listed("statements", "SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2")
		s.listed("error between", "SELECT 1 AS a; SELECT nosuch; SELECT 3")
		s.listed("locks", fmt.Sprintf("SELECT GET_LOCK('%[1]s.m', 0) AS a; SELECT IS_USED_LOCK('%[1]s.m') = CONNECTION_ID() AS b; SELECT RELEASE_LOCK('%[1]s.m') AS c", schema))
		s.done("updates", "INSERT INTO items (name) VALUES ('m'), ('n'); DELETE FROM items")
		s.listed("call", "CALL results(3, @y)")
		s.told("out", "SELECT @y")
		s.listed("prepared call", "CALL results(?, @y)", 2)
		s.done("call", "CALL results(3, @y)")
	}))
}

func warnings(s *Session) {
	s.done("mode", "SET SESSION sql_mode = ''")
	s.done("insert", "INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))")
	s.listed("warnings", "SHOW WARNINGS")
	s.done("prepared", "INSERT INTO loaded VALUES (?, REPEAT('y', ?))", "12x", 30)
	// Prepared statements are closed on the way, which takes no warnings away.
	s.listed("warnings", "SHOW WARNINGS")
	s.done("no table", "DROP TABLE IF EXISTS nosuch")
	s.listed("warnings", "SHOW WARNINGS")
	s.done("empty", "DELETE FROM loaded")
}

func infile(s *Session) {
	var large strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&large, "%d,name %d\n", i, i)
	}
	for _, data := range []string{"1,eins\n2,zwölf\n3,\\N\n", "", large.String()} {
		mysql.RegisterReaderHandler("data", func() io.Reader { return strings.NewReader(data) })
		s.done("loaded", "LOAD DATA LOCAL INFILE 'Reader::data' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','")
		s.listed("rows", "SELECT COUNT(*) AS c, SUM(id) AS s, MAX(name) AS m, COUNT(name) AS n FROM loaded")
		s.done("empty", "DELETE FROM loaded")
	}
	s.done("no such reader", "LOAD DATA LOCAL INFILE 'Reader::nosuch' INTO TABLE loaded")
	s.told("afterwards", "SELECT 1")
}

func compression(*Session) {
	must(using(Options{Compress: true}, func(s *Session) {
		s.told("large", "SELECT REPEAT('x', 300000)")
		s.told("up", "SELECT LENGTH(?)", strings.Repeat("y", 300000))
		s.listed("many", "SELECT COUNT(*) AS c, SUM(a.n) AS s FROM digits a, digits b, digits c")
	}))
}

func reconnect(s *Session) {
	must(using(Options{}, func(victim *Session) {
		id, err := victim.value("SELECT CONNECTION_ID()")
		must(err)
		victim.told("locked", "SELECT GET_LOCK(?, 0)", schema+".k")
		s.told("held", "SELECT IS_USED_LOCK(?) = ?", schema+".k", id)
		s.done("kill", fmt.Sprintf("KILL %d", id))
		s.told("freed", "SELECT GET_LOCK(?, 10)", schema+".k")
		time.Sleep(100 * time.Millisecond)
		_, err = victim.value("SELECT 1")
		say("killed: %t", err != nil)
	}))
	must(using(Options{}, func(self *Session) {
		self.done("by itself", "KILL CONNECTION_ID()")
	}))
	db, err := pool(Options{})
	must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	// The pool notices that its connection is gone, and takes another one.
	for range 2 {
		var id, other int64
		must(db.QueryRow("SELECT CONNECTION_ID()").Scan(&id))
		s.done("kill", fmt.Sprintf("KILL %d", id))
		time.Sleep(100 * time.Millisecond)
		err := db.QueryRow("SELECT CONNECTION_ID()").Scan(&other)
		tell("another connection", other != id, err)
	}
}

func lock(a *Session) {
	lock := schema + ".lock"
	b, err := clients[name](Options{})
	must(err)
	defer b.Close()
	id, err := a.value("SELECT CONNECTION_ID()")
	must(err)
	// waits runs GET_LOCK in the background, for a while at least.
	waits := func(s *Session) chan string {
		done := make(chan string, 1)
		go func() {
			v, err := s.value("SELECT GET_LOCK(?, 30)", lock)
			if err != nil {
				done <- fault(err)
			}
			done <- show(v)
		}()
		time.Sleep(200 * time.Millisecond)
		return done
	}
	a.told("first", "SELECT GET_LOCK(?, 5)", lock)
	b.told("second at once", "SELECT GET_LOCK(?, 0)", lock)
	b.told("free", "SELECT IS_FREE_LOCK(?)", lock)
	user, err := b.value("SELECT IS_USED_LOCK(?)", lock)
	tell("used by first", fmt.Sprint(user) == fmt.Sprint(id), err)
	b.told("released by second", "SELECT RELEASE_LOCK(?)", lock)
	second := waits(b)
	a.told("released", "SELECT RELEASE_LOCK(?)", lock)
	say("second = %s", <-second)
	b.told("again", "SELECT GET_LOCK('"+lock+"', 0)")
	a.told("first at once", "SELECT GET_LOCK('"+lock+"', 0)")
	a.told("first after a second", "SELECT GET_LOCK(?, 1)", lock)
	first := waits(a)
	b.Close()
	say("first when second closed = %s", <-first)
	must(using(Options{}, func(c *Session) {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err := c.within(short, "SELECT GET_LOCK(?, 30)", lock)
		tell("cancelled", "", err)
	}))
	a.told("all", "SELECT RELEASE_ALL_LOCKS()")
	// The server may notice only after a while that the cancelled one is gone.
	a.told("nobody waits", "SELECT GET_LOCK(?, 10)", lock)
	a.told("released", "SELECT RELEASE_LOCK(?)", lock)
	a.told("none", "SELECT RELEASE_LOCK(?)", lock)
	a.listed("together", "SELECT GET_LOCK(?, 10) AS a, GET_LOCK(?, 0) AS b, RELEASE_ALL_LOCKS() AS n", lock+"1", lock+"2")
}

func busy(s *Session) {
	s.done("create", "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)")
	s.done("insert", "INSERT INTO busy (n) VALUES (0)")
	s.told("lock", "SELECT GET_LOCK(?, 5)", "busy")
	errors, over := 0, false
	for round := 0; round < 400 && !over; round++ {
		_, err := s.Exec("UPDATE busy SET n = n + ?", 1)
		if err == nil {
			var v any
			v, err = s.value("SELECT n > ? FROM busy", 510)
			over = err == nil && strings.Contains(show(v), "(1)")
		}
		if err != nil {
			errors++
		}
		time.Sleep(50 * time.Millisecond)
	}
	say("over: %t, one error at most: %t", over, errors < 2)
	s.told("mine", "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()")
	s.told("id", "SELECT id = LAST_INSERT_ID() FROM busy")
	s.told("released", "SELECT RELEASE_LOCK(?)", "busy")
	s.done("drop", "DROP TABLE busy")
}

func pooled(*Session) {
	db, err := pool(Options{})
	must(err)
	defer db.Close()
	db.SetMaxOpenConns(3)
	db.SetMaxIdleConns(2)
	var (
		all          sync.WaitGroup
		gate         sync.Mutex
		inside, most int
		good         int
	)
	for range 12 {
		all.Add(1)
		go func() {
			defer all.Done()
			conn, err := db.Conn(ctx)
			must(err)
			defer conn.Close()
			var got, released int
			must(conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 30)", schema+".pool").Scan(&got))
			gate.Lock()
			inside++
			most = max(most, inside)
			gate.Unlock()
			time.Sleep(5 * time.Millisecond)
			gate.Lock()
			inside--
			gate.Unlock()
			must(conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", schema+".pool").Scan(&released))
			gate.Lock()
			good += got * released
			gate.Unlock()
		}()
	}
	all.Wait()
	say("%d turns, at most %d inside, %d open at most", good, most, db.Stats().MaxOpenConnections)
	sum := 0
	for i := range 50 {
		var v int
		must(db.QueryRow("SELECT ?", i).Scan(&v))
		sum += v
	}
	say("sum %d", sum)
}
