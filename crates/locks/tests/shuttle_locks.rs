//! Owners that lock in random order, under random schedules.
//!
//! `RUSTFLAGS='--cfg shuttle' cargo test -p scaledb-locks --test shuttle_locks`; without, with real threads.

use scaledb_locks::{Failed, Locks, Mode, Owner, Tag, Who};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::{Arc, MODEL, thread};

const SCHEDULES: usize = if MODEL { 300 } else { 20 };
const ROUNDS: usize = if MODEL { 3 } else { 200 };

fn row(record: u64) -> Tag {
    Tag::Row { table: 1, record }
}

fn forever() -> impl FnMut() -> Result<(), ()> {
    || {
        thread::yield_now();
        Ok(())
    }
}

/// Those who hold a lock exclusively are alone with it, nobody is forgotten in a queue, and at the end nothing is left.
#[test]
fn an_exclusive_lock_has_one_owner_and_everybody_gets_it() {
    scaledb_sync::model(SCHEDULES, || {
        let locks = Arc::new(Locks::default());
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..3u32)
            .map(|id| {
                let (locks, inside) = (locks.clone(), inside.clone());
                thread::spawn(move || {
                    let mut owner = Owner::new(locks, id);
                    for round in 0..ROUNDS {
                        let shared = (round + id as usize).is_multiple_of(3);
                        let (mode, weight) =
                            if shared { (Mode::RowShare, 1) } else { (Mode::AccessExclusive, 100) };
                        owner.take(row(1), mode, &mut forever()).expect("no deadlock with one lock");
                        let others = inside.fetch_add(weight, Ordering::SeqCst);
                        assert!(if shared { others < 100 } else { others == 0 }, "{others} with {mode:?}");
                        thread::yield_now();
                        inside.fetch_sub(weight, Ordering::SeqCst);
                        owner.end();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(locks.all().is_empty() && locks.rows() == 0);
    });
}

/// Locks in any order: a cycle is found by one of those in it, and the others go on.
#[test]
fn a_cycle_of_waits_ends() {
    scaledb_sync::model(SCHEDULES, || {
        let locks = Arc::new(Locks::default());
        let threads: Vec<_> = (0..3u32)
            .map(|id| {
                let locks = locks.clone();
                thread::spawn(move || {
                    let mut owner = Owner::new(locks, id);
                    for round in 0..ROUNDS as u64 {
                        loop {
                            let first = owner.take(row(u64::from(id)), Mode::AccessExclusive, &mut forever());
                            let next = (u64::from(id) + 1 + round % 2) % 3;
                            let both =
                                first.and_then(|()| owner.take(row(next), Mode::Exclusive, &mut forever()));
                            owner.end();
                            match both {
                                Ok(()) => break,
                                Err(Failed::Deadlock(cycle)) => {
                                    let own = Who::Session(id);
                                    assert_eq!((cycle[0].owner, cycle[cycle.len() - 1].by), (own, own));
                                    assert!(cycle.windows(2).all(|pair| pair[0].by == pair[1].owner));
                                    thread::yield_now();
                                }
                                Err(Failed::Stopped(())) => unreachable!("nobody stops it"),
                                Err(Failed::Not(why)) => unreachable!("of one process: {why:?}"),
                            }
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(locks.all().is_empty() && locks.rows() == 0);
    });
}

/// Who gives up waiting lets those behind it go on, and has nothing but what it was granted in the last moment.
#[test]
fn a_wait_that_is_given_up_holds_nobody_up() {
    scaledb_sync::model(SCHEDULES, || {
        let locks = Arc::new(Locks::default());
        let tag = Tag::Table(7);
        let mut holder = Owner::new(locks.clone(), 0);
        assert_eq!(holder.try_take(tag, Mode::RowExclusive), Ok(true));
        let impatient = {
            let locks = locks.clone();
            thread::spawn(move || {
                let mut owner = Owner::new(locks, 1);
                let mut left = 2;
                let mut check = || {
                    left -= 1;
                    if left == 0 { Err(()) } else { Ok(()) }
                };
                let taken = owner.take(tag, Mode::AccessExclusive, &mut check);
                assert!(matches!(taken, Ok(()) | Err(Failed::Stopped(()))), "{taken:?}");
            })
        };
        let behind = {
            let locks = locks.clone();
            thread::spawn(move || {
                Owner::new(locks, 2).take(tag, Mode::RowShare, &mut forever()).expect("it is compatible");
            })
        };
        behind.join().expect("no panic");
        drop(holder);
        impatient.join().expect("no panic");
        assert!(locks.all().is_empty() && locks.tables() == 0);
    });
}
