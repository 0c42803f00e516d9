//! Rooms are booked by several threads, and never twice: a range that was found free is still free at the
//! commit, or the transaction runs again.

use scaledb::{Database, Result, Table, Transaction, Type};
use std::thread;

const ROOMS: i64 = 5;
const DAYS: i64 = 365;

/// Books a room from `first` to `last` if it is free on all of these days.
fn book(
    txn: &mut Transaction<'_>,
    bookings: &Table,
    room: i64,
    first: i64,
    last: i64,
    guest: i64,
) -> Result<bool> {
    // of the stays that begin by our last day, the latest is the only one that can be in the way
    let latest = txn.scan(bookings).prefix(room).to((room, last)).reverse().first()?;
    if let Some(latest) = latest
        && latest.get::<i64>("last")? >= first
    {
        return Ok(false);
    }
    txn.insert(bookings, (room, first, last, guest))?;
    Ok(true)
}

fn main() -> Result<()> {
    let db = Database::in_memory();
    let bookings = &db.create_table(
        Table::build("bookings")
            .column("room", Type::Int8)
            .column("first", Type::Int8)
            .column("last", Type::Int8)
            .column("guest", Type::Int8)
            .primary_key(["room", "first"]),
    )?;
    let db = &db;
    let booked: i64 = thread::scope(|scope| {
        let guests: Vec<_> = (0..4)
            .map(|guest| {
                scope.spawn(move || -> Result<i64> {
                    let (mut session, mut booked) = (db.session()?, 0);
                    for n in 0..2_000 {
                        let (room, first) = ((n + guest) % ROOMS, (n * 17 + guest) % DAYS);
                        let last = first + n % 4;
                        booked +=
                            i64::from(session.run(|txn| book(txn, bookings, room, first, last, guest))?);
                    }
                    Ok(booked)
                })
            })
            .collect();
        guests.into_iter().map(|guest| guest.join().expect("no panic")).sum::<Result<i64>>()
    })?;

    let rows = db.run(|txn| txn.scan(bookings).collect())?;
    let mut nights = [0; ROOMS as usize];
    let mut end = (-1, -1);
    for row in &rows {
        let (room, first, last): (i64, i64, i64) = (row.get("room")?, row.get("first")?, row.get("last")?);
        assert!(room > end.0 || first > end.1, "room {room} is booked twice on day {first}");
        end = (room, last);
        nights[room as usize] += last - first + 1;
    }
    println!("{booked} of 8000 requests booked, nights per room: {nights:?}");
    assert_eq!(rows.len() as i64, booked);
    Ok(())
}
