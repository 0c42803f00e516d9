//! Extensions: sessions beside the one that adds or drops one, and what is left of them after a restart. What
//! statements answer is in `slt/extensions.sql`.

use crate::common::{code, ok, opened, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;

/// What a transaction has called must be there when it commits.
fn a_transaction_that_has_called_what_is_dropped_does_not_commit<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create extension pgcrypto; create table t (id int primary key, h bytea)");
    ok(a, "begin; insert into t values (1, digest('x', 'md5'))");
    ok(b, "drop extension pgcrypto; insert into t values (2, null)");
    assert_eq!(code(a, "commit"), "40001");
    assert_eq!(text(a, "select count(*) from t where h is not null"), "0");
    assert_eq!(code(a, "select digest('x', 'md5')"), "42883");
    // it is another one now
    ok(b, "create extension pgcrypto");
    assert_eq!(text(a, "select length(digest('x', 'md5'))"), "16");
}

/// Of two sessions that add an extension one does, and it is there once.
fn an_extension_is_added_once<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "begin; create extension \"uuid-ossp\"");
    ok(b, "create extension if not exists \"uuid-ossp\"");
    assert_eq!(code(a, "commit"), "40001");
    assert_eq!(text(a, "select count(*) from pg_extension where extname = 'uuid-ossp'"), "1");
    assert_eq!(text(a, "select count(*) from pg_proc where proname = 'uuid_nil'"), "1");
}

/// A plan that is kept follows what it calls.
fn plans_follow_an_extension<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create extension pgcrypto; prepare p as select length(digest('x', $1))");
    assert_eq!(text(a, "execute p('sha1')"), "20");
    ok(b, "drop extension pgcrypto");
    assert_eq!(code(a, "execute p('sha1')"), "42883");
    ok(b, "create extension pgcrypto");
    assert_eq!(text(a, "execute p('sha1')"), "20");
}

/// A hash of very many rounds ends with its statement.
fn a_long_hash_is_ended<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create extension pgcrypto; set statement_timeout = 50");
    assert_eq!(code(s, "select crypt('x', gen_salt('bf', 31))"), "57014");
    ok(s, "reset statement_timeout");
    // what its code promises is not for ALTER FUNCTION to say
    assert_eq!(code(s, "alter function crypt(text, text) called on null input"), "0A000");
    assert_eq!(code(s, "alter function gen_salt(text) immutable"), "0A000");
}

#[test]
fn extensions_are_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let db = opened(&disk);
    let s = &mut session(&db);
    ok(s, "create extension pgcrypto; create extension btree_gist; drop extension btree_gist");
    ok(
        s,
        "create schema own; create extension \"uuid-ossp\" schema own; comment on extension pgcrypto is 'kept'",
    );
    ok(
        s,
        "create table t (a text, h bytea generated always as (digest(a, 'sha1')) stored, id uuid default own.uuid_nil())",
    );
    ok(
        s,
        "create index on t (digest(a, 'md5')); insert into t values ('x'); checkpoint; insert into t values ('y')",
    );
    db.engine().close().expect("it is closed");
    drop(db);
    let db = opened(&disk);
    let s = &mut session(&db);
    ok(s, "insert into t values ('z')");
    assert_eq!(
        text(s, "select a from t where h = digest(a, 'sha1') and id = own.uuid_nil() order by a"),
        "x y z"
    );
    assert_eq!(text(s, "select a from t where digest(a, 'md5') = digest('y', 'md5')"), "y");
    assert_eq!(
        text(
            s,
            "select extname, obj_description(oid) from pg_extension where extname <> 'plpgsql' order by 1"
        ),
        "pgcrypto|kept uuid-ossp|generate universally unique identifiers (UUIDs)"
    );
    assert_eq!(code(s, "drop function uuid_nil()"), "42883");
    assert_eq!(code(s, "drop function own.uuid_nil()"), "2BP01");
    assert_eq!(code(s, "drop extension pgcrypto"), "2BP01");
    // oids are not given again
    ok(s, "create extension btree_gist");
    assert_eq!(
        text(
            s,
            "select count(*) = count(distinct oid) from (select oid from pg_extension union all select oid from pg_proc where oid >= 16384) as o"
        ),
        "t"
    );
    ok(s, "drop table t; drop schema own cascade; drop extension pgcrypto");
    assert_eq!(text(s, "select count(*) from pg_proc where prolang = 13"), "0");
}

on_each_engine! {
    a_transaction_that_has_called_what_is_dropped_does_not_commit,
    an_extension_is_added_once,
    plans_follow_an_extension,
    a_long_hash_is_ended,
}
