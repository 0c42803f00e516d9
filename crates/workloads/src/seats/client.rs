//! One thread's transactions: which come next, and what they leave to remember.

mod transactions;

use super::load::{a_customer, first_day};
use super::{
    AIRPORTS, Config, DAY, DAYS_FUTURE, DAYS_PAST, DISTANCES, FIRST_OWN, RESERVATION_IATTRS, SEATS_OF_FLIGHT,
    SLOT, Tables, airline, airport, customer, flight, frequent_flyer, part_of, parts_of, reservation,
};
use crate::driver::{Abort, Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
use scaledb_base::{Error, Result};
use scaledb_engine::{Order, Range, RowId, TxnKind, Worker};
use scaledb_row::{Projection, RowBuf};
use scaledb_sync::Arc;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Flights that clients know of.
const KNOWN_FLIGHTS: usize = 10_000;
/// Reservations that a client is about to make, to change and to delete.
const LIMITS: [usize; 3] = [10_000, 5_000, 5_000];
/// Of 100 searches, how many look at other airports nearby, and how many are for any two airports.
const NEARBY: u32 = 25;
const ANYWHERE: u32 = 10;
/// Of 100 deletions, how many name the customer by text, and how many by a card; of 100 updates, by text.
const BY_TEXT: u32 = 20;
const BY_CARD: u32 = 20;
/// Of 100 updates of a customer, how many update the cards, too.
const CARDS: u32 = 25;
/// Of 100 deleted reservations, how many are made again.
const AGAIN: u32 = 90;
/// The most airports that flights are looked for to.
const ARRIVALS: usize = 3;

/// SEATS on loaded tables.
#[derive(Clone, Debug)]
pub struct Seats {
    tables: Arc<Tables>,
    seed: u64,
    snapshot_reads: bool,
    customers: Arc<[u32]>,
    flights: Arc<[i64]>,
    start: i64,
}

impl Seats {
    /// The workload on tables that were loaded at `now`. With `snapshot_reads`, what only reads sees a recent snapshot
    /// instead of the current state.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn new<W: Worker>(
        config: Config,
        tables: Arc<Tables>,
        seed: u64,
        snapshot_reads: bool,
        now: i64,
        worker: &mut W,
    ) -> Result<Self> {
        let start = first_day(now);
        let upcoming = start + i64::from(DAYS_PAST) * DAY;
        let columns = tables.flight.project(&[flight::F_DEPART_TIME]);
        let mut flights = worker.run(TxnKind::Deferrable, |worker| {
            let mut flights = Vec::new();
            worker.scan(tables.flight.id, Range::ALL, Order::Forward, &columns, |_, key, row| {
                let departs = row.i64(flight::F_DEPART_TIME);
                flights.extend((departs >= upcoming).then(|| (departs, part_of(key, 0))));
                ControlFlow::Continue(())
            })?;
            Ok(flights)
        })?;
        flights.sort_unstable();
        flights.truncate(KNOWN_FLIGHTS);
        Ok(Self {
            customers: config.customers_of_airports().into(),
            flights: flights.into_iter().map(|(_, id)| id).collect(),
            tables,
            seed,
            snapshot_reads,
            start,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    DeleteReservation,
    FindFlights,
    FindOpenSeats,
    NewReservation,
    UpdateCustomer,
    UpdateReservation,
}

use Class::*;

/// The transactions, and how many of 100 each makes.
const SHARES: [(Class, u32); 6] = [
    (DeleteReservation, 10),
    (FindFlights, 10),
    (FindOpenSeats, 35),
    (NewReservation, 20),
    (UpdateCustomer, 10),
    (UpdateReservation, 15),
];

impl Workload for Seats {
    type Client = Traveller;

    fn classes(&self) -> &'static [&'static str] {
        &[
            "Delete-Reservation",
            "Find-Flights",
            "Find-Open-Seats",
            "New-Reservation",
            "Update-Customer",
            "Update-Reservation",
        ]
    }

    fn client(&self, number: usize, _: usize) -> Traveller {
        let t = &*self.tables;
        let customer = |columns: &[usize]| t.customer.project(columns);
        Traveller {
            rng: Rng::new(self.seed, number as u64),
            reads: if self.snapshot_reads { TxnKind::Snapshot } else { TxnKind::ReadOnly },
            class: FindOpenSeats,
            start: self.start,
            customers: self.customers.clone(),
            flights: self.flights.clone(),
            queues: std::array::from_fn(|_| VecDeque::new()),
            next_id: FIRST_OWN + ((number as i64) << 40),
            now: Reservation::default(),
            customer: Naming::Id(0),
            value: 0,
            seat: 0,
            attributes: [0; RESERVATION_IATTRS],
            update_cards: false,
            search: Search::default(),
            open: Vec::with_capacity(SEATS_OF_FLIGHT),
            found: Vec::with_capacity(64),
            cards: Vec::with_capacity(16),
            buffer: RowBuf::new(t.reservation.schema()),
            done: Done::default(),
            pending: Done::default(),
            columns: Columns {
                existence: Projection::existence(),
                airport: t.airport.project(&[
                    airport::AP_CODE,
                    airport::AP_NAME,
                    airport::AP_CITY,
                    airport::AP_CO_ID,
                    airport::AP_LONGITUDE,
                    airport::AP_LATITUDE,
                ]),
                country: Projection::all(t.country.schema()),
                distance: Projection::all(t.airport_distance.schema()),
                airline: t.airline.project(&[airline::AL_NAME, airline::AL_IATTR, airline::AL_IATTR + 1]),
                airline_all: Projection::all(t.airline.schema()),
                departure: t.flight.project(&[
                    flight::F_ID,
                    flight::F_AL_ID,
                    flight::F_SEATS_LEFT,
                    flight::F_DEPART_AP_ID,
                    flight::F_DEPART_TIME,
                    flight::F_ARRIVE_AP_ID,
                    flight::F_ARRIVE_TIME,
                ]),
                price: t.flight.project(&[
                    flight::F_STATUS,
                    flight::F_BASE_PRICE,
                    flight::F_SEATS_TOTAL,
                    flight::F_SEATS_LEFT,
                ]),
                left: t.flight.project(&[flight::F_AL_ID, flight::F_SEATS_LEFT]),
                seats_left: t.flight.project(&[flight::F_SEATS_LEFT]),
                seat: t.reservation.project(&[reservation::R_ID, reservation::R_F_ID, reservation::R_SEAT]),
                passenger: t.reservation.project(&[
                    reservation::R_ID,
                    reservation::R_C_ID,
                    reservation::R_PRICE,
                ]),
                change: std::array::from_fn(|n| {
                    t.reservation.project(&[reservation::R_SEAT, reservation::R_IATTR + n])
                }),
                customer: customer(&[customer::C_BASE_AP_ID, customer::C_BALANCE, customer::C_SATTR]),
                customer_all: Projection::all(t.customer.schema()),
                refunded: customer(&[
                    customer::C_BALANCE,
                    customer::C_IATTR,
                    customer::C_IATTR + 10,
                    customer::C_IATTR + 11,
                ]),
                booked: customer(&[
                    customer::C_IATTR + 10,
                    customer::C_IATTR + 11,
                    customer::C_IATTR + 12,
                    customer::C_IATTR + 13,
                    customer::C_IATTR + 14,
                    customer::C_IATTR + 15,
                ]),
                changed: customer(&[customer::C_IATTR, customer::C_IATTR + 1]),
                id: customer(&[customer::C_ID]),
                card: t.frequent_flyer.project(&[frequent_flyer::FF_C_ID, frequent_flyer::FF_AL_ID]),
                card_booked: t.frequent_flyer.project(&[
                    frequent_flyer::FF_IATTR + 10,
                    frequent_flyer::FF_IATTR + 11,
                    frequent_flyer::FF_IATTR + 12,
                    frequent_flyer::FF_IATTR + 13,
                    frequent_flyer::FF_IATTR + 14,
                ]),
                card_all: Projection::all(t.frequent_flyer.schema()),
                card_changed: t
                    .frequent_flyer
                    .project(&[frequent_flyer::FF_IATTR, frequent_flyer::FF_IATTR + 1]),
            },
            tables: self.tables.clone(),
        }
    }
}

/// What transactions read and write of the tables.
#[derive(Clone, Debug)]
struct Columns {
    existence: Projection,
    airport: Projection,
    country: Projection,
    distance: Projection,
    airline: Projection,
    airline_all: Projection,
    departure: Projection,
    price: Projection,
    left: Projection,
    seats_left: Projection,
    seat: Projection,
    passenger: Projection,
    change: [Projection; 4],
    customer: Projection,
    customer_all: Projection,
    refunded: Projection,
    booked: Projection,
    changed: Projection,
    id: Projection,
    card: Projection,
    card_booked: Projection,
    card_all: Projection,
    card_changed: Projection,
}

/// What a client has in mind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reservation {
    id: i64,
    customer: i64,
    flight: i64,
    seat: i64,
}

/// How a transaction names its customer.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Id(i64),
    Text(i64),
    /// By the text on a card.
    Card(i64),
}

