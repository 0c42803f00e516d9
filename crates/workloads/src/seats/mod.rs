//! SEATS, as OLTP-Bench has it (Difallah et al., VLDB 2013; by Stonebraker and Pavlo): an airline's tickets. Customers
//! look for flights and seats, reserve them, change and cancel what they have reserved.
//!
//! Schema, mix, and the ways in which clients choose are OLTP-Bench's. What differs:
//!
//! - Countries, airports, airlines and how much they fly are made up, as many as OLTP-Bench's files have.
//! - Ids of customers and flights are numbers made of what OLTP-Bench's texts are made of. Amounts are exact, in cents.
//! - The index of flights begins with the airport of departure, which OLTP-Bench's has no column for: MySQL has one for
//!   the foreign key.
//! - A client does not keep which seats of a flight it has seen taken: in OLTP-Bench, whoever has seen an empty flight
//!   never reserves a seat on it.
//! - What is refused (the seat is taken, the customer has one on this flight) rolls back, and is not tried again.

mod check;
pub mod client;
mod load;

pub use check::{Facts, check};
pub use client::{Done, Seats, Traveller};

use crate::table::{WorkloadTable, create};
use scaledb_base::Result;
use scaledb_engine::{Access, Engine};
use scaledb_row::Column;
use scaledb_row::ColumnType::{Fixed, Float8, Int8, Text, Timestamp};
use serde::{Deserialize, Serialize};

/// Countries.
const COUNTRIES: u32 = 249;
/// Airports that flights go to.
const AIRPORTS: u32 = 286;
/// Airlines.
const AIRLINES: u32 = 1_250;
/// Seats of a flight.
pub const SEATS_OF_FLIGHT: usize = 150;
/// Days of flights in the past, and in the future.
const DAYS_PAST: u32 = 1;
const DAYS_FUTURE: u32 = 50;
/// Microseconds of a day, and of the slots that flights leave in.
const DAY: i64 = 86_400_000_000;
const SLOT: i64 = 600_000_000;
const SLOTS_OF_DAY: u32 = (DAY / SLOT) as u32;
/// The distances within which a search looks for other airports, in miles.
const DISTANCES: [u32; 5] = [5, 10, 25, 50, 100];

/// The workload's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Customers. There are as many flights of a day for each as with OLTP-Bench's 100,000.
    pub customers: u32,
}

impl Default for Config {
    /// The size that ScaleDB's paper measured (table 1).
    fn default() -> Self {
        Self { customers: 100_000 }
    }
}

impl Config {
    /// The customers of each airport, the large ones first.
    pub fn customers_of_airports(self) -> Vec<u32> {
        let weight = |airport: u32| f64::from(airport + 1).powf(-0.8);
        let all: f64 = (0..AIRPORTS).map(weight).sum();
        let share = |airport| (f64::from(self.customers) * weight(airport) / all) as u32;
        let mut counts: Vec<u32> = (0..AIRPORTS).map(share).collect();
        counts[0] += self.customers - counts.iter().sum::<u32>();
        counts
    }
}

/// Columns of `airport`.
pub mod airport {
    #![allow(missing_docs)]
    pub const AP_ID: usize = 0;
    pub const AP_CODE: usize = 1;
    pub const AP_NAME: usize = 2;
    pub const AP_CITY: usize = 3;
    pub const AP_POSTAL_CODE: usize = 4;
    pub const AP_CO_ID: usize = 5;
    pub const AP_LONGITUDE: usize = 6;
    pub const AP_LATITUDE: usize = 7;
    pub const AP_GMT_OFFSET: usize = 8;
    pub const AP_WAC: usize = 9;
    pub const AP_IATTR: usize = 10;
}

/// Columns of `airline`.
pub mod airline {
    #![allow(missing_docs)]
    pub const AL_ID: usize = 0;
    pub const AL_IATA_CODE: usize = 1;
    pub const AL_ICAO_CODE: usize = 2;
    pub const AL_CALL_SIGN: usize = 3;
    pub const AL_NAME: usize = 4;
    pub const AL_CO_ID: usize = 5;
    pub const AL_IATTR: usize = 6;
}

/// Columns of `customer`; the attributes with the first number.
pub mod customer {
    #![allow(missing_docs)]
    pub const C_ID: usize = 0;
    pub const C_ID_STR: usize = 1;
    pub const C_BASE_AP_ID: usize = 2;
    pub const C_BALANCE: usize = 3;
    pub const C_SATTR: usize = 4;
    pub const C_IATTR: usize = 24;
}

