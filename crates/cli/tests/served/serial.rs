//! Every interleaving of two or three transactions is one of their orders: over the wire.

use crate::process::Server;
use postgres::{Client, SimpleQueryMessage};

#[path = "../../../sql/tests/sql/common/serial.rs"]
mod scenarios;

struct OverTheWire(Client);

impl scenarios::Client for OverTheWire {
    fn run(&mut self, sql: &str) -> Result<Vec<String>, String> {
        let answer = self.0.simple_query(sql).map_err(|error| {
            let code = error.code().unwrap_or_else(|| panic!("{sql}: {error}"));
            code.code().to_owned()
        })?;
        let line = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let values: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or("null")).collect();
                Some(values.join("|"))
            }
            _ => None,
        };
        Ok(answer.into_iter().filter_map(line).collect())
    }
}

fn interleaved_transactions_have_an_order(engine: &str) {
    let server = Server::configured(&format!("engine = \"{engine}\""));
    let mut clients: Vec<Box<dyn scenarios::Client>> = Vec::new();
    for _ in 0..3 {
        clients.push(Box::new(OverTheWire(server.client())));
    }
    let (schedules, commits) = scenarios::check_all(&mut clients);
    assert!(schedules > 500 && commits > schedules, "{schedules} schedules, {commits} commits");
}

#[test]
fn interleaved_transactions_have_an_order_on_acc() {
    interleaved_transactions_have_an_order("acc");
}

#[test]
fn interleaved_transactions_have_an_order_on_cicada() {
    interleaved_transactions_have_an_order("cicada");
}
