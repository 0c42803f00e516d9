//! Enum types beside other transactions, after a restart, in rows that are spilled, and as migrations change them.
//! What statements answer otherwise is in `slt/enums.sql`.

use crate::common::{code, failure, ok, opened, run, session, text};

use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;

const MOOD: &str = "create type mood as enum ('sad', 'ok', 'happy'); \
                    create table t (id int primary key, m mood); \
                    insert into t values (1, 'sad'), (2, 'happy')";

/// A label that comes while a transaction runs is none that it can read: it is to be run again.
fn a_new_label_is_no_surprise<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, MOOD);
    ok(&mut a, "begin; select count(*) from t where id = 1");
    ok(&mut b, "alter type mood add value 'fine' after 'ok'; insert into t values (3, 'fine')");
    match run(&mut a, "select m from t where id = 3") {
        // versions from before the row, or as if it had begun behind both
        Ok(rows) => {
            assert!(rows.rows.is_empty() || rows.rows == [[Some("fine".to_owned())]], "{:?}", rows.rows)
        }
        Err(error) => assert_eq!(error.code().as_str(), "40001"),
    }
    ok(&mut a, "rollback");
    assert_eq!(text(&mut a, "select m from t order by m"), "sad fine happy");
    // one that does not meet the label is not disturbed
    ok(&mut a, "begin; insert into t values (4, 'ok')");
    ok(&mut b, "alter type mood add value 'glad'");
    ok(&mut a, "select m from t where id = 1; commit");
    assert_eq!(text(&mut b, "select m from t order by m"), "sad ok fine happy");
}

/// What a transaction has read of a type, by its tables or by name, belongs to what its commit compares.
fn a_changed_type_is_noticed<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, MOOD);
    ok(&mut a, "create table log (what text)");
    let change =
        ["alter type mood rename value 'sad' to 'blue'", "alter type mood rename value 'blue' to 'sad'"];
    for (reads, change) in ["select m from t", "select 'ok'::mood"].into_iter().zip(change) {
        ok(&mut a, "begin");
        ok(&mut a, reads);
        ok(&mut a, "insert into log values ('read')");
        ok(&mut b, change);
        assert_eq!(code(&mut a, "commit"), "40001", "{reads}");
    }
    for change in ["alter type mood rename to humour", "alter type humour rename to mood"] {
        ok(&mut a, "begin; select m from t; insert into log values ('read')");
        ok(&mut b, change);
        assert_eq!(code(&mut a, "commit"), "40001", "{change}");
    }
    // and what it has not read does not
    ok(&mut a, "begin; insert into log values ('unread')");
    ok(&mut b, "alter type mood rename value 'sad' to 'blue'");
    ok(&mut a, "commit");
    assert_eq!(text(&mut b, "select * from log"), "unread");
}

/// Prepared statements and cached plans follow a change.
fn plans_follow<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, MOOD);
    ok(&mut a, "prepare p as select id from t where m > $1; prepare q (mood) as select $1::text");
    assert_eq!(text(&mut a, "execute p ('sad')"), "2");
    assert_eq!(text(&mut a, "execute q ('sad')"), "sad");
    ok(
        &mut b,
        "alter type mood rename value 'sad' to 'blue'; alter type mood add value 'dead' before 'blue'",
    );
    assert_eq!(code(&mut a, "execute p ('sad')"), "22P02");
    assert_eq!(text(&mut a, "execute p ('dead')"), "1 2");
    assert_eq!(text(&mut a, "execute q ('blue')"), "blue");
    // the type of a result is the same to a client
    ok(&mut a, "prepare r as select * from t order by m");
    assert_eq!(text(&mut a, "execute r"), "1|blue 2|happy");
    ok(&mut b, "alter type mood add value 'joyful'; insert into t values (3, 'joyful')");
    assert_eq!(text(&mut a, "execute r"), "1|blue 2|happy 3|joyful");
    ok(&mut b, "drop table t; drop type mood");
    assert!(run(&mut a, "execute p ('sad')").is_err());
    assert!(run(&mut a, "execute q ('sad')").is_err());
}