/// Columns of `frequent_flyer`.
pub mod frequent_flyer {
    #![allow(missing_docs)]
    pub const FF_C_ID: usize = 0;
    pub const FF_AL_ID: usize = 1;
    pub const FF_C_ID_STR: usize = 2;
    pub const FF_SATTR: usize = 3;
    pub const FF_IATTR: usize = 7;
}

/// Columns of `flight`.
pub mod flight {
    #![allow(missing_docs)]
    pub const F_ID: usize = 0;
    pub const F_AL_ID: usize = 1;
    pub const F_DEPART_AP_ID: usize = 2;
    pub const F_DEPART_TIME: usize = 3;
    pub const F_ARRIVE_AP_ID: usize = 4;
    pub const F_ARRIVE_TIME: usize = 5;
    pub const F_STATUS: usize = 6;
    pub const F_BASE_PRICE: usize = 7;
    pub const F_SEATS_TOTAL: usize = 8;
    pub const F_SEATS_LEFT: usize = 9;
    pub const F_IATTR: usize = 10;
}

/// Columns of `reservation`.
pub mod reservation {
    #![allow(missing_docs)]
    pub const R_ID: usize = 0;
    pub const R_C_ID: usize = 1;
    pub const R_F_ID: usize = 2;
    pub const R_SEAT: usize = 3;
    pub const R_PRICE: usize = 4;
    pub const R_IATTR: usize = 5;
}

/// Integer attributes of a table.
const AIRPORT_IATTRS: usize = 16;
const AIRLINE_IATTRS: usize = 16;
const CUSTOMER_SATTRS: usize = 20;
const CUSTOMER_IATTRS: usize = 20;
const FLYER_SATTRS: usize = 4;
const FLYER_IATTRS: usize = 16;
const FLIGHT_IATTRS: usize = 30;
const RESERVATION_IATTRS: usize = 9;

/// The tables and their indexes.
#[derive(Clone, Debug)]
pub struct Tables {
    /// `country`.
    pub country: WorkloadTable,
    /// `airport`.
    pub airport: WorkloadTable,
    /// `airport_distance`.
    pub airport_distance: WorkloadTable,
    /// `airline`.
    pub airline: WorkloadTable,
    /// `customer`.
    pub customer: WorkloadTable,
    /// The unique index of customers on their id as text.
    pub customer_by_text: WorkloadTable,
    /// `frequent_flyer`.
    pub frequent_flyer: WorkloadTable,
    /// The index of frequent flyers on the customer's id as text.
    pub flyer_by_text: WorkloadTable,
    /// `flight`.
    pub flight: WorkloadTable,
    /// The index of flights on the airport and time of departure.
    pub flight_by_departure: WorkloadTable,
    /// `reservation`.
    pub reservation: WorkloadTable,
    /// The unique index of reservations on the flight and the seat.
    pub reservation_by_seat: WorkloadTable,
}

