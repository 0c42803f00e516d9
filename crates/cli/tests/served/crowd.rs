//! More clients than the engine has workers.

use crate::process::{Server, is_conflict};
use std::sync::Barrier;
use std::thread;

const CLIENTS: i32 = 300;
const ROUNDS: i32 = 3;

#[test]
fn three_hundred_clients_have_transactions_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::start(directory.path(), &[]);
    let mut first = server.client();
    first
        .batch_execute(&format!(
            "create table counters (id int primary key, n int not null);
             create table entries (id serial primary key, client int references counters, round int);
             insert into counters select i, 0 from generate_series(0, {CLIENTS}) i"
        ))
        .expect("tables");
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.client()).collect();
    let (open, done) = (Barrier::new(CLIENTS as usize), Barrier::new(CLIENTS as usize));
    thread::scope(|scope| {
        for (id, mut client) in clients.into_iter().enumerate() {
            let (id, open, done) = (id as i32, &open, &done);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut first = true;
                    loop {
                        let mut work = || {
                            let mut txn = client.transaction()?;
                            if std::mem::take(&mut first) {
                                // all are in a transaction block
                                open.wait();
                            }
                            let sql = "select n from counters where id = $1";
                            let n: i32 = txn.query_one(sql, &[&id])?.get(0);
                            assert_eq!(n, round);
                            txn.execute("update counters set n = n + 1 where id = $1", &[&id])?;
                            let sql = "insert into entries (client, round) values ($1, $2)";
                            txn.execute(sql, &[&id, &round])?;
                            txn.commit()
                        };
                        match work() {
                            Ok(()) => break,
                            Err(error) if is_conflict(&error) => {}
                            Err(error) => panic!("client {id}: {error:?}"),
                        }
                    }
                    done.wait();
                }
            });
        }
    });
    let sum =
        |sql: &str, client: &mut postgres::Client| -> i64 { client.query_one(sql, &[]).expect(sql).get(0) };
    assert_eq!(sum("select sum(n) from counters", &mut first), i64::from(CLIENTS * ROUNDS));
    assert_eq!(sum("select count(distinct id) from entries", &mut first), i64::from(CLIENTS * ROUNDS));
    // while all of them hold their connections, a checkpoint finds the workers that it needs
    first.batch_execute("checkpoint").expect("a checkpoint");
}
