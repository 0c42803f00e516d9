// pgx: binary formats, statement cache, batches, COPY, simple protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

type test func(context.Context, *pgx.Conn) error

func equal[T comparable](found, expected T) error {
	if found != expected {
		return fmt.Errorf("%v instead of %v", found, expected)
	}
	return nil
}

func one[T any](ctx context.Context, c *pgx.Conn, sql string, args ...any) (T, error) {
	var value T
	err := c.QueryRow(ctx, sql, args...).Scan(&value)
	return value, err
}

func exec(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func expect(err error, code string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("no error %s: %v", code, err)
	}
	return equal(pg.Code, code)
}

var names = []string{}
var tests = map[string]test{}

func add(name string, f test) {
	names = append(names, name)
	tests[name] = f
}

func main() {
	add("select_one", func(ctx context.Context, c *pgx.Conn) error {
		n, err := one[int](ctx, c, "select 1")
		return errors.Join(err, equal(n, 1))
	})
	add("parameters_are_binary", func(ctx context.Context, c *pgx.Conn) error {
		var a int
		var b string
		var f float64
		err := c.QueryRow(ctx, "select $1::int, $2::text, $3::float8", 42, "é", 1.5).Scan(&a, &b, &f)
		return errors.Join(err, equal(a, 42), equal(b, "é"), equal(f, 1.5))
	})
	add("types_come_back", func(ctx context.Context, c *pgx.Conn) error {
		when := time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC)
		var t time.Time
		var list []int32
		var bytes []byte
		var null *string
		err := c.QueryRow(ctx, "select $1::timestamptz, $2::int4[], $3::bytea, $4::text", when, []int32{1, 2}, []byte{0, 255}, nil).
			Scan(&t, &list, &bytes, &null)
		if err != nil {
			return err
		}
		return errors.Join(equal(t.Equal(when), true), equal(len(list), 2), equal(string(bytes), "\x00\xff"), equal(null, nil))
	})
	add("statements_are_cached", func(ctx context.Context, c *pgx.Conn) error {
		for i := range 20 {
			n, err := one[int](ctx, c, "select $1::int + 1", i)
			if err = errors.Join(err, equal(n, i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	add("a_cached_statement_survives_its_table", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "create table pgx_k (id int primary key)", "insert into pgx_k values (1)"); err != nil {
			return err
		}
		if _, err := one[int](ctx, c, "select id from pgx_k where id = $1", 1); err != nil {
			return err
		}
		if err := exec(ctx, c, "alter table pgx_k add column v text"); err != nil {
			return err
		}
		n, err := one[int](ctx, c, "select id from pgx_k where id = $1", 1)
		return errors.Join(err, equal(n, 1), exec(ctx, c, "drop table pgx_k"))
	})
	add("waits_for_a_notification", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "listen pgx_news"); err != nil {
			return err
		}
		other, err := pgx.ConnectConfig(ctx, c.Config())
		if err != nil {
			return err
		}
		defer other.Close(ctx)
		if err := exec(ctx, other, "notify pgx_news, 'said'"); err != nil {
			return err
		}
		heard, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		return errors.Join(equal(heard.Channel, "pgx_news"), equal(heard.Payload, "said"), equal(heard.PID, other.PgConn().PID()))
	})
	add("ranges_come_back_as_they_went", func(ctx context.Context, c *pgx.Conn) error {
		given := pgtype.Range[int32]{Lower: 1, Upper: 5, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}
		found, err := one[pgtype.Range[int32]](ctx, c, "select $1::int4range", given)
		if err := errors.Join(err, equal(found, given)); err != nil {
			return err
		}
		open, err := one[pgtype.Range[pgtype.Timestamptz]](ctx, c, "select tstzrange(null, '2024-01-01 00:00:00+00', '[]')")
		if err := errors.Join(err, equal(open.LowerType, pgtype.Unbounded), equal(open.UpperType, pgtype.Inclusive)); err != nil {
			return err
		}
		empty, err := one[pgtype.Range[pgtype.Numeric]](ctx, c, "select 'empty'::numrange")
		return errors.Join(err, equal(empty.LowerType, pgtype.Empty))
	})
	add("batches_answer_in_order", func(ctx context.Context, c *pgx.Conn) error {
		batch := &pgx.Batch{}
		for i := range 100 {
			batch.Queue("select $1::int", i)
		}
		results := c.SendBatch(ctx, batch)
		defer results.Close()
		for i := range 100 {
			var n int
			if err := errors.Join(results.QueryRow().Scan(&n), equal(n, i)); err != nil {
				return err
			}
		}
		return results.Close()
	})
	add("transactions_commit_or_not", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "create table pgx_t (id int primary key)"); err != nil {
			return err
		}
		for i, end := range []func(pgx.Tx) error{
			func(tx pgx.Tx) error { return tx.Commit(ctx) },
			func(tx pgx.Tx) error { return tx.Rollback(ctx) },
		} {
			tx, err := c.Begin(ctx)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "insert into pgx_t values ($1)", i); err != nil {
				return err
			}
			if err := end(tx); err != nil {
				return err
			}
		}
		n, err := one[int](ctx, c, "select count(*) from pgx_t")
		return errors.Join(err, equal(n, 1), exec(ctx, c, "drop table pgx_t"))
	})
	add("serializable_and_savepoints", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "create table pgx_s (id int primary key)"); err != nil {
			return err
		}
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
		if err != nil {
			return err
		}
		inner, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := inner.Exec(ctx, "insert into pgx_s values (1)"); err != nil {
			return err
		}
		if err := errors.Join(inner.Rollback(ctx), tx.Commit(ctx)); err != nil {
			return err
		}
		n, err := one[int](ctx, c, "select count(*) from pgx_s")
		return errors.Join(err, equal(n, 0), exec(ctx, c, "drop table pgx_s"))
	})
	add("errors_carry_their_fields", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "create table pgx_e (id int primary key)", "insert into pgx_e values (1)"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "insert into pgx_e values ($1)", 1)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) {
			return fmt.Errorf("no error: %v", err)
		}
		return errors.Join(equal(pg.Code, "23505"), equal(pg.ConstraintName, "pgx_e_pkey"), equal(pg.TableName, "pgx_e"),
			exec(ctx, c, "drop table pgx_e"))
	})
	add("copies_are_binary", func(ctx context.Context, c *pgx.Conn) error {
		if err := exec(ctx, c, "create table pgx_c (id int, v text)"); err != nil {
			return err
		}
		rows := make([][]any, 1000)
		for i := range rows {
			rows[i] = []any{i, fmt.Sprint(i)}
		}
		n, err := c.CopyFrom(ctx, pgx.Identifier{"pgx_c"}, []string{"id", "v"}, pgx.CopyFromRows(rows))
		if err := errors.Join(err, equal(n, int64(1000))); err != nil {
			return err
		}
		var out strings.Builder
		if _, err := c.PgConn().CopyTo(ctx, &out, "copy pgx_c to stdout"); err != nil {
			return err
		}
		return errors.Join(equal(strings.Count(out.String(), "\n"), 1000), exec(ctx, c, "drop table pgx_c"))
	})
	add("a_query_is_cancelled", func(ctx context.Context, c *pgx.Conn) error {
		go func() {
			time.Sleep(300 * time.Millisecond)
			_ = c.PgConn().CancelRequest(ctx)
		}()
		_, err := c.Exec(ctx, "select count(*) from generate_series(1, 30000) a, generate_series(1, 30000) b")
		if err := expect(err, "57014"); err != nil {
			return err
		}
		n, err := one[int](ctx, c, "select 1")
		return errors.Join(err, equal(n, 1))
	})
	add("the_simple_protocol", func(ctx context.Context, c *pgx.Conn) error {
		n, err := one[int](ctx, c, "select $1::int", pgx.QueryExecModeSimpleProtocol, 7)
		return errors.Join(err, equal(n, 7))
	})
	add("exec_mode_without_prepare", func(ctx context.Context, c *pgx.Conn) error {
		n, err := one[int](ctx, c, "select $1::int", pgx.QueryExecModeExec, 7)
		return errors.Join(err, equal(n, 7))
	})
	add("many_rows_come", func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, "select n from generate_series(1, 20000) n")
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[int])
		return errors.Join(err, equal(len(all), 20000))
	})

	for _, name := range names {
		err := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			c, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable",
				os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGUSER"), os.Getenv("PGDATABASE")))
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			return tests[name](ctx, c)
		}()
		if err == nil {
			fmt.Println("pass pgx", name)
		} else {
			fmt.Println("fail pgx", name, strings.Join(strings.Fields(err.Error()), " "))
		}
	}
}
