//! Nodes that are killed: one, that comes back, and all together.

use crate::load::{count, run};
use crate::process::connect;
use crate::{Trial, client_of, rounds};
use postgres::{Client, NoTls};
use std::process::Command;

/// Twice: the second time, what the first one has left is read again.
#[test]
fn all_nodes_are_killed_and_come_back_with_all_that_was_answered() {
    let Some(mut trial) = Trial::begin(true) else { return };
    for _ in 0..rounds(2) {
        let load = trial.load();
        load.progress(20);
        trial.nodes.iter_mut().for_each(crate::Process::kill);
        // clients look for a node until they are told to end
        let history = load.end();
        assert!(history.answered() >= 40);
        trial.history.extend(history);
        trial.nodes = crate::NAMES.iter().map(|name| trial.cluster.durable_node(name)).collect();
        (0..3).for_each(|node| trial.is_back(node));
        trial.settle();
        for node in 0..3 {
            trial.check_at(node);
        }
    }
}

#[test]
fn a_node_is_killed_and_comes_back_and_nothing_that_was_answered_is_lost() {
    let Some(mut trial) = Trial::begin(false) else { return };
    for round in 0..rounds(1) {
        let (killed, other) = (round % 3, (round + 1) % 3);
        let load = trial.load();
        load.progress(20);
        let dead = trial.at.lock().unwrap()[killed];
        trial.nodes[killed].kill();
        trial.is_put_out();
        load.progress(20);
        // a client that knows several nodes finds one that lives
        let lives = trial.at.lock().unwrap()[other];
        let ports = format!("{},{}", dead.port(), lives.port());
        let session =
            format!("host=127.0.0.1,127.0.0.1 port={ports} user=scaledb target_session_attrs=read-write");
        assert!(count(&mut Client::connect(&session, NoTls).unwrap(), "moves") > 0);
        let arguments = [&format!("{session} dbname=postgres"), "-Atc", "select 'one of two'"];
        match Command::new("psql").args(arguments).output() {
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "one of two\n", "{output:?}"),
            Err(_) => eprintln!("SKIPPED: psql is not installed: it is not tested"),
        }
        // it comes back with nothing, and learns from the others while they go on
        trial.restart(killed);
        trial.settle();
        load.progress(20);
        trial.check(load);
    }
    let mut client = client_of(&trial.at, 2);
    run(&mut client, "CREATE TABLE later (id int4 PRIMARY KEY)").unwrap();
    run(&mut client, "INSERT INTO later VALUES (1)").unwrap();
    let back = trial.at.lock().unwrap()[0];
    let mut client = connect(back);
    assert_eq!(count(&mut client, "later"), 1);
    run(&mut client, "INSERT INTO later VALUES (2)").unwrap();
    assert_eq!(count(&mut client_of(&trial.at, 1), "later"), 2);
}
