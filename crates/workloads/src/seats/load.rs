//! The initial population.

use super::{
    AIRLINE_IATTRS, AIRLINES, AIRPORT_IATTRS, AIRPORTS, COUNTRIES, CUSTOMER_IATTRS, CUSTOMER_SATTRS, Config,
    DAY, DAYS_FUTURE, DAYS_PAST, DISTANCES, FLIGHT_IATTRS, FLYER_IATTRS, FLYER_SATTRS, RESERVATION_IATTRS,
    SEATS_OF_FLIGHT, SLOT, SLOTS_OF_DAY, Tables, airline, airport, customer, customer_id, flight, flight_id,
    frequent_flyer, reservation, text_of,
};
use crate::load::{in_batches, in_parallel};
use crate::rng::Rng;
use crate::zipf::Zipf;
use scaledb_base::Result;
use scaledb_engine::{Engine, Worker};
use scaledb_row::{RowBuf, RowMut};
use std::collections::HashSet;

/// Customers of one unit of loading.
const PER_UNIT: u32 = 5_000;
/// The most tickets of airlines that a customer has a card of, and how skewed their number is.
const MAX_CARDS: u64 = 10;
/// Percentage of seats that are taken.
const TAKEN: u32 = 1;
/// Miles an hour.
const SPEED: f64 = 570.0;

enum Unit {
    /// All that does not grow.
    Places,
    /// Customers of an airport, from the first number to before the second.
    Customers(u32, u32, u32),
    /// The flights of a day.
    Flights(u32),
}

/// What the population is drawn from.
struct Draws {
    customers: Vec<u32>,
    positions: Vec<(f64, f64)>,
    airports: Zipf,
    cards: Zipf,
    /// When the first day of flights begins.
    start: i64,
    flights: (u32, u32),
}

/// The first day of flights, for a benchmark that begins at `now`.
pub(super) fn first_day(now: i64) -> i64 {
    now.div_euclid(DAY) * DAY - i64::from(DAYS_PAST) * DAY
}

