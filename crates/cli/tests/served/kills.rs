//! A server that is killed at any moment, again and again: what it answered is there when it is started again, sums are
//! right, and no value of a sequence comes twice.

use crate::process::{Server, connect, is_conflict, scaledb};
use postgres::{Client, Error};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const ACCOUNTS: i32 = 20;
const CLIENTS: usize = 4;
/// Tables that are made while the server is killed.
const TABLES: i64 = 60;

/// What a client of a killed server knows.
struct Told {
    /// The last number that was answered.
    number: i64,
    /// The largest ticket that was seen.
    ticket: i64,
}

/// One unit of work of each kind of client: a transfer and a row that carries `number`, committed together.
fn work(client: &mut Client, kind: usize, number: i64, random: &mut SmallRng) -> Result<(), Error> {
    let from = random.random_range(1..=ACCOUNTS);
    let to = from % ACCOUNTS + 1;
    let kind_id = kind as i32;
    match kind {
        // a block, statement by statement
        0 => {
            let mut txn = client.transaction()?;
            txn.execute("update accounts set balance = balance - 1 where id = $1", &[&from])?;
            txn.execute("update accounts set balance = balance + 1 where id = $1", &[&to])?;
            txn.execute("insert into done (client, number) values ($1, $2)", &[&kind_id, &number])?;
            txn.commit()
        }
        // statements that arrive together
        1 => client.batch_execute(&format!(
            "update accounts set balance = balance - 1 where id = {from}; \
             update accounts set balance = balance + 1 where id = {to}; \
             insert into done (client, number) values ({kind}, {number})"
        )),
        // a change of the catalog; with enough tables, a single statement as below
        3 if number <= TABLES => client.batch_execute(&format!(
            "begin; create table made_{number} (id serial primary key, n int check (n > 0)); \
             insert into made_{number} (n) values ({}); insert into done (client, number) values ({kind}, {number}); \
             commit",
            number + 1
        )),
        // single statements, by the extended protocol
        _ => client
            .execute(
                "with moved as (select $2::bigint as number) insert into done (client, number) select $1::int, number \
                 from moved",
                &[&kind_id, &number],
            )
            .map(|_| ()),
    }
}

/// Works until the server is gone.
fn run(mut client: Client, kind: usize, told: &mut Told, seed: u64, answers: &AtomicU64) {
    let mut random = SmallRng::seed_from_u64(seed);
    loop {
        match work(&mut client, kind, told.number + 1, &mut random) {
            Ok(()) => {
                told.number += 1;
                answers.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if is_conflict(&error) => {
                // a block that was sent at once is still open
                if client.batch_execute("rollback").is_err() {
                    return;
                }
                continue;
            }
            Err(error) if error.as_db_error().is_none() => return,
            Err(error) => panic!("client {kind}: {error:?}"),
        }
        if kind == 2 {
            match client.query_one("select nextval('tickets')", &[]) {
                Ok(row) => {
                    let ticket: i64 = row.get(0);
                    assert!(ticket > told.ticket, "ticket {ticket} after {}", told.ticket);
                    told.ticket = ticket;
                }
                Err(_) => return,
            }
        }
    }
}

fn set_up(server: &Server) {
    server
        .client()
        .batch_execute(&format!(
            "create table accounts (id int primary key, balance bigint not null);
             create table done (client int, number bigint, at timestamptz default now(), primary key (client, number));
             create index done_at on done (at);
             create view total as select sum(balance)::bigint as sum from accounts;
             create sequence tickets;
             insert into accounts select i, 100 from generate_series(1, {ACCOUNTS}) i;"
        ))
        .expect("tables");
}

/// Everything that was answered is there, and nothing else but the one thing that each client was waiting for.
fn check(client: &mut Client, told: &mut [Told]) {
    let sum: i64 = client.query_one("select sum from total", &[]).expect("a view").get(0);
    assert_eq!(sum, i64::from(ACCOUNTS) * 100);
    for (kind, told) in told.iter_mut().enumerate() {
        let sql = "select count(*), coalesce(max(number), 0) from done where client = $1";
        let row = client.query_one(sql, &[&(kind as i32)]).expect("rows");
        let (count, last): (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(count, last, "client {kind}: a number is missing");
        assert!(last >= told.number, "client {kind} was told of {}, and {last} is the last", told.number);
        assert!(last <= told.number + 1, "client {kind} was told of {}, and {last} is the last", told.number);
        told.number = last;
    }
    for number in 1..=told[3].number.min(TABLES) {
        let n: i32 =
            client.query_one(&format!("select n from made_{number} where id = 1"), &[]).expect("it").get(0);
        assert_eq!(i64::from(n), number + 1);
    }
    if told[0].number > 0 {
        let failed = client.execute("insert into done values (0, 1)", &[]).expect_err("the key is taken");
        assert_eq!(failed.code().map(|code| code.code()), Some("23505"));
    }
}

#[test]
fn a_killed_server_loses_nothing_that_it_answered() {
    kill_again_and_again("acc");
}

#[test]
fn a_killed_server_with_the_other_engine_loses_nothing_that_it_answered() {
    kill_again_and_again("cicada");
}

fn kill_again_and_again(engine: &str) {
    let kills = std::env::var("SCALEDB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let directory = tempfile::tempdir().expect("a directory");
    let mut random = SmallRng::seed_from_u64(std::process::id().into());
    let mut told: Vec<Told> = (0..CLIENTS).map(|_| Told { number: 0, ticket: 0 }).collect();
    let mut server = Server::start_engine(engine, directory.path(), &[]);
    set_up(&server);
    for kill in 0..kills {
        let (enough, seed) = (random.random_range(40..300), random.random());
        let answers = &AtomicU64::new(0);
        thread::scope(|scope| {
            let running: Vec<_> = told
                .iter_mut()
                .enumerate()
                .map(|(kind, told)| {
                    let client = server.client();
                    scope.spawn(move || run(client, kind, told, seed, answers))
                })
                .collect();
            let mut other = server.client();
            // one that ends before the server does has something to say
            while answers.load(Ordering::Relaxed) < enough
                && !running.iter().any(|client| client.is_finished())
            {
                thread::sleep(Duration::from_millis(1));
            }
            if kill % 2 == 1 {
                // perhaps in the midst of a checkpoint
                scope.spawn(move || other.batch_execute("checkpoint").ok());
            }
            thread::sleep(Duration::from_millis(random.random_range(0..30)));
            server.kill();
        });
        server = Server::start_engine(engine, directory.path(), &[]);
        check(&mut server.client(), &mut told);
    }
}

#[test]
fn a_backup_of_a_database_that_is_served_can_be_served() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let server = Server::start(&data, &[]);
    let mut client = server.client();
    client.batch_execute("create table t (id serial primary key, n int); checkpoint").expect("a table");
    client.batch_execute("insert into t (n) select i from generate_series(1, 500) i").expect("rows");
    thread::scope(|scope| {
        let address = server.address();
        let writer = scope.spawn(move || {
            let mut client = connect(address);
            for n in 0..50 {
                client.execute("insert into t (n) values ($1)", &[&n]).expect("a row");
            }
        });
        let done = scaledb().arg("backup").args([&data, &copy]).output().expect("backup runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        writer.join().expect("the writer ends");
    });
    let copied = Server::start(&copy, &[]);
    let mut client = copied.client();
    let count: i64 = client.query_one("select count(*) from t where id <= 500", &[]).expect("rows").get(0);
    assert_eq!(count, 500);
    client.batch_execute("insert into t (n) values (7)").expect("a row");
}
