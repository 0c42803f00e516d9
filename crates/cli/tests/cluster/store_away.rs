//! etcd goes away, and comes back: transactions go on while the view stands, and what needs a new view waits.

use crate::{Trial, rounds};
use std::time::{Duration, Instant};

/// Longer than the lease of a node in etcd.
const AWAY: Duration = Duration::from_secs(4);

#[test]
fn transactions_go_on_without_etcd_and_views_change_when_it_is_back() {
    if !crate::is_long() {
        return;
    }
    let Some(mut trial) = Trial::begin(true) else { return };
    for round in 0..rounds(1) {
        let load = trial.load();
        load.progress(10);
        trial.cluster.end_etcd();
        let since = Instant::now();
        while since.elapsed() < AWAY {
            load.progress(10);
        }
        trial.cluster.begin_etcd();
        trial.settle();
        // one that takes requests and does not answer
        trial.cluster.etcd().signal("STOP");
        load.progress(10);
        // nobody is put out meanwhile, so the others wait for it
        let killed = round % 3;
        trial.nodes[killed].kill();
        trial.cluster.etcd().signal("CONT");
        trial.is_put_out();
        load.progress(10);
        trial.restart(killed);
        trial.settle();
        load.progress(10);
        trial.check(load);
    }
}
