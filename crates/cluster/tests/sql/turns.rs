//! How long large transactions keep a node from everything else: its protocol does one thing at a time.

use super::{Three, ok, text};
use scaledb_cluster::Member;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// The longest time that a call of a member has waited for its turn while `f` ran, and how long that took.
fn longest_turn(members: &[Arc<Member>], f: impl FnOnce()) -> (Duration, Duration) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = members.iter().map(|member| {
            let done = &done;
            scope.spawn(move || {
                let mut longest = Duration::ZERO;
                while !done.load(Ordering::SeqCst) {
                    let since = Instant::now();
                    member.call(|_, _| ());
                    longest = longest.max(since.elapsed());
                    thread::sleep(Duration::from_millis(1));
                }
                longest
            })
        });
        let waits: Vec<_> = waits.collect();
        let since = Instant::now();
        f();
        let took = since.elapsed();
        done.store(true, Ordering::SeqCst);
        let longest = waits.into_iter().map(|wait| wait.join().expect("a thread")).max();
        (longest.unwrap_or_default(), took)
    })
}

/// Run by hand: `cargo test -p scaledb-cluster --test sql turns -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn turns_of_large_transactions() {
    let three = Three::start_with(Duration::from_secs(60), Duration::from_millis(20));
    let members: Vec<Arc<Member>> = three.cluster.members().cloned().collect();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int, name text)");
    ok(&mut a, "create table s (w int, i int, n int, primary key (w, i)) with (partition_by = 'w')");
    ok(&mut a, "create index t_n on t (n)");
    for first in (0..40_000).step_by(2_000) {
        let sql = format!(
            "insert into t select i, i % 1000, 'name ' || i from generate_series({first}, {first} + 1999) i"
        );
        let (turn, took) = longest_turn(&members, || drop(ok(&mut b, &sql)));
        if first % 10_000 == 0 {
            println!("insert of 2,000 rows: {turn:.1?} of {took:.1?}");
        }
    }
    for sql in [
        "insert into s select 1, i, 10 from generate_series(1, 2000) i",
        "insert into s select 1, i, 10 from generate_series(2001, 7000) i",
        "select count(*) from t",
        "select count(*), sum(n) from t where id < 20000",
        "select count(*) from t x join t y on x.id = y.id + 1",
        "update t set name = 'other' where n < 50",
        "update s set n = n + 1",
        "select count(*) from s",
        "delete from s where i > 3000",
        "analyze",
        "begin; select count(*) from t; select count(*) from t; commit",
        "create index t_name on t (name)",
    ] {
        let (turn, took) = longest_turn(&members, || drop(ok(&mut c, sql)));
        println!("{sql}: {turn:.1?} of {took:.1?}");
    }
    assert_eq!(text(&mut b, "select count(*) from t"), "40000");
}
