//! TPC-C through SQL, in process and over a loopback connection: the run keeps the twelve conditions, and the
//! conditions see what is broken.

use scaledb_acc::{Acc, Config};
use scaledb_pgwire::Verifier;
use scaledb_server::{Rule, Server, Sql, Verdict};
use scaledb_sql::Database;
use scaledb_sqlbench::Param::{self, Cents, Int, Text};
use scaledb_sqlbench::tpcc::{CLASSES, Terminal, check, create, load};
use scaledb_sqlbench::{Client, Embedded, Failure, Rows, Wire};
use scaledb_workloads::driver::{Attempt, Connected, Options, run_connected};
use scaledb_workloads::tpcc::{Condition, Inputs, Mix, Scale};
use std::time::Duration;

const SCALE: Scale = Scale { warehouses: 2, items: 200, customers: 40 };

fn database() -> Database<Acc> {
    Database::open(Acc::open(Config::default()).expect("an engine")).expect("a database")
}

fn loaded<C: Client>(clients: &mut [C]) {
    create(&mut clients[0]).unwrap();
    load(clients, SCALE, 7).unwrap();
}

fn assert_consistent<C: Client>(client: &mut C) {
    let conditions = check(client, SCALE).unwrap();
    assert_eq!(conditions.len(), 12);
    for condition in &conditions {
        assert!(condition.holds() && condition.checked >= 2, "{condition:?}");
    }
}

fn count<C: Client>(client: &mut C, sql: &str) -> i64 {
    let mut rows = Rows::default();
    client.query(sql, &mut rows).unwrap();
    rows.answer(0).int(0, 0).unwrap()
}