/// Sorts and hashes that do not fit into memory.
fn rows_with_labels_are_spilled<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, MOOD);
    ok(s, "create table wide (id int primary key, m mood, ms mood[])");
    ok(
        s,
        "insert into wide select i, (enum_range(null::mood))[1 + i % 3], \
         array[(enum_range(null::mood))[1 + i % 2], null] from generate_series(1, 6000) i",
    );
    let query = "select m, ms, count(*), min(id) from (select * from wide order by m desc, ms, id) w \
                 group by m, ms order by m, ms";
    let in_memory = text(s, query);
    let last = "select id, m, ms from wide order by m desc, ms desc, id desc limit 1 offset 5990";
    let last_in_memory = text(s, last);
    ok(s, "set work_mem = '64kB'");
    assert_eq!(text(s, query), in_memory);
    assert_eq!(text(s, last), last_in_memory);
}

/// The statements of TypeORM and Prisma for a type that loses a label, and of Sequelize and Drizzle for a new one.
fn migrations_get_through<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for _ in 0..2 {
        ok(
            s,
            "DO $$ BEGIN\n CREATE TYPE \"public\".\"user_role_enum\" AS ENUM('admin', 'editor', 'ghost');\n\
             EXCEPTION\n WHEN duplicate_object THEN null;\nEND $$;",
        );
    }
    ok(
        s,
        "DO 'BEGIN CREATE TYPE \"public\".\"user_role_enum\" AS ENUM(''x''); \
           EXCEPTION WHEN duplicate_object THEN null; END';",
    );
    ok(
        s,
        "CREATE TABLE \"user\" (\"id\" SERIAL NOT NULL, \
         \"role\" \"public\".\"user_role_enum\" NOT NULL DEFAULT 'ghost', \
         \"roles\" \"public\".\"user_role_enum\" array NOT NULL DEFAULT '{ghost,editor}', \
         CONSTRAINT \"PK\" PRIMARY KEY (\"id\"))",
    );
    ok(s, "INSERT INTO \"user\"(\"role\", \"roles\") VALUES ('admin', DEFAULT), (DEFAULT, '{admin}')");
    let migration = [
        "BEGIN",
        "ALTER TYPE \"public\".\"user_role_enum\" ADD VALUE 'guest'",
        "COMMIT",
        "UPDATE \"user\" SET \"role\" = 'guest' WHERE \"role\" = 'ghost'",
        "UPDATE \"user\" SET \"roles\" = array_replace(\"roles\", 'ghost', 'guest')",
        "BEGIN",
        "ALTER TYPE \"public\".\"user_role_enum\" RENAME TO \"user_role_enum_old\"",
        "CREATE TYPE \"public\".\"user_role_enum\" AS ENUM('admin', 'editor', 'guest')",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" DROP DEFAULT",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" TYPE \"public\".\"user_role_enum\" \
         USING \"role\"::\"text\"::\"public\".\"user_role_enum\"",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" SET DEFAULT 'guest'",
        "ALTER TABLE \"user\" ALTER COLUMN \"roles\" DROP DEFAULT",
        "ALTER TABLE \"user\" ALTER COLUMN \"roles\" TYPE \"public\".\"user_role_enum\"[] \
         USING \"roles\"::\"text\"::\"public\".\"user_role_enum\"[]",
        "ALTER TABLE \"user\" ALTER COLUMN \"roles\" SET DEFAULT '{guest}'",
        "DROP TYPE \"public\".\"user_role_enum_old\"",
        "COMMIT",
        // as Prisma does it
        "BEGIN",
        "CREATE TYPE \"Role_new\" AS ENUM ('guest', 'admin')",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" DROP DEFAULT",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" TYPE \"Role_new\" USING (\"role\"::text::\"Role_new\")",
        "ALTER TYPE \"Role_new\" RENAME TO \"Role\"",
        "ALTER TABLE \"user\" ALTER COLUMN \"role\" SET DEFAULT 'guest'",
        "COMMIT",
    ];
    for statement in migration {
        ok(s, statement);
    }
    ok(s, "INSERT INTO \"user\" DEFAULT VALUES");
    assert_eq!(
        text(s, "SELECT id, role, roles, pg_typeof(role) FROM \"user\" ORDER BY role, id"),
        "2|guest|{admin}|\"Role\" 3|guest|{guest}|\"Role\" 1|admin|{guest,editor}|\"Role\""
    );
}

