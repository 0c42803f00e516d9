//! Who waits for whom at a record: for a commit with patience, for clean-up however long it takes.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::record::{Presence, Record, Stuck, Word};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_memory::{Domain, Local};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, Schema};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

fn schema() -> Schema {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8).group(1)];
    Schema::new(columns, &[KeyPart::asc(0)]).unwrap()
}

fn live(ticks: u64) -> Word {
    Word::live(Timestamp::new(ticks, WorkerId(1)))
}

fn absent(ticks: u64) -> Word {
    Word::absent(Timestamp::new(ticks, WorkerId(1)))
}

/// A record of two groups that was committed at 5.
fn record(local: &mut Local) -> Record {
    let record = Record::create(local, 2, b"key", &[1, 2]).unwrap();
    (0..2).for_each(|group| record.unlock(group, live(5)));
    record
}

fn local() -> Local {
    let mut local = Domain::new(Arc::new(Clock::new(0)), u64::MAX).register().unwrap();
    local.enter();
    local
}

fn read(record: Record, schema: &Schema) -> Result<Presence, Stuck> {
    record.read(schema.layout(), &Projection::all(schema), &mut Vec::new(), &mut [Word(0); MAX_GROUPS])
}

/// What `f` answers, which has begun when `held` is called to end the lock that it has to wait for.
fn meets<T: Send>(f: impl FnOnce() -> T + Send, held: impl FnOnce()) -> T {
    let begun = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            f()
        });
        while !begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        held();
        waiting.join().unwrap()
    })
}

/// Unlocks after a time that is long enough for the other thread to wait, on which no outcome depends.
fn unlock_late(record: Record, group: usize, word: Word) {
    thread::sleep(Duration::from_micros(200));
    record.unlock(group, word);
}

#[test]
fn a_row_is_gone_if_any_group_says_so() {
    let (mut local, schema) = (local(), schema());
    let record = record(&mut local);
    assert_eq!(read(record, &schema), Ok(Presence::Live(2)));
    for group in 0..2 {
        record.set_word(group, absent(6));
        assert_eq!(read(record, &schema), Ok(Presence::Absent));
        record.set_word(group, live(7));
    }
    assert_eq!(read(record, &schema), Ok(Presence::Live(2)));
}

#[test]
fn readers_and_writers_wait_for_clean_up_and_see_what_it_leaves() {
    let (mut local, schema) = (local(), schema());
    let record = record(&mut local);
    for (ticks, left) in [(6, live(5)), (7, live(5))] {
        assert!(record.try_lock_to_clean(0, live(5)));
        assert!(!record.try_lock(0, live(5)) && record.word(0).is_cleaned());
        if ticks == 6 {
            assert_eq!(
                meets(|| read(record, &schema), || unlock_late(record, 0, left)),
                Ok(Presence::Live(2))
            );
        } else {
            assert_eq!(meets(|| record.lock(0), || unlock_late(record, 0, left)), Ok(live(5)));
            record.unlock(0, live(5));
        }
    }
    assert!(!record.try_lock_to_clean(0, live(4)), "it has changed since it was seen");
    assert!(record.try_lock_to_clean(1, live(5)));
    assert_eq!(meets(|| record.after_clean_up(1), || unlock_late(record, 1, live(8))), live(8));
}

/// How long `lock` waits for a lock that nobody ends: the shortest of many tries, as a thread that was off its core
/// meanwhile has waited for less than it took.
fn patience(record: Record) -> Duration {
    let before = record.lock(1).unwrap();
    let tries = (0..100).map(|_| {
        let began = Instant::now();
        assert_eq!(record.lock(1), Err(Stuck));
        began.elapsed()
    });
    let shortest = tries.min().unwrap();
    record.unlock(1, before);
    shortest
}

#[test]
fn a_commit_that_takes_a_moment_is_waited_for() {
    let (mut local, schema) = (local(), schema());
    let record = record(&mut local);
    let moment = patience(record) / 8;
    assert!(moment > Duration::from_nanos(200), "nothing is waited for");
    // The holder keeps its core for that moment. Whether the other one has its core then is up to the system, which
    // may have it wait for longer than its patience: one of many tries has to succeed.
    let hold = |before| {
        let began = Instant::now();
        while began.elapsed() < moment {
            std::hint::spin_loop();
        }
        record.unlock(1, before);
    };
    let some = |f: &dyn Fn() -> bool| assert!((0..5_000).any(|_| f()));
    some(&|| {
        let before = record.lock(1).unwrap();
        meets(|| read(record, &schema).is_ok(), || hold(before))
    });
    some(&|| {
        let before = record.lock(1).unwrap();
        let locked = meets(|| record.lock(1).is_ok(), || hold(before));
        if locked {
            record.unlock(1, before);
        }
        locked
    });
}
