//! A rolling restart: each node is ended by SIGTERM and started again while clients work. They try again after
//! 40001, and connect to another node when theirs has ended; they are told nothing else.

use crate::{Trial, rounds};

fn roll(durable: bool) {
    if !crate::is_long() {
        return;
    }
    let Some(mut trial) = Trial::begin(durable) else { return };
    let load = trial.load();
    for _ in 0..rounds(1) {
        for node in 0..3 {
            load.progress(10);
            trial.nodes[node].signal("TERM");
            assert!(trial.nodes[node].ends(), "SIGTERM is no failure");
            trial.restart(node);
            trial.settle();
        }
    }
    load.progress(10);
    trial.check(load);
}

#[test]
fn a_rolling_restart_shows_clients_nothing_but_conflicts() {
    roll(true);
}

/// Each node comes back with nothing, and copies what it is to keep before the next one ends.
#[test]
fn a_rolling_restart_of_nodes_without_directories_loses_nothing() {
    roll(false);
}
