//! The six transactions, as the clients of an airline run them.

use super::{ARRIVALS, Done, Found, Naming, Reservation, Search, Traveller, refused};
use crate::driver::{Abort, Outcome};
use crate::seats::{
    SEATS_OF_FLIGHT, Tables, airline, airport, customer, flight, frequent_flyer, key, reservation, text_of,
};
use scaledb_engine::{Order, Range, RowId, Worker};
use std::ops::ControlFlow;

impl Traveller {
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

    pub(super) fn delete_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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

    pub(super) fn find_flights<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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

    pub(super) fn find_open_seats<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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

    pub(super) fn new_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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

    pub(super) fn update_customer<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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

    pub(super) fn update_reservation<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
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
