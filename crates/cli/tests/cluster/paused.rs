//! A node that is stopped for longer than the others wait, and goes on: it finds that it is out, tells its clients
//! nothing that is not so, and ends; started again, it is a member.

use crate::{Trial, UNKNOWN, rounds};

#[test]
fn a_node_that_has_slept_too_long_ends_and_comes_back() {
    if !crate::is_long() {
        return;
    }
    let Some(mut trial) = Trial::begin(true) else { return };
    trial.allowed = &UNKNOWN;
    for round in 0..rounds(1) {
        // the leader first
        let sleeper = round % 3;
        let load = trial.load();
        load.progress(20);
        trial.nodes[sleeper].signal("STOP");
        trial.is_put_out();
        // whoever has asked the sleeper waits
        let others = trial.load();
        trial.nodes[sleeper].signal("CONT");
        others.progress(20);
        assert!(!trial.nodes[sleeper].ends(), "a node that was put out has failed");
        trial.restart(sleeper);
        trial.settle();
        load.progress(20);
        trial.history.extend(others.end());
        trial.check(load);
    }
}

/// For less than the others wait: nothing is different afterwards.
#[test]
fn a_node_that_has_slept_a_little_goes_on() {
    let Some(mut trial) = Trial::begin(false) else { return };
    let load = trial.load();
    for round in 0..rounds(1) {
        load.progress(20);
        trial.nodes[round % 3].signal("STOP");
        std::thread::sleep(std::time::Duration::from_millis(500));
        trial.nodes[round % 3].signal("CONT");
        load.progress(20);
    }
    trial.check(load);
}
