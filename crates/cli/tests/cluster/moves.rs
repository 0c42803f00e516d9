//! Replicas move while a node is killed: it may be one that learns, one that is learned from, or the leader.

use crate::{Trial, rounds};
use std::process::Stdio;

#[test]
fn a_node_is_killed_while_another_is_drained_and_nothing_that_was_answered_is_lost() {
    if !crate::is_long() {
        return;
    }
    let Some(mut trial) = Trial::begin(false) else { return };
    let url = trial.cluster.url.clone();
    for round in 0..rounds(1) {
        let (drained, killed) = (crate::NAMES[round % 3], (round + 1 + round / 3 % 2) % 3);
        let load = trial.load();
        load.progress(10);
        // the note stays in the store, whatever becomes of the command and of those that act on it
        let mut command = crate::process::scaledb();
        command.args(["cluster", "drain", drained, "--cluster", &url, "--timeout", "1"]);
        let mut drain = crate::Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        load.progress(5);
        trial.nodes[killed].kill();
        trial.is_put_out();
        load.progress(10);
        trial.restart(killed);
        drain.0.wait().unwrap();
        trial.cluster.steer(&["drain", drained]);
        load.progress(10);
        // a node is killed while all moves back
        let mut command = crate::process::scaledb();
        command.args(["cluster", "add", drained, "--cluster", &url, "--timeout", "1"]);
        let mut add = crate::Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        load.progress(5);
        trial.nodes[killed].kill();
        trial.is_put_out();
        trial.restart(killed);
        add.0.wait().unwrap();
        trial.cluster.steer(&["add", drained]);
        trial.settle();
        load.progress(10);
        trial.check(load);
    }
}
