package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	driver "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

func gormOver(conn gorm.ConnPool) (*gorm.DB, error) {
	return gorm.Open(driver.New(driver.Config{Conn: conn}), &gorm.Config{Logger: logger.Discard})
}

func openGorm(o Options) (*Session, error) {
	s, err := openSQL(o)
	if err != nil {
		return nil, err
	}
	db, err := gormOver(s.Conn)
	if err != nil {
		s.Close()
		return nil, err
	}
	now := db
	s.Query = func(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
		return now.WithContext(ctx).Raw(text, args...).Rows()
	}
	s.Exec = func(text string, args ...any) (int64, error) {
		r := now.Exec(text, args...)
		return r.RowsAffected, r.Error
	}
	s.Begin = func() error { now = db.Begin(); return now.Error }
	s.Commit = func() error { err := now.Commit().Error; now = db; return err }
	s.Rollback = func() error { err := now.Rollback().Error; now = db; return err }
	return s, nil
}

type Item struct {
	ID     uint   `gorm:"primaryKey"`
	Name   string `gorm:"size:20;uniqueIndex"`
	Amount *int
	At     *time.Time
	Data   []byte
}

func (Item) TableName() string { return "model_items" }

func (i Item) String() string {
	return fmt.Sprintf("{%d %s %s %s %x}", i.ID, i.Name, show(i.Amount), show(i.At), i.Data)
}

func model() {
	db, err := pool(Options{})
	must(err)
	defer db.Close()
	g, err := gormOver(db)
	must(err)
	told := func(what string, r *gorm.DB, value any) {
		tell(what, fmt.Sprint(r.RowsAffected, " ", show(value)), r.Error)
	}

	tell("migrate", "ok", g.AutoMigrate(&Item{}))
	tell("migrate again", "ok", g.AutoMigrate(&Item{}))
	types, err := g.Migrator().ColumnTypes(&Item{})
	tell("columns", len(types), err)
	for _, t := range types {
		kind, _ := t.ColumnType()
		say("column %s %s", t.Name(), kind)
	}
	at, one := time.Unix(1e9, 5e8).UTC(), 1
	items := []Item{{Name: "a", Amount: &one}, {Name: "ü", At: &at, Data: []byte{0, 255}}}
	told("create", g.Create(&items), items)
	var found []Item
	told("find", g.Order("id").Find(&found), found)
	var first Item
	told("first", g.Where("name = ?", "a").First(&first), first)
	told("none", g.First(&Item{}, 99), nil)
	told("update", g.Model(&first).Updates(map[string]any{"amount": gorm.Expr("amount + ?", 4)}), nil)
	told("locked", g.Clauses(clause.Locking{Strength: "UPDATE"}).First(&first, first.ID), first)
	told("upsert", g.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Item{ID: 1, Name: "b"}), nil)
	told("duplicate", g.Create(&Item{Name: "b"}), nil)
	tell("nested", "ok", g.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Item{Name: "outer"}).Error; err != nil {
			return err
		}
		err := tx.Transaction(func(inner *gorm.DB) error {
			if err := inner.Create(&Item{Name: "inner"}).Error; err != nil {
				return err
			}
			return errors.New("undone")
		})
		say("inner: %v", err)
		return nil
	}))
	prepared := g.Session(&gorm.Session{PrepareStmt: true})
	for i := range 3 {
		var names []string
		told("prepared", prepared.Model(&Item{}).Where("id > ?", i).Order("id").Pluck("name", &names), names)
		var got int
		told("prepared lock", prepared.Raw("SELECT GET_LOCK(?, 0) + RELEASE_LOCK(?)", schema+".g", schema+".g").Scan(&got), got)
	}
	told("delete", g.Where("TRUE").Delete(&Item{}), nil)
}