/// What flights are looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    depart: u32,
    arrive: u32,
    from: i64,
    to: i64,
    /// 0: no other airports.
    distance: u32,
}

/// What a client's committed transactions have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Reservations made.
    pub made: u64,
    /// Reservations deleted.
    pub deleted: u64,
    /// The prices of those that were deleted, in cents.
    pub refunded: i64,
    /// What cards count: reservations made, less those deleted.
    pub on_cards: i64,
}

impl std::ops::Add for Done {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            made: self.made + other.made,
            deleted: self.deleted + other.deleted,
            refunded: self.refunded + other.refunded,
            on_cards: self.on_cards + other.on_cards,
        }
    }
}

impl std::iter::Sum for Done {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| a + b)
    }
}

const INSERTS: usize = 0;
const UPDATES: usize = 1;
const DELETES: usize = 2;

/// One thread's client.
#[derive(Clone, Debug)]
pub struct Traveller {
    tables: Arc<Tables>,
    rng: Rng,
    reads: TxnKind,
    class: Class,
    start: i64,
    customers: Arc<[u32]>,
    flights: Arc<[i64]>,
    /// Reservations that are to be made, changed and deleted.
    queues: [VecDeque<Reservation>; 3],
    next_id: i64,
    /// The input of the transaction at hand.
    now: Reservation,
    customer: Naming,
    value: i64,
    seat: i64,
    attributes: [i64; RESERVATION_IATTRS],
    update_cards: bool,
    search: Search,
    /// What it has found, in memory that is used again: open seats, flights, cards.
    open: Vec<i64>,
    found: Vec<Found>,
    cards: Vec<RowId>,
    buffer: RowBuf,
    done: Done,
    pending: Done,
    columns: Columns,
}

