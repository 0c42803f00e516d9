//! Several threads: what must hold, holds.

use scaledb::{Access, Database, Table, TxnKind, Type};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Small random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as i64
    }
}

#[test]
fn transfers_keep_the_total() {
    const ACCOUNTS: i64 = 20;
    const TOTAL: i64 = ACCOUNTS * 100;
    for access in [Access::Hashed, Access::Ordered] {
        let db = Database::in_memory();
        let accounts = db
            .create_table(
                Table::build("accounts")
                    .column("id", Type::Int8)
                    .column("balance", Type::Int8)
                    .primary_key(["id"])
                    .access(access),
            )
            .unwrap();
        db.run(|txn| (0..ACCOUNTS).try_for_each(|id| txn.insert(&accounts, (id, 100)))).unwrap();
        let done = AtomicBool::new(false);
        let (db, accounts, done) = (&db, &accounts, &done);
        let total = |kind| {
            let mut sum = 0;
            db.run_as(kind, |txn| {
                sum = 0;
                txn.scan(accounts).for_each(|row| {
                    sum += row.get::<i64>("balance")?;
                    Ok(())
                })
            })
            .unwrap();
            sum
        };
        thread::scope(|scope| {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for kind in [TxnKind::Snapshot, TxnKind::ReadOnly, TxnKind::Deferrable] {
                        assert_eq!(total(kind), TOTAL, "{kind:?}");
                    }
                }
            });
            let writers: Vec<_> = (0..3)
                .map(|seed| {
                    scope.spawn(move || {
                        let mut random = Random(seed);
                        let mut session = db.session().unwrap();
                        for _ in 0..10_000 {
                            let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
                            let amount = random.below(10);
                            session
                                .run(|txn| {
                                    txn.update(accounts, from, |row| row.add("balance", -amount))?;
                                    txn.update(accounts, to, |row| row.add("balance", amount))
                                })
                                .unwrap();
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(total(TxnKind::ReadWrite), TOTAL);
    }
}

#[test]
fn no_room_is_booked_twice() {
    const ROOMS: i64 = 4;
    const DAYS: i64 = 60;
    let db = Database::in_memory();
    let bookings = db
        .create_table(
            Table::build("bookings")
                .column("room", Type::Int8)
                .column("first", Type::Int8)
                .column("last", Type::Int8)
                .column("guest", Type::Int8)
                .primary_key(["room", "first"])
                .index("by_guest", ["guest"]),
        )
        .unwrap();
    let booked = AtomicU64::new(0);
    let (db, bookings, booked) = (&db, &bookings, &booked);
    thread::scope(|scope| {
        for guest in 0..4 {
            scope.spawn(move || {
                let mut random = Random(guest);
                let mut session = db.session().unwrap();
                for _ in 0..2_000 {
                    let (room, first) = (random.below(ROOMS), random.below(DAYS));
                    let last = first + random.below(3);
                    let free = session
                        .run(|txn| {
                            // the one that begins last before our end must end before our beginning
                            let before =
                                txn.scan(bookings).prefix(room).to((room, last)).reverse().first()?;
                            let end = before.map(|row| row.get::<i64>("last")).transpose()?;
                            if end.is_some_and(|end| end >= first) {
                                return Ok(false);
                            }
                            txn.insert(bookings, (room, first, last, guest as i64)).map(|()| true)
                        })
                        .unwrap();
                    booked.fetch_add(u64::from(free), Ordering::Relaxed);
                    if random.below(4) == 0 {
                        // cancel the first one that this guest has
                        let by_guest = bookings.index("by_guest").unwrap();
                        let mine = |txn: &mut scaledb::Transaction<'_>| {
                            txn.scan(&by_guest).prefix(guest as i64).limit(1).delete()
                        };
                        booked.fetch_sub(session.run(mine).unwrap() as u64, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let rows = db.run(|txn| txn.scan(bookings).collect()).unwrap();
    assert_eq!(rows.len() as u64, booked.load(Ordering::Relaxed));
    let stays: Vec<(i64, i64, i64)> = rows
        .iter()
        .map(|row| (row.get("room").unwrap(), row.get("first").unwrap(), row.get("last").unwrap()))
        .collect();
    for pair in stays.windows(2) {
        let ((room, _, last), (next_room, next_first, _)) = (pair[0], pair[1]);
        assert!(room < next_room || last < next_first, "{pair:?}");
    }
}

#[test]
fn write_skew_does_not_happen() {
    // of two doctors one stays on duty
    let db = Database::in_memory();
    let doctors =
        Table::build("doctors").column("id", Type::Int4).column("on_duty", Type::Bool).primary_key(["id"]);
    let doctors = &db.create_table(doctors).unwrap();
    db.run(|txn| [0, 1].into_iter().try_for_each(|id| txn.insert(doctors, (id, true)))).unwrap();
    let db = &db;
    thread::scope(|scope| {
        for me in 0..2 {
            scope.spawn(move || {
                for _ in 0..2_000 {
                    db.run(|txn| {
                        let other = txn.get(doctors, 1 - me)?.unwrap().get::<bool>("on_duty")?;
                        txn.update(doctors, me, |row| row.set("on_duty", !other))
                    })
                    .unwrap();
                    let on_duty = db
                        .run_as(TxnKind::ReadOnly, |txn| {
                            let mut on_duty = 0;
                            txn.scan(doctors).for_each(|row| {
                                on_duty += i32::from(row.get::<bool>("on_duty")?);
                                Ok(())
                            })?;
                            Ok(on_duty)
                        })
                        .unwrap();
                    assert!(on_duty > 0);
                }
            });
        }
    });
}

#[test]
fn pooled_sessions_are_reused() {
    let db = Database::in_memory();
    let t = &db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"])).unwrap();
    let db = &db;
    // more threads, one after the other, than there are workers
    for round in 0..40 {
        thread::scope(|scope| {
            for n in 0..4 {
                scope.spawn(move || db.run(|txn| txn.insert(t, round * 4 + n)).unwrap());
            }
        });
    }
    assert_eq!(db.run(|txn| txn.count(t)).unwrap(), 160);
    // a call within a call
    db.run(|_| db.run(|txn| txn.insert(t, 1_000))).unwrap();
    let mut sessions: Vec<_> = (0..100).map(|_| db.session().unwrap()).collect();
    assert_eq!(sessions[99].run(|txn| txn.count(t)).unwrap(), 161);
}