/// A name that stands in a text follows where that is certain; else the change is refused and nothing has changed.
fn texts_follow_or_refuse<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create type mood as enum ('sad', 'ok')");
    ok(
        s,
        "create table t (id int primary key, m mood default 'sad'::mood check (m = any (enum_range('sad'::mood, null))), \
         n public.mood generated always as (case when id > 1 then 'ok'::mood end) stored)",
    );
    ok(s, "create view v as select id, m = 'sad'::mood as sad from t");
    ok(s, "create index i on t (id) where m > 'sad'");
    ok(s, "alter type mood rename to \"My Mood\"");
    ok(s, "insert into t (id) values (1), (2)");
    assert_eq!(text(s, "select * from t order by id"), "1|sad|NULL 2|sad|ok");
    assert_eq!(text(s, "select * from v order by id"), "1|t 2|t");
    ok(s, "alter type \"My Mood\" rename to mood");
    // the CHECK constraint has the label in it
    let error = failure(s, "alter type mood rename value 'sad' to 'blue'");
    assert_eq!(error.code().as_str(), "0A000", "{error}");
    assert_eq!(text(s, "select enum_range(null::mood)"), "{sad,ok}");
    // a name that is another one's, too
    ok(s, "create view w as select cast('ok' as mood) as mood");
    ok(s, "alter type mood rename to other");
    assert_eq!(text(s, "select mood, pg_typeof(mood) from w"), "ok|other");
    ok(s, "alter type other rename to mood; drop view w");
    // the name is in a text of a table without a column of the type
    ok(s, "create table cast_only (w text check (cast(w as mood) <> 'sad'))");
    ok(s, "alter type mood rename to other");
    assert_eq!(code(s, "insert into cast_only values ('sad')"), "23514");
    ok(s, "alter type other rename to mood; drop table cast_only");
    assert_eq!(code(s, "drop type mood"), "2BP01");
    ok(s, "alter table t drop constraint t_m_check");
    ok(s, "drop index i; drop view v");
    ok(s, "alter type mood rename value 'sad' to 'blue'");
    ok(s, "insert into t (id) values (3)");
    assert_eq!(text(s, "select m from t order by id"), "blue blue blue");
    ok(s, "alter table t drop column n");
    // rows have no labels in them, arrays included, and columns that were added neither
    ok(
        s,
        "create table a (id int primary key, ms mood[] unique); insert into a values (1, '{blue,null}'), (2, '{}')",
    );
    ok(
        s,
        "alter table a add column more mood[] default '{ok,blue}'; alter table a add column one mood default 'ok'",
    );
    ok(s, "alter table a alter column more drop default; alter table a alter column one drop default");
    ok(s, "alter type mood rename value 'ok' to 'well'; alter type mood rename value 'blue' to 'sad'");
    assert_eq!(text(s, "select * from a order by ms"), "2|{}|{well,sad}|well 1|{sad,NULL}|{well,sad}|well");
    assert_eq!(text(s, "select id from a where ms = '{sad,null}'"), "1");
    ok(s, "drop table a");
    ok(s, "drop type mood cascade");
    assert_eq!(text(s, "select * from t order by id"), "1 2 3");
}

/// A view, or a condition, that has a label in it would mean another one after two renames.
fn no_label_is_taken_for_another<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, MOOD);
    ok(s, "create view v as select id from t where m = 'sad'; create view above as select * from v");
    ok(s, "create view whole as select m from t; create view over as select * from whole where m = 'happy'");
    assert_eq!(code(s, "alter type mood rename value 'sad' to 'blue'"), "0A000");
    assert_eq!(code(s, "alter type mood rename value 'happy' to 'glad'"), "0A000");
    ok(s, "alter type mood rename value 'ok' to 'well'");
    assert_eq!(text(s, "select * from above"), "1");
    assert_eq!(text(s, "select * from over"), "happy");
    ok(s, "drop view above, v");
    ok(s, "alter type mood rename value 'sad' to 'ok'");
    ok(s, "create table c (w text check (w::mood <> 'ok'))");
    assert_eq!(code(s, "alter type mood rename value 'ok' to 'sad'"), "0A000");
    // views that do not show the column stay, those of other sessions, too
    ok(s, "create view ids as select id from t");
    let other = &mut session(&db);
    ok(other, "create temp view mine as select id from t");
    ok(s, "drop table c; drop type mood cascade");
    assert_eq!(text(other, "select * from mine order by id"), "1 2");
    assert_eq!(text(s, "select * from ids order by id"), "1 2");
    assert_eq!(code(s, "select * from over"), "42P01");
}