/// A flight that a search has found: its airline and its airports.
#[derive(Clone, Copy, Debug)]
struct Found {
    airline: i64,
    airports: [i64; 2],
}

fn refused() -> Abort {
    Error::RolledBack.into()
}

impl Traveller {
    /// What its committed transactions have done.
    pub fn done(&self) -> Done {
        self.done
    }

    fn queue(&mut self, queue: usize, reservation: Reservation) {
        self.queues[queue].push_back(reservation);
        if self.queues[queue].len() > LIMITS[queue] {
            self.queues[queue].pop_front();
        }
    }

    /// A reservation that is there will be changed or deleted.
    fn keep_in_mind(&mut self, reservation: Reservation) {
        let queue = if self.rng.percent(50) { DELETES } else { UPDATES };
        self.queue(queue, reservation);
    }

    fn any_flight(&mut self) -> i64 {
        self.flights[self.rng.below(self.flights.len() as u64) as usize]
    }

    /// Takes the input of a transaction of this class. False if there is none: another class has to come first.
    fn enter(&mut self, class: Class) -> bool {
        let queue = match class {
            DeleteReservation => Some(DELETES),
            NewReservation => Some(INSERTS),
            UpdateReservation => Some(UPDATES),
            _ => None,
        };
        if let Some(queue) = queue {
            let Some(reservation) = self.queues[queue].pop_front() else { return false };
            self.now = reservation;
        }
        match class {
            DeleteReservation => {
                let (card, customer) = (self.rng.below(100) as u32, self.now.customer);
                self.customer = if card < BY_TEXT {
                    Naming::Text(customer)
                } else if card < BY_TEXT + BY_CARD {
                    Naming::Card(customer)
                } else {
                    Naming::Id(customer)
                };
            }
            FindFlights => self.enter_search(),
            FindOpenSeats => self.now.flight = self.any_flight(),
            NewReservation => {
                self.value = 2 * i64::from(self.rng.within(100, 1_000)) * 100;
                for attribute in &mut self.attributes {
                    *attribute = self.rng.bits() as i64;
                }
            }
            UpdateCustomer => {
                let airport = self.rng.within(1, AIRPORTS);
                let customer = a_customer(&mut self.rng, &self.customers, airport);
                self.customer = match self.rng.percent(BY_TEXT) {
                    true => Naming::Text(customer),
                    false => Naming::Id(customer),
                };
                self.update_cards = self.rng.percent(CARDS);
                self.attributes[0] = self.rng.bits() as i64;
                self.attributes[1] = self.rng.bits() as i64;
            }
            UpdateReservation => {
                self.value = i64::from(self.rng.within(1, 1 << 20));
                self.attributes[0] = self.rng.below(self.columns.change.len() as u64) as i64;
                self.seat = self.rng.below(SEATS_OF_FLIGHT as u64) as i64;
            }
        }
        true
    }

