//! EXCLUDE constraints beside other transactions, over a restart, and in messages. What statements answer is in
//! `slt/exclusions.sql`.

use crate::common::{code, failure, ok, opened, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_sync::thread;
use scaledb_verify::disk::SimDisk;

const ROOMS: u64 = 3;
const TABLE: &str = "create table booking (id int, room int, during int4range, \
                     exclude using gist (room with =, during with &&))";

/// The ranges of two rows of one room that overlap.
const OVERLAPS: &str = "select count(*) from booking a join booking b \
                        on a.room = b.room and a.during && b.during and a.id < b.id";

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Of ranges that several sessions insert, those are refused that overlap one that is there, and no others.
fn no_two_bookings_overlap<E: Engine>(db: Database<E>) {
    ok(&mut session(&db), TABLE);
    let refused: Vec<(u64, u64, u64)> = thread::scope(|scope| {
        let clients: Vec<_> = (1..=3_u64)
            .map(|client| {
                let db = &db;
                scope.spawn(move || {
                    let (s, mut numbers) = (&mut session(db), Numbers(client * 7_919));
                    let mut refused = Vec::new();
                    for round in 0..150 {
                        let (room, from) = (numbers.below(ROOMS), numbers.below(600));
                        let to = from + 1 + numbers.below(5);
                        let id = client * 1_000 + round;
                        let insert = format!("insert into booking values ({id}, {room}, '[{from},{to})')");
                        match run(s, &insert) {
                            Ok(_) => {}
                            Err(error) => {
                                assert_eq!(error.code().as_str(), "23P01", "{error}");
                                refused.push((room, from, to));
                            }
                        }
                    }
                    refused
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let s = &mut session(&db);
    assert_eq!(text(s, OVERLAPS), "0");
    assert!(!refused.is_empty());
    for (room, from, to) in refused {
        let there =
            format!("select count(*) > 0 from booking where room = {room} and during && '[{from},{to})'");
        assert_eq!(text(s, &there), "t", "[{from},{to}) in room {room}");
    }
}

/// As above, where rows move and go, transactions have several statements, and some checks wait for the commit.
fn no_two_bookings_overlap_after_changes<E: Engine>(db: Database<E>) {
    let deferred = TABLE.replace("with &&)", "with &&) deferrable");
    ok(&mut session(&db), &deferred);
    thread::scope(|scope| {
        for client in 1..=3_u64 {
            let db = &db;
            scope.spawn(move || {
                let (s, mut numbers) = (&mut session(db), Numbers(client * 104_729));
                for round in 0..100 {
                    let mut statements = vec!["begin".to_owned()];
                    if numbers.below(2) == 0 {
                        statements.push("set constraints all deferred".to_owned());
                    }
                    for part in 0..3 {
                        let (room, from) = (numbers.below(ROOMS), numbers.below(60));
                        let range = format!("'[{from},{})'", from + 1 + numbers.below(6));
                        let id = client * 10_000 + round * 10 + part;
                        statements.push(match numbers.below(4) {
                            0 => format!("delete from booking where room = {room} and during && {range}"),
                            1 => format!(
                                "update booking set during = {range} where id % 10 = {part} and room = {room}"
                            ),
                            2 => format!("update booking set room = {room} where during && {range}"),
                            _ => format!("insert into booking values ({id}, {room}, {range})"),
                        });
                    }
                    statements.push("commit".to_owned());
                    if let Err(error) = run(s, &statements.join("; ")) {
                        let code = error.code();
                        assert!(["23P01", "40001", "40P01"].contains(&code.as_str()), "{error}");
                        ok(s, "rollback");
                    }
                }
            });
        }
    });
    assert_eq!(text(&mut session(&db), OVERLAPS), "0");
}

/// What a message says is PostgreSQL's, with the constraint by name.
fn a_message_names_both_keys<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLE);
    ok(s, "insert into booking values (1, 7, '[1,5)')");
    let error = failure(s, "insert into booking values (2, 7, '[4,9)')");
    let error = format!("{error:?}");
    for part in [
        "conflicting key value violates exclusion constraint \"booking_room_during_excl\"",
        "Key (room, during)=(7, [4,9)) conflicts with existing key (room, during)=(7, [1,5)).",
    ] {
        assert!(error.contains(part), "{error}");
    }
    ok(s, "alter table booking drop constraint booking_room_during_excl");
    ok(s, "insert into booking values (2, 7, '[4,9)')");
    let error =
        failure(s, "alter table booking add constraint one exclude using gist (room with =, during with &&)");
    let error = format!("{error:?}");
    assert!(error.contains("could not create exclusion constraint \"one\""), "{error}");
    assert!(error.contains("conflicts with key (room, during)=(7, "), "{error}");
}

/// A statement that shifts ranges over each other is done if none overlap behind it: it is checked at its end.
fn ranges_may_pass_each_other_within_a_statement<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLE);
    ok(s, "insert into booking select g, 1, int4range(g * 10, g * 10 + 10) from generate_series(1, 20) g");
    ok(s, "update booking set during = int4range(lower(during) + 5, upper(during) + 5)");
    assert_eq!(code(s, "update booking set during = int4range(lower(during), upper(during) + 1)"), "23P01");
    ok(
        s,
        "with moved as (update booking set room = 2 where id <= 10) \
           insert into booking select id + 100, 2, int4range(1000 + id, 1001 + id) from booking where id <= 10",
    );
    assert_eq!(text(s, "select count(*) from booking where room = 2"), "20");
    let clash = "with moved as (update booking set room = 1 where id <= 10) \
                 insert into booking values (300, 1, '[15,16)')";
    assert_eq!(code(s, clash), "23P01");
    let skip = "with a as (select 1), moved as (update booking set room = 1 where id <= 10) \
                insert into booking values (300, 1, '[15,16)') on conflict do nothing";
    assert_eq!(code(s, skip), "0A000");
    assert_eq!(text(s, OVERLAPS), "0");
}

/// The constraint is there after a restart, with what computes its columns.
#[test]
fn a_constraint_survives_a_restart() {
    let disk = SimDisk::new(1).recording();
    {
        let db = opened(&disk);
        let s = &mut session(&db);
        ok(
            s,
            "create table r (id int primary key, a int, b int, n numrange, off bool default false, \
               constraint x exclude using gist (int4range(a, b) with &&) where (not off), exclude using gist (n with &&))",
        );
        ok(s, "insert into r values (1, 1, 5, '[1.50,2.0)'), (2, 5, 9, '[3,4]')");
        ok(s, "insert into r values (3, 1, 5, null, true)");
    }
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(code(s, "insert into r values (4, 4, 6, null)"), "23P01");
    assert_eq!(code(s, "update r set off = false"), "23P01");
    assert_eq!(code(s, "insert into r values (4, 20, 21, '[3.9,3.95)')"), "23P01");
    ok(s, "insert into r values (4, 20, 21, '[2,3)')");
    assert_eq!(text(s, "select n from r where id = 1"), "[1.50,2.0)");
}

on_each_engine!(
    no_two_bookings_overlap,
    no_two_bookings_overlap_after_changes,
    a_message_names_both_keys,
    ranges_may_pass_each_other_within_a_statement,
);