impl Tables {
    /// Fills them on `threads` workers. `now` is the current time in microseconds since 2000.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn load<E: Engine>(
        &self,
        engine: &E,
        config: Config,
        seed: u64,
        threads: usize,
        now: i64,
    ) -> Result<()> {
        let mut rng = Rng::new(seed, u64::MAX / 2);
        // somewhere in the United States
        let mut position = || (-125.0 + 58.0 * rng.fraction(), 25.0 + 24.0 * rng.fraction());
        let scale = f64::from(config.customers) / 100_000.0;
        let draws = Draws {
            customers: config.customers_of_airports(),
            positions: (0..AIRPORTS).map(|_| position()).collect(),
            airports: Zipf::new(u64::from(AIRPORTS), 0.8),
            cards: Zipf::new(MAX_CARDS, 2.0),
            start: first_day(now),
            flights: ((1_125.0 * scale).ceil() as u32, (1_875.0 * scale).ceil() as u32),
        };
        let mut units = vec![Unit::Places];
        units.extend((0..DAYS_PAST + DAYS_FUTURE).map(Unit::Flights));
        for (airport, &count) in (1..).zip(&draws.customers) {
            let parts = (0..count).step_by(PER_UNIT as usize);
            units.extend(parts.map(|from| Unit::Customers(airport, from, (from + PER_UNIT).min(count))));
        }
        in_parallel(
            engine,
            threads,
            seed,
            &units,
            |i, _| i,
            |worker, rng, unit| match *unit {
                Unit::Places => self.load_places(worker, rng, &draws),
                Unit::Customers(airport, from, to) => {
                    self.load_customers(worker, rng, airport, from..to, &draws)
                }
                Unit::Flights(day) => self.load_flights(worker, rng, day, &draws),
            },
        )
    }

    fn load_places<W: Worker>(&self, worker: &mut W, rng: &mut Rng, draws: &Draws) -> Result<()> {
        let mut buf = RowBuf::new(self.country.schema());
        in_batches(worker, rng, 1..=COUNTRIES, 1, |worker, rng, id| {
            let mut row = buf.edit(self.country.schema());
            row.set_i64(0, i64::from(id));
            text(&mut row, 1, rng, 4, 64);
            text(&mut row, 2, rng, 2, 2);
            text(&mut row, 3, rng, 3, 3);
            worker.insert(self.country.id, &buf).map(drop)
        })?;
        let mut buf = RowBuf::new(self.airline.schema());
        in_batches(worker, rng, 1..=AIRLINES, 1, |worker, rng, id| {
            use airline::*;
            let mut row = buf.edit(self.airline.schema());
            row.set_i64(AL_ID, i64::from(id));
            text(&mut row, AL_IATA_CODE, rng, 3, 3);
            text(&mut row, AL_ICAO_CODE, rng, 3, 3);
            text(&mut row, AL_CALL_SIGN, rng, 4, 32);
            text(&mut row, AL_NAME, rng, 6, 64);
            row.set_i64(AL_CO_ID, i64::from(rng.within(1, COUNTRIES)));
            numbers(&mut row, AL_IATTR, AIRLINE_IATTRS, rng);
            worker.insert(self.airline.id, &buf).map(drop)
        })?;
        let mut buf = RowBuf::new(self.airport.schema());
        in_batches(worker, rng, 1..=AIRPORTS, 1, |worker, rng, id| {
            use airport::*;
            let (longitude, latitude) = draws.positions[id as usize - 1];
            let mut row = buf.edit(self.airport.schema());
            row.set_i64(AP_ID, i64::from(id));
            text(&mut row, AP_CODE, rng, 3, 3);
            text(&mut row, AP_NAME, rng, 6, 64);
            text(&mut row, AP_CITY, rng, 4, 32);
            row.set_null(AP_POSTAL_CODE);
            row.set_i64(AP_CO_ID, i64::from(rng.within(1, COUNTRIES)));
            row.set_f64(AP_LONGITUDE, longitude);
            row.set_f64(AP_LATITUDE, latitude);
            row.set_f64(AP_GMT_OFFSET, (longitude / 15.0).round());
            row.set_i64(AP_WAC, i64::from(rng.within(1, 999)));
            numbers(&mut row, AP_IATTR, AIRPORT_IATTRS, rng);
            worker.insert(self.airport.id, &buf).map(drop)
        })?;
        // those that a search may take for each other
        let most = f64::from(DISTANCES[DISTANCES.len() - 1]);
        let mut near = Vec::new();
        for from in 0..AIRPORTS {
            for to in (0..AIRPORTS).filter(|&to| to != from) {
                let miles = miles(draws.positions[from as usize], draws.positions[to as usize]);
                near.extend((miles <= most).then_some((from + 1, to + 1, miles)));
            }
        }
        let mut buf = RowBuf::new(self.airport_distance.schema());
        in_batches(worker, rng, near, 1, |worker, _, (from, to, miles)| {
            let mut row = buf.edit(self.airport_distance.schema());
            row.set_i64(0, i64::from(from));
            row.set_i64(1, i64::from(to));
            row.set_f64(2, miles);
            worker.insert(self.airport_distance.id, &buf).map(drop)
        })
    }

    fn load_customers<W: Worker>(
        &self,
        worker: &mut W,
        rng: &mut Rng,
        airport: u32,
        customers: std::ops::Range<u32>,
        draws: &Draws,
    ) -> Result<()> {
        let mut buf = RowBuf::new(self.customer.schema());
        let mut card_buf = RowBuf::new(self.frequent_flyer.schema());
        in_batches(worker, rng, customers, 4, |worker, rng, number| {
            let id = customer_id(airport, number);
            {
                use customer::*;
                let mut row = buf.edit(self.customer.schema());
                row.set_i64(C_ID, id);
                row.set_bytes(C_ID_STR, &text_of(id));
                row.set_i64(C_BASE_AP_ID, i64::from(airport));
                row.set_i64(C_BALANCE, i64::from(rng.within(1_000_00, 10_000_00)));
                for at in 0..CUSTOMER_SATTRS {
                    text(&mut row, C_SATTR + at, rng, 8, if at == 0 { 32 } else { 8 });
                }
                numbers(&mut row, C_IATTR, CUSTOMER_IATTRS, rng);
                // the reservations that clients make
                row.set_i64(C_IATTR + 10, 0);
                row.set_i64(C_IATTR + 11, 0);
            }
            worker.insert(self.customer.id, &buf)?;
            let mut airlines = HashSet::new();
            for _ in 0..draws.cards.draw(rng) {
                use frequent_flyer::*;
                let airline = an_airline(rng);
                if !airlines.insert(airline) {
                    continue;
                }
                let mut row = card_buf.edit(self.frequent_flyer.schema());
                row.set_i64(FF_C_ID, id);
                row.set_i64(FF_AL_ID, i64::from(airline));
                row.set_bytes(FF_C_ID_STR, &text_of(id));
                (0..FLYER_SATTRS).for_each(|at| text(&mut row, FF_SATTR + at, rng, 8, 32));
                numbers(&mut row, FF_IATTR, FLYER_IATTRS, rng);
                row.set_i64(FF_IATTR + 10, 0);
                worker.insert(self.frequent_flyer.id, &card_buf)?;
            }
            Ok(())
        })
    }

    fn load_flights<W: Worker>(&self, worker: &mut W, rng: &mut Rng, day: u32, draws: &Draws) -> Result<()> {
        let mut flights = Vec::new();
        let mut ids = HashSet::new();
        for _ in 0..rng.within(draws.flights.0, draws.flights.1) {
            let depart = draws.airports.draw(rng) as u32 + 1;
            let mut arrive = draws.airports.draw(rng) as u32 + 1;
            if arrive == depart {
                arrive = depart % AIRPORTS + 1;
            }
            // from six in the morning to eleven at night
            let slot = day * SLOTS_OF_DAY + rng.within(SLOTS_OF_DAY / 4, SLOTS_OF_DAY * 23 / 24);
            let airline = an_airline(rng);
            if ids.insert(flight_id(airline, depart, arrive, slot)) {
                flights.push((airline, depart, arrive, slot));
            }
        }
        let mut buf = RowBuf::new(self.flight.schema());
        let mut taken_buf = RowBuf::new(self.reservation.schema());
        let mut number = i64::from(day) << 32;
        in_batches(worker, rng, flights, 4, |worker, rng, (airline, depart, arrive, slot)| {
            let id = flight_id(airline, depart, arrive, slot);
            let mut taken = 0;
            let mut passengers = HashSet::new();
            for seat in 0..SEATS_OF_FLIGHT {
                use reservation::*;
                if !rng.percent(TAKEN) {
                    continue;
                }
                let passenger = a_customer(rng, &draws.customers, depart);
                if !passengers.insert(passenger) {
                    continue;
                }
                number += 1;
                taken += 1;
                let mut row = taken_buf.edit(self.reservation.schema());
                row.set_i64(R_ID, number);
                row.set_i64(R_C_ID, passenger);
                row.set_i64(R_F_ID, id);
                row.set_i64(R_SEAT, seat as i64);
                row.set_i64(R_PRICE, i64::from(rng.within(100_00, 1_000_00)));
                numbers(&mut row, R_IATTR, RESERVATION_IATTRS, rng);
                worker.insert(self.reservation.id, &taken_buf)?;
            }
            use flight::*;
            let departs = draws.start + i64::from(slot) * SLOT;
            let far = miles(draws.positions[depart as usize - 1], draws.positions[arrive as usize - 1]);
            let mut row = buf.edit(self.flight.schema());
            row.set_i64(F_ID, id);
            row.set_i64(F_AL_ID, i64::from(airline));
            row.set_i64(F_DEPART_AP_ID, i64::from(depart));
            row.set_i64(F_DEPART_TIME, departs);
            row.set_i64(F_ARRIVE_AP_ID, i64::from(arrive));
            row.set_i64(F_ARRIVE_TIME, departs + (far / SPEED * 3_600e6) as i64);
            row.set_i64(F_STATUS, 0);
            row.set_i64(F_BASE_PRICE, i64::from(rng.within(100_00, 1_000_00)));
            row.set_i64(F_SEATS_TOTAL, SEATS_OF_FLIGHT as i64);
            row.set_i64(F_SEATS_LEFT, SEATS_OF_FLIGHT as i64 - taken);
            numbers(&mut row, F_IATTR, FLIGHT_IATTRS, rng);
            worker.insert(self.flight.id, &buf).map(drop)
        })
    }
}