/// What the catalog keeps as text means the same whatever the search path of a session is.
fn texts_do_not_depend_on_the_path<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create type mood as enum ('sad', 'ok')");
    ok(
        s,
        "create table t (id int primary key, m mood default 'ok'::mood, j text check (j::mood = 'sad'), \
           g bool generated always as (m = 'ok'::mood) stored)",
    );
    ok(
        s,
        "create view v as select id, 'sad'::mood as c from t where m = 'ok'::mood; create view w as select * from v",
    );
    ok(s, "create index i on t (id) where m = 'ok'::mood");
    ok(s, "set search_path = ''");
    ok(s, "insert into public.t (id, j) values (1, 'sad'); update public.t set id = id + 1");
    assert_eq!(text(s, "select * from public.t"), "2|ok|sad|t");
    assert_eq!(text(s, "select * from public.v"), "2|sad");
    assert_eq!(text(s, "select * from public.w"), "2|sad");
    assert_eq!(code(s, "select 'sad'::mood"), "42704");
    assert_eq!(code(s, "select * from t"), "42P01");
    assert_eq!(code(s, "insert into public.t (id, j) values (2, 'ok')"), "23514");
    // temporary tables of the session are in its path, and not in that of the view
    ok(s, "create temp table t (id int); set search_path = 'pg_temp'");
    assert_eq!(text(s, "select * from public.w"), "2|sad");
    assert_eq!(code(s, "analyze w"), "42P01");
}

/// Labels between two others until none fits.
fn there_is_an_end_to_labels_between_two<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create type e as enum ('a', 'b')");
    let mut added = 0;
    let error = loop {
        match run(s, &format!("alter type e add value 'l{added}' before 'b'")) {
            Ok(_) => added += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.code().as_str(), added), ("54000", 40));
    ok(s, "alter type e add value 'z'; alter type e add value 'before' before 'a'");
    assert_eq!(
        text(s, "select 'before'::e < 'a', 'l38'::e < 'l39'::e, 'l39'::e < 'b', 'b'::e < 'z'"),
        "t|t|t|t"
    );
}

on_each_engine!(
    a_new_label_is_no_surprise,
    a_changed_type_is_noticed,
    plans_follow,
    rows_with_labels_are_spilled,
    migrations_get_through,
    texts_follow_or_refuse,
    no_label_is_taken_for_another,
    texts_do_not_depend_on_the_path,
    there_is_an_end_to_labels_between_two,
);

#[test]
fn types_are_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let db = opened(&disk);
    let s = &mut session(&db);
    ok(s, MOOD);
    ok(
        s,
        "create index on t (m); alter type mood add value 'fine' after 'ok'; insert into t values (3, 'fine')",
    );
    ok(s, "create type gone as enum ('x'); drop type gone; checkpoint");
    ok(s, "alter type mood rename value 'sad' to 'blue'; insert into t values (4, 'ok')");
    db.engine().close().expect("it is closed");
    drop(db);
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select id, m from t order by m"), "1|blue 4|ok 3|fine 2|happy");
    assert_eq!(text(s, "select id from t where m >= 'fine' order by id"), "2 3");
    assert_eq!(code(s, "select 'x'::gone"), "42704");
    // oids are not given again
    ok(s, "create type new as enum ('x', 'y')");
    assert_eq!(text(s, "select count(*) = count(distinct oid) from pg_type"), "t");
    assert_eq!(text(s, "select count(distinct oid) from pg_enum"), "6");
}
