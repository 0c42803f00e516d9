//! Single statements in process and over a loopback connection: what is added is in the table.

use scaledb_acc::{Acc, Config};
use scaledb_server::{Server, Sql};
use scaledb_sql::Database;
use scaledb_sqlbench::point::{Points, Statement, create, total};
use scaledb_sqlbench::{Client, Embedded, Wire};
use scaledb_workloads::driver::{Attempt, Connected};

const RECORDS: u32 = 100;

fn database() -> Database<Acc> {
    Database::open(Acc::open(Config::default()).expect("an engine")).expect("a database")
}

fn run<C: Client>(mut first: C, second: C) {
    create(&mut first, RECORDS).unwrap();
    let mut select = Points::new(first, Statement::Select, RECORDS, 7, 0).unwrap();
    let mut update = Points::new(second, Statement::Update, RECORDS, 7, 1).unwrap();
    for now in 0..1_000 {
        assert_eq!((select.prepare(now), update.prepare(now)), (0, 1));
        assert_eq!(select.attempt().unwrap(), Attempt::Committed);
        assert_eq!(update.attempt().unwrap(), Attempt::Committed);
    }
    assert!(select.brought() == 0 && update.brought() != 0);
    assert_eq!(total(&mut select.into_client()).unwrap(), update.brought());
}

#[test]
fn updates_are_neither_lost_nor_doubled_in_process() {
    let database = database();
    run(Embedded::new(&database), Embedded::new(&database));
}

#[test]
fn updates_are_neither_lost_nor_doubled_over_the_wire() {
    let config = scaledb_server::Config {
        listen: vec![(std::net::Ipv4Addr::LOCALHOST, 0).into()],
        ..scaledb_server::Config::default()
    };
    let server = Server::start(config, Sql::new(database())).unwrap();
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    run(Wire::connect(&parameters).unwrap(), Wire::connect(&parameters).unwrap());
    server.stop();
}