    fn enter_search(&mut self) {
        self.search = if self.rng.percent(ANYWHERE) {
            let depart = self.rng.within(1, AIRPORTS);
            let arrive = (depart + self.rng.within(0, AIRPORTS - 2)) % AIRPORTS + 1;
            let days = i64::from(DAYS_PAST) + self.rng.below(u64::from(DAYS_FUTURE)) as i64;
            let from = self.start + days * DAY;
            Search { depart, arrive, from, to: from + 2 * DAY, distance: 0 }
        } else {
            let (depart, arrive, slot) = parts_of(self.any_flight());
            let departs = self.start + i64::from(slot) * SLOT;
            Search { depart, arrive, from: departs - DAY / 2, to: departs + DAY / 2, distance: 0 }
        };
        if self.rng.percent(NEARBY) {
            self.search.distance = DISTANCES[self.rng.below(DISTANCES.len() as u64) as usize];
        }
    }
}

impl Client for Traveller {
    fn prepare(&mut self, _: i64) -> Transaction {
        loop {
            let mut card = self.rng.below(100) as u32;
            let mut class = UpdateReservation;
            for (drawn, share) in SHARES {
                if card < share {
                    class = drawn;
                    break;
                }
                card -= share;
            }
            // what a client has nothing to do for comes again later
            if self.enter(class) {
                self.class = class;
                break;
            }
        }
        self.pending = Done::default();
        let reads = matches!(self.class, FindFlights | FindOpenSeats);
        Transaction { class: self.class as usize, kind: if reads { self.reads } else { TxnKind::ReadWrite } }
    }

    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        let t = &*self.tables.clone();
        match self.class {
            DeleteReservation => self.delete_reservation(worker, t),
            FindFlights => self.find_flights(worker, t),
            FindOpenSeats => self.find_open_seats(worker, t),
            NewReservation => self.new_reservation(worker, t),
            UpdateCustomer => self.update_customer(worker, t),
            UpdateReservation => self.update_reservation(worker, t),
        }
    }

    fn committed(&mut self) {
        self.done = self.done + self.pending;
        match self.class {
            DeleteReservation => {
                if self.rng.percent(AGAIN) {
                    self.next_id += 1;
                    self.queue(INSERTS, Reservation { id: self.next_id, ..self.now });
                }
            }
            FindOpenSeats => {
                let (depart, ..) = parts_of(self.now.flight);
                let mut open = std::mem::take(&mut self.open);
                self.rng.shuffle(&mut open);
                for &seat in &open {
                    self.next_id += 1;
                    let customer = a_customer(&mut self.rng, &self.customers, depart);
                    self.queue(
                        INSERTS,
                        Reservation { id: self.next_id, customer, flight: self.now.flight, seat },
                    );
                }
                self.open = open;
            }
            NewReservation => self.keep_in_mind(self.now),
            UpdateReservation => self.keep_in_mind(Reservation { seat: self.seat, ..self.now }),
            FindFlights | UpdateCustomer => {}
        }
    }
}
