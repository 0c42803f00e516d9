//! One thread's transactions.

use super::load::{a_customer, first_day};
use super::{
    AIRPORTS, Config, DAY, DAYS_FUTURE, DAYS_PAST, DISTANCES, FIRST_OWN, RESERVATION_IATTRS, SEATS_OF_FLIGHT,
    SLOT, Tables, airline, airport, customer, flight, frequent_flyer, key, part_of, parts_of, reservation,
    text_of,
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

    /// The customer, and with a card its airline.
    fn look_up<W: Worker>(&self, worker: &mut W, t: &Tables) -> Outcome<(i64, Option<i64>)> {
        let columns = &self.columns;
        match self.customer {
            Naming::Id(id) => Ok((id, None)),
            Naming::Text(id) => {
                let text = text_of(id);
                let found =
                    worker.get(t.customer_by_text.id, &text, &columns.id, |_, row| row.i64(customer::C_ID));
                Ok((found?.ok_or(Abort::Inconsistent("a customer is missing"))?, None))
            }
            Naming::Card(id) => {
                let from = text_of(id);
                let mut to = from;
                // digits: no carry
                to[from.len() - 1] += 1;
                let mut found = None;
                worker.scan(
                    t.flyer_by_text.id,
                    Range::new(&from, &to),
                    Order::Forward,
                    &columns.card,
                    |_, _, row| {
                        use frequent_flyer::*;
                        found = Some((row.i64(FF_C_ID), Some(row.i64(FF_AL_ID))));
                        ControlFlow::Break(())
                    },
                )?;
                found.ok_or_else(refused)
            }
        }
    }

    /// The reservation of a customer on a flight: its row, its id and its price.
    fn reservation_of<W: Worker>(
        &self,
        worker: &mut W,
        t: &Tables,
        customer: i64,
    ) -> Outcome<Option<(RowId, i64, i64)>> {
        let [from, to] = key([self.now.flight, self.now.flight + 1]);
        let mut found = None;
        let range = Range::new(&from, &to);
        worker.scan(
            t.reservation_by_seat.id,
            range,
            Order::Forward,
            &self.columns.passenger,
            |row_id, _, row| {
                use reservation::*;
                if row.i64(R_C_ID) == customer {
                    found = Some((row_id, row.i64(R_ID), row.i64(R_PRICE)));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(found)
    }

    fn is_taken<W: Worker>(&self, worker: &mut W, t: &Tables, seat: i64) -> Outcome<bool> {
        let key = key([self.now.flight, seat]);
        let found =
            worker.get(t.reservation_by_seat.id, key.as_flattened(), &self.columns.existence, |_, _| ());
        Ok(found?.is_some())
    }

    fn delete_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let (customer, airline) = self.look_up(worker, t)?;
        let columns = &self.columns;
        let [id] = key([customer]);
        let [flight] = key([self.now.flight]);
        let (row, _, price) = self.reservation_of(worker, t, customer)?.ok_or_else(refused)?;
        worker.delete_at(t.reservation.id, row)?;
        let freed = worker.update(t.flight.id, &flight, &columns.seats_left, |row| {
            let left = row.view().i64(flight::F_SEATS_LEFT);
            row.set_i64(flight::F_SEATS_LEFT, left + 1);
            Ok(())
        });
        freed?.ok_or(Abort::Inconsistent("a flight is missing"))?;
        let changed = worker.update(t.customer.id, &id, &columns.refunded, |row| {
            use customer::*;
            let counted = row.view().i64(C_IATTR + 10);
            row.set_i64(C_BALANCE, row.view().i64(C_BALANCE) - price);
            row.set_i64(C_IATTR, row.view().i64(C_IATTR).wrapping_add(1));
            row.set_i64(C_IATTR + 10, counted - 1);
            row.set_i64(C_IATTR + 11, counted - 1);
            Ok(())
        });
        changed?.ok_or(Abort::Inconsistent("a customer is missing"))?;
        self.pending = Done { deleted: 1, refunded: price, ..Done::default() };
        if let Some(airline) = airline {
            let card = key([customer, airline]);
            let changed =
                worker.update(t.frequent_flyer.id, card.as_flattened(), &columns.card_booked, |row| {
                    use frequent_flyer::*;
                    row.set_i64(FF_IATTR + 10, row.view().i64(FF_IATTR + 10) - 1);
                    Ok(())
                });
            self.pending.on_cards = -i64::from(changed?.is_some());
        }
        Ok(())
    }

    fn find_flights<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let columns = &self.columns;
        let Search { depart, arrive, from, to, distance } = self.search;
        let mut arrivals = [i64::from(arrive); ARRIVALS];
        if distance > 0 {
            let mut near: [(f64, i64); ARRIVALS - 1] = [(f64::INFINITY, i64::from(arrive)); ARRIVALS - 1];
            let [start, end] = key([i64::from(depart), i64::from(depart) + 1]);
            worker.scan(
                t.airport_distance.id,
                Range::new(&start, &end),
                Order::Forward,
                &columns.distance,
                |_, _, row| {
                    let (id, miles) = (row.i64(1), row.f64(2));
                    if miles <= f64::from(distance)
                        && let Some(at) = near.iter().position(|&(other, _)| miles < other)
                    {
                        near[at..].rotate_right(1);
                        near[at] = (miles, id);
                    }
                    ControlFlow::Continue(())
                },
            )?;
            near.iter().zip(&mut arrivals[1..]).for_each(|(&(_, id), arrival)| *arrival = id);
        }
        let (start, end) = (key([i64::from(depart), from]), key([i64::from(depart), to + 1]));
        let found = &mut self.found;
        found.clear();
        let range = Range::new(start.as_flattened(), end.as_flattened());
        worker.scan(t.flight_by_departure.id, range, Order::Forward, &columns.departure, |_, _, row| {
            use flight::*;
            if arrivals.contains(&row.i64(F_ARRIVE_AP_ID)) {
                let airports = [row.i64(F_DEPART_AP_ID), row.i64(F_ARRIVE_AP_ID)];
                found.push(Found { airline: row.i64(F_AL_ID), airports });
            }
            ControlFlow::Continue(())
        })?;
        for found in &self.found {
            let [airline] = key([found.airline]);
            let name = worker
                .get(t.airline.id, &airline, &columns.airline, |_, row| row.text(airline::AL_NAME).len());
            name?.ok_or(Abort::Inconsistent("an airline is missing"))?;
            for airport in found.airports {
                self.visit(worker, t, airport)?;
            }
        }
        Ok(())
    }

    /// Reads an airport and its country.
    fn visit<W: Worker>(&self, worker: &mut W, t: &Tables, airport: i64) -> Outcome {
        let [id] = key([airport]);
        let country =
            worker.get(t.airport.id, &id, &self.columns.airport, |_, row| row.i64(airport::AP_CO_ID));
        let [country] = key([country?.ok_or(Abort::Inconsistent("an airport is missing"))?]);
        let name = worker.get(t.country.id, &country, &self.columns.country, |_, row| row.bytes(1).len());
        name?.ok_or(Abort::Inconsistent("a country is missing")).map(drop)
    }

    fn find_open_seats<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let [from, to] = key([self.now.flight, self.now.flight + 1]);
        let price = worker.get(t.flight.id, &from, &self.columns.price, |_, row| {
            use flight::*;
            let (base, total, left) = (row.i64(F_BASE_PRICE), row.i64(F_SEATS_TOTAL), row.i64(F_SEATS_LEFT));
            (base + base * (total - left) / total.max(1), left)
        })?;
        let (price, left) = price.ok_or(Abort::Inconsistent("a flight is missing"))?;
        let mut taken = [false; SEATS_OF_FLIGHT];
        worker.scan(
            t.reservation_by_seat.id,
            Range::new(&from, &to),
            Order::Forward,
            &self.columns.seat,
            |_, _, row| {
                if let Some(taken) = taken.get_mut(row.i64(reservation::R_SEAT) as usize) {
                    *taken = true;
                }
                ControlFlow::Continue(())
            },
        )?;
        self.value = price;
        self.open.clear();
        self.open.extend((0..).zip(taken).filter(|(_, taken)| !taken).map(|(seat, _)| seat));
        if self.open.len() as i64 != left {
            return Err(Abort::Inconsistent("a flight has other seats left than are not taken"));
        }
        Ok(())
    }

    fn new_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let Reservation { id, customer, flight, seat } = self.now;
        let columns = &self.columns;
        let [flight_key, customer_key] = key([flight, customer]);
        let found = worker.get(t.flight.id, &flight_key, &columns.left, |_, row| {
            (row.i64(flight::F_AL_ID), row.i64(flight::F_SEATS_LEFT))
        });
        let (airline, left) = found?.ok_or(Abort::Inconsistent("a flight is missing"))?;
        let [airline_key] = key([airline]);
        let known =
            worker.get(t.airline.id, &airline_key, &columns.airline_all, |_, row| row.i64(airline::AL_CO_ID));
        known?.ok_or(Abort::Inconsistent("an airline is missing"))?;
        if left <= 0 || self.is_taken(worker, t, seat)? || self.reservation_of(worker, t, customer)?.is_some()
        {
            return Err(refused());
        }
        let known = worker
            .get(t.customer.id, &customer_key, &columns.customer, |_, row| row.i64(customer::C_BALANCE));
        known?.ok_or(Abort::Inconsistent("a customer is missing"))?;
        let attributes = self.attributes;
        {
            use reservation::*;
            let mut row = self.buffer.edit(t.reservation.schema());
            row.set_i64(R_ID, id);
            row.set_i64(R_C_ID, customer);
            row.set_i64(R_F_ID, flight);
            row.set_i64(R_SEAT, seat);
            row.set_i64(R_PRICE, self.value);
            attributes.iter().enumerate().for_each(|(n, &value)| row.set_i64(R_IATTR + n, value));
        }
        worker.insert(t.reservation.id, &self.buffer)?;
        let booked = worker.update(t.flight.id, &flight_key, &columns.seats_left, |row| {
            let left = row.view().i64(flight::F_SEATS_LEFT);
            row.set_i64(flight::F_SEATS_LEFT, left - 1);
            Ok(())
        });
        booked?.ok_or(Abort::Inconsistent("a flight is missing"))?;
        let booked = worker.update(t.customer.id, &customer_key, &columns.booked, |row| {
            use customer::*;
            row.set_i64(C_IATTR + 10, row.view().i64(C_IATTR + 10) + 1);
            row.set_i64(C_IATTR + 11, row.view().i64(C_IATTR + 11) + 1);
            (0..4).for_each(|n| row.set_i64(C_IATTR + 12 + n, attributes[n]));
            Ok(())
        });
        booked?.ok_or(Abort::Inconsistent("a customer is missing"))?;
        let card = key([customer, airline]);
        let on_card = worker.update(t.frequent_flyer.id, card.as_flattened(), &columns.card_booked, |row| {
            use frequent_flyer::*;
            row.set_i64(FF_IATTR + 10, row.view().i64(FF_IATTR + 10) + 1);
            (0..4).for_each(|n| row.set_i64(FF_IATTR + 11 + n, attributes[4 + n]));
            Ok(())
        });
        self.pending = Done { made: 1, on_cards: i64::from(on_card?.is_some()), ..Done::default() };
        Ok(())
    }

    fn update_customer<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let (customer, _) = self.look_up(worker, t)?;
        let [from, to] = key([customer, customer + 1]);
        let columns = &self.columns;
        let (first, second) = (self.attributes[0], self.attributes[1]);
        let base =
            worker.get(t.customer.id, &from, &columns.customer_all, |_, row| row.i64(customer::C_BASE_AP_ID));
        let base = base?.ok_or(Abort::Inconsistent("a customer is missing"))?;
        self.visit(worker, t, base)?;
        if self.update_cards {
            let cards = &mut self.cards;
            cards.clear();
            let range = Range::new(&from, &to);
            worker.scan(t.frequent_flyer.id, range, Order::Forward, &columns.card_all, |id, _, _| {
                cards.push(id);
                ControlFlow::Continue(())
            })?;
            for &card in &*cards {
                worker.update_at(t.frequent_flyer.id, card, &columns.card_changed, |row| {
                    row.set_i64(frequent_flyer::FF_IATTR, first);
                    row.set_i64(frequent_flyer::FF_IATTR + 1, second);
                    Ok(())
                })?;
            }
        }
        let changed = worker.update(t.customer.id, &from, &columns.changed, |row| {
            row.set_i64(customer::C_IATTR, first);
            row.set_i64(customer::C_IATTR + 1, second);
            Ok(())
        });
        changed?.ok_or(Abort::Inconsistent("a customer is missing"))
    }

    fn update_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        if self.is_taken(worker, t, self.seat)? {
            return Err(refused());
        }
        let (row, ..) = self.reservation_of(worker, t, self.now.customer)?.ok_or_else(refused)?;
        let (seat, value, number) = (self.seat, self.value, self.attributes[0] as usize);
        let changed = worker.update_at(t.reservation.id, row, &self.columns.change[number], |row| {
            row.set_i64(reservation::R_SEAT, seat);
            row.set_i64(reservation::R_IATTR + number, value);
            Ok(())
        });
        changed?.ok_or(Abort::Inconsistent("a reservation is missing"))
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
