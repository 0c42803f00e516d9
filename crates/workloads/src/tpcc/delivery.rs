//! The Delivery transaction (clause 2.7): all ten districts in one transaction.

use super::input::DeliveryInput;
use super::keys;
use super::scale::{DISTRICTS, MAX_LINES};
use super::schema::{Tables, customer, order_line, orders};
use crate::driver::{Abort, Outcome};
use scaledb_base::Result;
use scaledb_engine::{Order, Range, RowId, Worker};
use scaledb_row::Projection;
use std::ops::ControlFlow;

/// An order that is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Its district.
    pub d_id: u8,
    /// Its number.
    pub o_id: i32,
    /// Its customer.
    pub c_id: i16,
    /// What its lines cost, in cents.
    pub amount: i64,
}

/// A Delivery transaction: its input, its output, and memory that is used again.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The warehouse.
    pub w_id: i16,
    /// The carrier.
    pub o_carrier_id: i16,
    /// When, in microseconds since 2000.
    pub ol_delivery_d: i64,
    /// The orders delivered; fewer than ten if districts had none.
    pub delivered: Vec<Delivered>,
    order_keys: Vec<[u8; 7]>,
    customer_keys: Vec<[u8; 5]>,
    lines: Vec<RowId>,
    existence: Projection,
    orders_cols: Projection,
    line_cols: Projection,
    customer_cols: Projection,
}

impl Delivery {
    /// A transaction without input.
    pub fn new(t: &Tables) -> Self {
        let districts = usize::from(DISTRICTS);
        Self {
            w_id: 0,
            o_carrier_id: 0,
            ol_delivery_d: 0,
            delivered: Vec::with_capacity(districts),
            order_keys: Vec::with_capacity(districts),
            customer_keys: Vec::with_capacity(districts),
            lines: Vec::with_capacity(MAX_LINES),
            existence: Projection::existence(),
            orders_cols: t.orders.project(&[orders::O_C_ID, orders::O_CARRIER_ID]),
            line_cols: t.order_line.project(&[order_line::OL_AMOUNT, order_line::OL_DELIVERY_D]),
            customer_cols: t.customer.project(&[customer::C_BALANCE, customer::C_DELIVERY_CNT]),
        }
    }

    /// Takes the input.
    pub fn enter(&mut self, input: &DeliveryInput) {
        (self.w_id, self.o_carrier_id, self.ol_delivery_d) =
            (input.w_id, input.o_carrier_id, input.ol_delivery_d);
    }

    /// Runs it up to its commit (clause 2.7.4), step by step for all districts, so that the look-ups of a
    /// step overlap.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn execute<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        self.take_oldest(t, worker)?;
        worker.prefetch(self.order_keys.iter().map(|key| (t.orders.id, &key[..], &self.orders_cols)));
        self.customer_keys.clear();
        for i in 0..self.delivered.len() {
            self.set_carrier(t, worker, i)?;
        }
        worker.prefetch(self.customer_keys.iter().map(|key| (t.customer.id, &key[..], &self.customer_cols)));
        for i in 0..self.delivered.len() {
            self.deliver_lines(t, worker, i)?;
        }
        for (delivered, key) in self.delivered.iter().zip(&self.customer_keys) {
            let credited = worker.update(t.customer.id, key, &self.customer_cols, |row| {
                use customer::*;
                row.set_i64(C_BALANCE, row.view().i64(C_BALANCE) + delivered.amount);
                row.set_i32(C_DELIVERY_CNT, row.view().i32(C_DELIVERY_CNT) + 1);
                Ok(())
            });
            credited?.ok_or(Abort::Inconsistent("a customer is missing"))?;
        }
        Ok(())
    }

    /// Deletes the oldest row of each district from `new_order`.
    fn take_oldest<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Result<()> {
        self.delivered.clear();
        self.order_keys.clear();
        for d_id in 1..=DISTRICTS {
            let (from, to) = keys::new_orders(self.w_id, d_id);
            let mut oldest = None;
            worker.scan(
                t.new_order.id,
                Range::new(&from, &to),
                Order::Forward,
                &self.existence,
                |id, key, _| {
                    oldest = Some((id, keys::order_number(key)));
                    ControlFlow::Break(())
                },
            )?;
            let Some((id, o_id)) = oldest else { continue };
            worker.delete_at(t.new_order.id, id)?;
            self.delivered.push(Delivered { d_id, o_id, ..Delivered::default() });
            self.order_keys.push(keys::order(self.w_id, d_id, o_id));
        }
        Ok(())
    }

    /// Notes the carrier in the order, and learns its customer.
    fn set_carrier<W: Worker>(&mut self, t: &Tables, worker: &mut W, i: usize) -> Outcome {
        let delivered = &mut self.delivered[i];
        let c_id = worker.update(t.orders.id, &self.order_keys[i], &self.orders_cols, |row| {
            row.set_i16(orders::O_CARRIER_ID, self.o_carrier_id);
            Ok(row.view().i16(orders::O_C_ID))
        });
        delivered.c_id = c_id?.ok_or(Abort::Inconsistent("an order is missing"))?;
        self.customer_keys.push(keys::customer(self.w_id, delivered.d_id, delivered.c_id));
        Ok(())
    }

    /// Notes the date in the order's lines, and sums their amounts.
    fn deliver_lines<W: Worker>(&mut self, t: &Tables, worker: &mut W, i: usize) -> Outcome {
        let delivered = &mut self.delivered[i];
        let (from, to) = keys::order_lines(self.w_id, delivered.d_id, delivered.o_id, delivered.o_id + 1);
        let lines = &mut self.lines;
        lines.clear();
        worker.scan(
            t.order_line.id,
            Range::new(&from, &to),
            Order::Forward,
            &self.existence,
            |id, _, _| {
                lines.push(id);
                ControlFlow::Continue(())
            },
        )?;
        for &line in &*lines {
            let amount = worker.update_at(t.order_line.id, line, &self.line_cols, |row| {
                row.set_i64(order_line::OL_DELIVERY_D, self.ol_delivery_d);
                Ok(row.view().i32(order_line::OL_AMOUNT))
            });
            delivered.amount += i64::from(amount?.ok_or(Abort::Inconsistent("an order line is missing"))?);
        }
        Ok(())
    }
}
