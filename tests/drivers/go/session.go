package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
)

// Options are what a case wants of its connection.
type Options struct {
	User, Password, Schema string
	Multi, Compress        bool
	Interpolate            bool
}

// Session is one connection, by whatever client.
type Session struct {
	Query    func(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	Exec     func(text string, args ...any) (affected int64, err error)
	Begin    func() error
	Commit   func() error
	Rollback func() error
	Close    func()
	Conn     *sql.Conn
}

func configuration(o Options) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", os.Getenv("DB_HOST")+":"+os.Getenv("DB_PORT")
	c.User, c.Passwd, c.DBName = os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD"), os.Getenv("DB_SCHEMA")
	if o.User != "" {
		c.User = o.User
	}
	if o.Password != "" {
		c.Passwd = o.Password
	}
	if o.Schema != "" {
		c.DBName = o.Schema
	}
	c.MultiStatements, c.InterpolateParams = o.Multi, o.Interpolate
	c.ParseTime = true
	c.Logger = log.New(io.Discard, "", 0)
	if o.Compress {
		if err := c.Apply(mysql.EnableCompression(true)); err != nil {
			panic(err)
		}
	}
	if os.Getenv("DB_TLS") == "on" {
		ca, err := os.ReadFile(os.Getenv("DB_CA"))
		if err != nil {
			panic(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		c.TLS = &tls.Config{RootCAs: roots, ServerName: os.Getenv("DB_HOST")}
	}
	return c
}

func pool(o Options) (*sql.DB, error) {
	connector, err := mysql.NewConnector(configuration(o))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func openSQL(o Options) (*Session, error) {
	db, err := pool(o)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		db.Close()
		return nil, err
	}
	var tx *sql.Tx
	s := &Session{Conn: conn}
	s.Query = func(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
		if tx != nil {
			return tx.QueryContext(ctx, text, args...)
		}
		return conn.QueryContext(ctx, text, args...)
	}
	s.Exec = func(text string, args ...any) (int64, error) {
		run := conn.ExecContext
		if tx != nil {
			run = tx.ExecContext
		}
		r, err := run(context.Background(), text, args...)
		if err != nil {
			return 0, err
		}
		return r.RowsAffected()
	}
	s.Begin = func() (err error) {
		tx, err = conn.BeginTx(context.Background(), nil)
		return err
	}
	s.Commit = func() error { err := tx.Commit(); tx = nil; return err }
	s.Rollback = func() error { err := tx.Rollback(); tx = nil; return err }
	s.Close = func() { conn.Close(); db.Close() }
	return s, nil
}

var clients = map[string]func(Options) (*Session, error){"go-sql-driver": openSQL, "gorm": openGorm}

func must(err error) {
	if err != nil {
		panic(fmt.Errorf("%w", err))
	}
}