/// Each terminal runs so many transactions on a thread of its own: the outcome does not depend on time.
fn run<C: Client>(clients: Vec<C>, transactions: usize) -> Vec<C> {
    let of = clients.len();
    let terminals = clients
        .into_iter()
        .enumerate()
        .map(|(number, client)| Terminal::new(client, Inputs::new(SCALE, Mix::Full, 7, number, of)).unwrap());
    let terminals: Vec<_> = terminals.collect();
    let work = |mut terminal: Terminal<C>| {
        let mut ended = [0; CLASSES.len()];
        for now in 0..transactions {
            let class = terminal.prepare(now as i64);
            while let Attempt::Conflict(_) = terminal.attempt().unwrap() {}
            ended[class] += 1;
        }
        assert!(ended.iter().all(|&n| n > 0), "each class has its turn: {ended:?}");
        terminal.into_client()
    };
    scaledb_sync::thread::scope(|scope| {
        let threads: Vec<_> =
            terminals.into_iter().map(|terminal| scope.spawn(move || work(terminal))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn run_and_check<C: Client>(mut clients: Vec<C>) {
    loaded(&mut clients);
    assert_consistent(&mut clients[0]);
    let orders = count(&mut clients[0], "SELECT count(*) FROM orders");
    assert_eq!(orders, 2 * 10 * 40);
    let mut clients = run(clients, 300);
    assert_consistent(&mut clients[0]);
    let new = count(&mut clients[1], "SELECT count(*) FROM orders") - orders;
    // 45 % of 600, of which 1 % roll back
    assert!((250..=270).contains(&new), "{new} orders");
    assert!(count(&mut clients[1], "SELECT count(*) FROM history WHERE h_c_w_id <> h_w_id") > 0);
    assert!(count(&mut clients[1], "SELECT sum(s_remote_cnt) FROM stock") > 0);
}

#[test]
fn embedded_sessions_keep_the_conditions() {
    let database = database();
    run_and_check((0..2).map(|_| Embedded::new(&database)).collect());
}

#[test]
fn connections_keep_the_conditions() {
    let config = scaledb_server::Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        ..scaledb_server::Config::default()
    };
    let server = Server::start(config, Sql::new(database())).unwrap();
    let parameters = format!("host=127.0.0.1 port={} user=bench", server.addresses()[0].port());
    run_and_check((0..2).map(|_| Wire::connect(&parameters).unwrap()).collect());
    server.stop();
}

#[test]
fn connections_prove_who_the_user_is() {
    let mut config = scaledb_server::Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        ..scaledb_server::Config::default()
    };
    config.users.insert("ann".to_owned(), Verifier::of("secret").unwrap());
    config.rules =
        vec![Rule { users: vec!["bob".to_owned()], ..Rule::of(Verdict::Password) }, Rule::of(Verdict::Scram)];
    config.users.insert("bob".to_owned(), Verifier::of("hidden").unwrap());
    let server = Server::start(config, Sql::new(database())).unwrap();
    let port = server.addresses()[0].port();
    let login = |rest: &str| Wire::connect(&format!("host=127.0.0.1 port={port} {rest}")).map(drop);
    login("user=ann password=secret").unwrap();
    login("user=bob password=hidden").unwrap();
    assert_eq!(login("user=ann password=Secret").unwrap_err().code(), Some("28P01"));
    assert!(matches!(login("user=ann"), Err(Failure::Connection(_))));
    assert!(matches!(login(""), Err(Failure::Connection(_))));
    server.stop();
}

#[test]
fn a_batch_ends_at_its_first_error() {
    let config = scaledb_server::Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        ..scaledb_server::Config::default()
    };
    let database = database();
    let mut embedded = Embedded::new(&database);
    embedded.script("CREATE TABLE t (k integer PRIMARY KEY, v numeric(12,2) NOT NULL)").unwrap();
    let server = Server::start(config, Sql::new(database)).unwrap();
    let parameters = format!("host=127.0.0.1 port={} user=bench", server.addresses()[0].port());
    let mut wire = Wire::connect(&parameters).unwrap();
    fails_at_its_first_error(&mut embedded, 0);
    fails_at_its_first_error(&mut wire, 10);
    drop(wire);
    server.stop();
}

fn fails_at_its_first_error<C: Client>(client: &mut C, base: i64) {
    const TEXTS: [&str; 5] = [
        "BEGIN",
        "INSERT INTO t VALUES ($1, $2)",
        "UPDATE t SET v = v / $2 WHERE k = $1 RETURNING v",
        "COMMIT",
        "ROLLBACK",
    ];
    client.prepare(&TEXTS).unwrap();
    let mut rows = Rows::default();
    let mut batch = |statements: &[(usize, &[Param<'_>])]| {
        for (statement, params) in statements {
            client.ask(*statement, params).unwrap();
        }
        let done = client.answers(&mut rows);
        done.map(|()| (rows.answer(2).affected(), rows.answer(2).decimal(0, 0).ok()))
    };
    let row = [Int(base), Cents(600)];
    let (two, zero) = ([Int(base), Cents(200)], [Int(base), Cents(0)]);
    let failed = batch(&[(0, &[]), (1, &row), (2, &zero), (3, &[])]);
    assert_eq!(failed.unwrap_err().code(), Some("22012"));
    batch(&[(4, &[])]).unwrap();
    // nothing is left of the batch that failed, and what did not fit its statement was not asked
    assert_eq!(batch(&[(0, &[]), (1, &row), (2, &two), (3, &[])]).unwrap(), (1, Some(30_000)));
    assert!(client.ask(1, &[Text("a")]).is_err());
    assert_eq!(count(client, "SELECT count(*) FROM t"), base / 10 + 1);
}

#[test]
fn the_driver_counts_what_the_database_holds() {
    let database = database();
    let mut clients: Vec<_> = (0..2).map(|_| Embedded::new(&database)).collect();
    loaded(&mut clients);
    let terminals = clients.into_iter().enumerate();
    let terminals = terminals
        .map(|(number, client)| {
            Terminal::new(client, Inputs::new(SCALE, Mix::NewOrderPayment, 9, number, 2)).unwrap()
        })
        .collect();
    let options = Options {
        threads: 2,
        warmup: Duration::ZERO,
        measured: Duration::from_secs(2),
        pin: false,
        asynchronous: false,
    };
    let stats = || scaledb_engine::Engine::stats(database.engine());
    let (report, terminals) =
        run_connected("acc", &CLASSES, terminals, &options, Some(&stats), |_| {}).unwrap();
    let mut clients: Vec<_> = terminals.into_iter().map(Terminal::into_client).collect();
    // what ran before the counting began is not in the report
    let orders = count(&mut clients[0], "SELECT count(*) FROM orders WHERE o_id > 40") as u64;
    let payments = count(&mut clients[0], "SELECT count(*) FROM history") as u64 - 2 * 10 * 40;
    assert!(report.classes[0].commits > 0 && report.classes[0].commits <= orders);
    assert!(report.classes[1].commits > 0 && report.classes[1].commits <= payments);
    assert_consistent(&mut clients[0]);
}

#[test]
fn each_condition_sees_what_breaks_it() {
    let mut client = Embedded::new(&database());
    loaded(std::slice::from_mut(&mut client));
    let cases: [(&str, &[usize]); 12] = [
        ("UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2", &[1, 8]),
        ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3", &[2]),
        ("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 35", &[3, 5, 11]),
        ("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 40", &[4, 6]),
        ("UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 40", &[5, 7]),
        (
            "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 40 AND ol_number = 1",
            &[4, 6],
        ),
        (
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 1",
            &[7],
        ),
        ("DELETE FROM history WHERE h_w_id = 2 AND h_d_id = 1 AND h_c_id = 1", &[8, 9, 10]),
        ("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 3", &[1, 9]),
        (
            "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_id = 3 AND c_d_id = 1",
            &[10, 12],
        ),
        ("UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_id = 3 AND c_d_id = 1", &[11]),
        ("UPDATE customer SET c_ytd_payment = 0 WHERE c_w_id = 2 AND c_id = 3 AND c_d_id = 1", &[12]),
    ];
    for (damage, broken) in cases {
        let copy = Embedded::new(&database());
        let mut copy = [copy];
        loaded(&mut copy);
        copy[0].script(damage).unwrap();
        let conditions = check(&mut copy[0], SCALE).unwrap();
        let failed: Vec<usize> = conditions.iter().filter(|c| !c.holds()).map(|c| c.number).collect();
        assert_eq!(failed, broken, "{damage}");
        let at: Vec<_> = conditions.iter().filter_map(|c: &Condition| c.detail.as_deref()).collect();
        assert!(at.iter().all(|at| *at == "warehouse 2"), "{at:?}");
    }
    assert_consistent(&mut client);
}

#[test]
fn errors_that_are_no_conflicts_end_the_run() {
    let mut clients = [Embedded::new(&database())];
    loaded(&mut clients);
    clients[0].script("DROP TABLE history").unwrap();
    let [client] = clients;
    let failed = Terminal::new(client, Inputs::new(SCALE, Mix::Full, 7, 0, 1));
    assert_eq!(failed.err().as_ref().and_then(Failure::code), Some("42P01"));
}
