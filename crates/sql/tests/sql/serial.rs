//! Every interleaving of two or three transactions is one of their orders: sessions in process. The server's tests run
//! the same over the wire.

use crate::common::serial as scenarios;
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

struct InProcess<E: Engine> {
    session: Session<E>,
    /// Its blocks read a snapshot until they write.
    in_snapshots: bool,
}

impl<E: Engine> scenarios::Client for InProcess<E> {
    fn run(&mut self, sql: &str) -> Result<Vec<String>, String> {
        if self.in_snapshots && sql.starts_with("begin") {
            self.session.expect_conflicts();
        }
        let rows =
            crate::common::run(&mut self.session, sql).map_err(|error| error.code().as_str().to_owned())?;
        let line = |row: Vec<Option<String>>| {
            let values: Vec<String> =
                row.into_iter().map(|value| value.unwrap_or("null".to_owned())).collect();
            values.join("|")
        };
        Ok(rows.rows.into_iter().map(line).collect())
    }
}

fn all_have_an_order<E: Engine>(db: &Database<E>, in_snapshots: bool) {
    let mut clients: Vec<Box<dyn scenarios::Client>> = Vec::new();
    for _ in 0..3 {
        clients.push(Box::new(InProcess { session: crate::common::session(db), in_snapshots }));
    }
    let (schedules, commits) = scenarios::check_all(&mut clients);
    // not all is refused
    assert!(schedules > 500 && commits > schedules, "{schedules} schedules, {commits} commits");
}

fn interleaved_transactions_have_an_order<E: Engine>(db: Database<E>) {
    all_have_an_order(&db, false);
}

/// Only ACC: Cicada has no snapshot while others have transactions open.
#[test]
fn interleaved_blocks_that_begin_with_a_snapshot_have_an_order() {
    all_have_an_order(&crate::common::acc(), true);
}

on_each_engine! {
    interleaved_transactions_have_an_order,
}
