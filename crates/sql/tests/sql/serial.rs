//! Every interleaving of two or three transactions is one of their orders: sessions in process. The server's tests run
//! the same over the wire.

use crate::common::serial as scenarios;
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

struct InProcess<E: Engine>(Session<E>);

impl<E: Engine> scenarios::Client for InProcess<E> {
    fn run(&mut self, sql: &str) -> Result<Vec<String>, String> {
        let rows = crate::common::run(&mut self.0, sql).map_err(|error| error.code().as_str().to_owned())?;
        let line = |row: Vec<Option<String>>| {
            let values: Vec<String> =
                row.into_iter().map(|value| value.unwrap_or("null".to_owned())).collect();
            values.join("|")
        };
        Ok(rows.rows.into_iter().map(line).collect())
    }
}

fn interleaved_transactions_have_an_order<E: Engine>(db: Database<E>) {
    let mut clients: Vec<Box<dyn scenarios::Client>> = Vec::new();
    for _ in 0..3 {
        clients.push(Box::new(InProcess(crate::common::session(&db))));
    }
    let (schedules, commits) = scenarios::check_all(&mut clients);
    // not all is refused
    assert!(schedules > 500 && commits > schedules, "{schedules} schedules, {commits} commits");
}

on_each_engine! {
    interleaved_transactions_have_an_order,
}
