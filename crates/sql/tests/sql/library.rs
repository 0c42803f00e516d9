//! Tables of the library, told to SQL.

use crate::common::{acc, cicada, code, ok, session, text};
use scaledb_base::Error;
use scaledb_engine::{Engine, TableDef};
use scaledb_row::{Column, ColumnType, KeyPart, Schema};
use scaledb_sql::Database;

/// Memory runs out at any moment while a table is created: who hears of an error has no table, and makes it later; who
/// hears of none has one, and SQL has it too, or says why not.
fn a_table_is_made_or_is_not<E: Engine>(
    open: impl Fn() -> Database<E>,
    fail: impl Fn(&E, u64),
    has_failed: impl Fn(&E) -> bool,
) {
    let schema =
        || Schema::new(vec![Column::new("id", ColumnType::Int8)], &[KeyPart::asc(0)]).expect("a schema");
    let (mut refused, mut untold) = (0, 0);
    for after in 0.. {
        let db = open();
        let s = &mut session(&db);
        ok(s, "create table before (id int primary key)");
        fail(db.engine(), after);
        let made = db.create_table(TableDef::new("t", schema()));
        let whole = !has_failed(db.engine());
        match made {
            Ok(_) if db.absent("t").is_some() => {
                assert_eq!(code(s, "select * from t"), "42P01");
                untold += 1;
            }
            Ok(_) => assert_eq!(text(s, "select count(*) from t"), "0"),
            Err(error) => {
                assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
                assert!(db.engine().table("t").is_none(), "after {after} allocations");
                db.create_table(TableDef::new("t", schema())).expect("a table");
                assert_eq!(text(s, "select count(*) from t"), "0");
                refused += 1;
            }
        }
        // nothing else is in the way
        ok(s, "create table behind (id int primary key); insert into behind values (1)");
        if whole {
            break;
        }
    }
    assert!(refused > 0 && untold > 0, "{refused} {untold}");
}

#[test]
fn a_table_is_made_or_is_not_when_memory_runs_out() {
    a_table_is_made_or_is_not(
        acc,
        |engine, after| engine.memory().fail_allocations(after, u64::MAX),
        |engine| engine.memory().stop_failing(),
    );
    a_table_is_made_or_is_not(
        cicada,
        |engine, after| engine.memory().fail_allocations(after, u64::MAX),
        |engine| engine.memory().stop_failing(),
    );
}