/// An airline: those in the middle fly most.
fn an_airline(rng: &mut Rng) -> u32 {
    let mut third = || rng.below(u64::from(AIRLINES));
    let sum = third() + third() + third();
    (sum / 3) as u32 + 1
}

/// A customer of an airport; of any, if that has none.
pub(super) fn a_customer(rng: &mut Rng, counts: &[u32], mut airport: u32) -> i64 {
    while counts[airport as usize - 1] == 0 {
        airport = rng.within(1, counts.len() as u32);
    }
    customer_id(airport, rng.below(u64::from(counts[airport as usize - 1])) as u32)
}

/// The distance of two places on the globe, given by longitude and latitude.
fn miles(a: (f64, f64), b: (f64, f64)) -> f64 {
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let (from, to) = (a.1.to_radians(), b.1.to_radians());
    let chord = half(a.1, b.1) + from.cos() * to.cos() * half(a.0, b.0);
    2.0 * 3_959.0 * chord.sqrt().min(1.0).asin()
}

fn text(row: &mut RowMut<'_>, column: usize, rng: &mut Rng, low: u32, high: u32) {
    let mut text = [0; 64];
    let text = &mut text[..rng.within(low, high) as usize];
    rng.alphanumeric(text);
    row.set_bytes(column, text);
}

fn numbers(row: &mut RowMut<'_>, first: usize, count: usize, rng: &mut Rng) {
    (first..first + count).for_each(|column| row.set_i64(column, (rng.bits() >> 33) as i64));
}
