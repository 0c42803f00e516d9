//! What the tables must hold after a run.

use super::client::Done;
use super::{FIRST_OWN, SEATS_OF_FLIGHT, Tables, customer, flight, frequent_flyer, part_of, reservation};
use crate::table::WorkloadTable;
use scaledb_base::Result;
use scaledb_engine::{Order, Range, TxnKind, Worker};
use scaledb_row::{Projection, RowRef};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What of a database runs change by known amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Reservations.
    pub reservations: u64,
    /// The sum of the customers' balances, in cents.
    pub balance: i64,
    /// The reservations that cards have counted.
    pub on_cards: i64,
    /// Flights, customers and cards.
    pub rows: [u64; 3],
}

fn scan<W: Worker>(
    worker: &mut W,
    table: &WorkloadTable,
    columns: &[usize],
    mut f: impl FnMut(&[u8], RowRef<'_>),
) -> Result<()> {
    let columns = Projection::new(table.schema(), columns.iter().copied());
    worker.scan(table.id, Range::ALL, Order::Forward, &columns, |_, key, row| {
        f(key, row);
        ControlFlow::Continue(())
    })
}

impl Facts {
    /// Those of a database as it is now.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn of<W: Worker>(tables: &Tables, worker: &mut W) -> Result<Self> {
        worker.run(TxnKind::Deferrable, |worker| Self::read(tables, worker))
    }

    fn read<W: Worker>(t: &Tables, worker: &mut W) -> Result<Self> {
        let mut facts = Self::default();
        scan(worker, &t.reservation, &[], |_, _| facts.reservations += 1)?;
        scan(worker, &t.flight, &[], |_, _| facts.rows[0] += 1)?;
        scan(worker, &t.customer, &[customer::C_BALANCE], |_, row| {
            facts.balance += row.i64(customer::C_BALANCE);
            facts.rows[1] += 1;
        })?;
        scan(worker, &t.frequent_flyer, &[frequent_flyer::FF_IATTR + 10], |_, row| {
            facts.on_cards += row.i64(frequent_flyer::FF_IATTR + 10);
            facts.rows[2] += 1;
        })?;
        Ok(facts)
    }
}

/// A flight's reservations.
#[derive(Default)]
struct OfFlight {
    seats: Vec<i64>,
    customers: Vec<i64>,
}

/// Compares a database with what it held before the run, and with what the clients' transactions have done. `Err`
/// inside tells what is wrong.
///
/// # Errors
/// What the engine returns.
pub fn check<W: Worker>(
    tables: &Tables,
    before: Facts,
    done: Done,
    worker: &mut W,
) -> Result<Result<(), String>> {
    worker.run(TxnKind::Deferrable, |worker| {
        let expected = Facts {
            reservations: (before.reservations + done.made).wrapping_sub(done.deleted),
            balance: before.balance - done.refunded,
            on_cards: before.on_cards + done.on_cards,
            rows: before.rows,
        };
        let facts = Facts::read(tables, worker)?;
        if facts != expected {
            return Ok(Err(format!("{facts:?}, not {expected:?}")));
        }
        compare(tables, worker)
    })
}

/// What holds whatever was done: each flight has as many seats left as are not taken, no seat is taken twice, no
/// customer has two seats on a flight, customers count their reservations, and the index has what the table has.
fn compare<W: Worker>(t: &Tables, worker: &mut W) -> Result<Result<(), String>> {
    use reservation::*;
    let mut flights: HashMap<i64, OfFlight> = HashMap::new();
    let mut made_by: HashMap<i64, i64> = HashMap::new();
    let mut entries = HashMap::new();
    scan(worker, &t.reservation, &[R_ID, R_C_ID, R_F_ID, R_SEAT], |_, row| {
        let flight = flights.entry(row.i64(R_F_ID)).or_default();
        flight.seats.push(row.i64(R_SEAT));
        flight.customers.push(row.i64(R_C_ID));
        *made_by.entry(row.i64(R_C_ID)).or_default() += i64::from(row.i64(R_ID) >= FIRST_OWN);
        entries.insert((row.i64(R_F_ID), row.i64(R_SEAT)), row.i64(R_ID));
    })?;
    for (id, flight) in &mut flights {
        flight.seats.sort_unstable();
        flight.customers.sort_unstable();
        if flight.seats.windows(2).any(|pair| pair[0] == pair[1]) {
            return Ok(Err(format!("flight {id} has a seat that is taken twice: {:?}", flight.seats)));
        }
        if flight.customers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Ok(Err(format!("a customer has two seats on flight {id}")));
        }
    }
    let mut wrong = None;
    scan(worker, &t.reservation_by_seat, &[R_ID, R_F_ID, R_SEAT], |key, row| {
        let place = (part_of(key, 0), part_of(key, 1));
        if place != (row.i64(R_F_ID), row.i64(R_SEAT)) || entries.remove(&place) != Some(row.i64(R_ID)) {
            wrong = Some(format!("the index of seats has {place:?}, and the table has not"));
        }
    })?;
    if let Some(place) = entries.keys().next() {
        wrong = Some(format!("the index of seats has no {place:?}"));
    }
    scan(worker, &t.flight, &[flight::F_SEATS_LEFT], |key, row| {
        let id = part_of(key, 0);
        let taken = flights.remove(&id).map_or(0, |flight| flight.seats.len() as i64);
        let left = row.i64(flight::F_SEATS_LEFT);
        if taken + left != SEATS_OF_FLIGHT as i64 {
            wrong = Some(format!("flight {id} has {left} seats left, and {taken} are taken"));
        }
    })?;
    if let Some(id) = flights.keys().next() {
        wrong = Some(format!("flight {id} is missing"));
    }
    scan(worker, &t.customer, &[customer::C_IATTR + 10], |key, row| {
        let id = part_of(key, 0);
        let (counted, made) = (row.i64(customer::C_IATTR + 10), made_by.remove(&id).unwrap_or_default());
        if counted != made {
            wrong = Some(format!("customer {id} counts {counted} reservations, and has {made}"));
        }
    })?;
    if let Some(id) = made_by.keys().next() {
        wrong = Some(format!("customer {id} is missing"));
    }
    Ok(wrong.map_or(Ok(()), Err))
}