impl Tables {
    /// Creates them.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E, synchronous: bool) -> Result<Self> {
        let int = |name: &str| Column::new(name, Int8);
        let numbered = |name: &'static str, count: usize| {
            (0..count).map(move |number| Column::new(&format!("{name}{number:02}"), Int8))
        };
        let table = |name: &str, columns: Vec<Column>, key: &[usize], indexes: &[_]| {
            create(engine, name, columns, key, Access::Hashed, indexes, synchronous)
        };
        let country = vec![
            int("co_id"),
            Column::new("co_name", Fixed(64)),
            Column::new("co_code_2", Fixed(2)),
            Column::new("co_code_3", Fixed(3)),
        ];
        let mut airport = vec![
            int("ap_id"),
            Column::new("ap_code", Fixed(3)),
            Column::new("ap_name", Text(128)),
            Column::new("ap_city", Text(64)),
            Column::new("ap_postal_code", Fixed(12)).nullable(),
            int("ap_co_id"),
            Column::new("ap_longitude", Float8).nullable(),
            Column::new("ap_latitude", Float8).nullable(),
            Column::new("ap_gmt_offset", Float8).nullable(),
            int("ap_wac").nullable(),
        ];
        airport.extend(numbered("ap_iattr", AIRPORT_IATTRS));
        let distance = vec![int("d_ap_id0"), int("d_ap_id1"), Column::new("d_distance", Float8)];
        let mut airline = vec![
            int("al_id"),
            Column::new("al_iata_code", Fixed(3)),
            Column::new("al_icao_code", Fixed(3)),
            Column::new("al_call_sign", Text(32)),
            Column::new("al_name", Text(128)),
            int("al_co_id"),
        ];
        airline.extend(numbered("al_iattr", AIRLINE_IATTRS));
        // what transactions write is a conflict group of its own
        let mut customer = vec![
            int("c_id"),
            Column::new("c_id_str", Fixed(TEXT_BYTES as u16)),
            int("c_base_ap_id"),
            int("c_balance").group(1),
        ];
        let sattr =
            |name: &str, number: usize, bytes| Column::new(&format!("{name}{number:02}"), Fixed(bytes));
        customer.extend((0..CUSTOMER_SATTRS).map(|n| sattr("c_sattr", n, if n == 0 { 32 } else { 8 })));
        customer.extend(numbered("c_iattr", CUSTOMER_IATTRS).map(|column| column.group(1)));
        let mut flyer =
            vec![int("ff_c_id"), int("ff_al_id"), Column::new("ff_c_id_str", Fixed(TEXT_BYTES as u16))];
        flyer.extend((0..FLYER_SATTRS).map(|n| sattr("ff_sattr", n, 32)));
        flyer.extend(numbered("ff_iattr", FLYER_IATTRS));
        let mut flight = vec![
            int("f_id"),
            int("f_al_id"),
            int("f_depart_ap_id"),
            Column::new("f_depart_time", Timestamp),
            int("f_arrive_ap_id"),
            Column::new("f_arrive_time", Timestamp),
            int("f_status"),
            int("f_base_price"),
            int("f_seats_total"),
            int("f_seats_left").group(1),
        ];
        flight.extend(numbered("f_iattr", FLIGHT_IATTRS));
        let mut reservation = vec![int("r_id"), int("r_c_id"), int("r_f_id"), int("r_seat"), int("r_price")];
        reservation.extend(numbered("r_iattr", RESERVATION_IATTRS));
        let customer =
            table("customer", customer, &[0], &[("customer_by_text", &[customer::C_ID_STR][..], true)])?;
        let flyer = table(
            "frequent_flyer",
            flyer,
            &[frequent_flyer::FF_C_ID, frequent_flyer::FF_AL_ID],
            &[("flyer_by_text", &[frequent_flyer::FF_C_ID_STR][..], false)],
        )?;
        let departure = [flight::F_DEPART_AP_ID, flight::F_DEPART_TIME];
        let flight = table("flight", flight, &[0], &[("flight_by_departure", &departure[..], false)])?;
        let seat = [reservation::R_F_ID, reservation::R_SEAT];
        let reservation = table(
            "reservation",
            reservation,
            &[reservation::R_ID, reservation::R_C_ID, reservation::R_F_ID],
            &[("reservation_by_seat", &seat[..], true)],
        )?;
        Ok(Self {
            country: table("country", country, &[0], &[])?,
            airport: table("airport", airport, &[0], &[])?,
            airport_distance: table("airport_distance", distance, &[0, 1], &[])?,
            airline: table("airline", airline, &[0], &[])?,
            customer_by_text: customer.index(0),
            customer,
            flyer_by_text: flyer.index(0),
            frequent_flyer: flyer,
            flight_by_departure: flight.index(0),
            flight,
            reservation_by_seat: reservation.index(0),
            reservation,
        })
    }
}

/// Bytes of a customer's id as text.
const TEXT_BYTES: usize = 20;

/// A customer's id as text.
fn text_of(customer: i64) -> [u8; TEXT_BYTES] {
    let (mut text, mut rest) = ([b'0'; TEXT_BYTES], customer.unsigned_abs());
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text
}

/// A customer's id: the airport, and a number there.
#[inline]
fn customer_id(airport: u32, number: u32) -> i64 {
    i64::from(airport) << 32 | i64::from(number)
}

/// A flight's id: airline, airports, and the slot that it leaves in.
#[inline]
fn flight_id(airline: u32, depart: u32, arrive: u32, slot: u32) -> i64 {
    i64::from(airline) << 48 | i64::from(depart) << 32 | i64::from(arrive) << 16 | i64::from(slot)
}

/// The airports of departure and arrival, and the slot, of a flight.
#[inline]
fn parts_of(flight: i64) -> (u32, u32, u32) {
    let part = |shift: u32| (flight >> shift) as u32 & 0xFFFF;
    (part(32), part(16), part(0))
}

/// Integers as the parts of encoded keys.
#[inline]
fn key<const N: usize>(parts: [i64; N]) -> [[u8; 8]; N] {
    parts.map(|part| (part as u64 ^ 1 << 63).to_be_bytes())
}

/// Reads them back.
#[inline]
fn part_of(key: &[u8], number: usize) -> i64 {
    let bytes = key[8 * number..8 * number + 8].try_into().expect("8 bytes");
    (u64::from_be_bytes(bytes) ^ 1 << 63) as i64
}

/// Ids of reservations that clients make are as large at least: those of the population are smaller.
const FIRST_OWN: i64 = 1 << 62;
