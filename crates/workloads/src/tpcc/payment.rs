//! The Payment transaction (clause 2.5).

use super::by_name::NameSearch;
use super::input::PaymentInput;
use super::keys;
use super::random::{Draw, trimmed};
use super::schema::{Tables, customer, district, history, warehouse};
use crate::driver::{Abort, Outcome};
use scaledb_engine::Worker;
use scaledb_row::{Projection, RowBuf, RowMut};
use std::io::Write;

/// How the terminal names a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Id(i16),
    /// By last name (padded).
    Name([u8; 16]),
}

impl Who {
    /// 60 % by last name (clauses 2.5.1.2, 2.6.1.2).
    #[inline]
    pub fn draw(draw: &mut Draw) -> Self {
        if draw.rng.percent(60) { Self::Name(draw.last_name()) } else { Self::Id(draw.customer()) }
    }
}

/// What the terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The customer's number.
    pub c_id: i16,
    /// The balance after the payment, in cents.
    pub c_balance: i64,
    /// The customer's credit.
    pub c_credit: [u8; 2],
    /// The customer's credit limit, in cents.
    pub c_credit_lim: i64,
    /// The customer's discount in 1/10000.
    pub c_discount: i32,
}

/// A Payment transaction: its input, its output, and memory that is used again.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The terminal's warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer's warehouse.
    pub c_w_id: i16,
    /// The customer's district.
    pub c_d_id: u8,
    /// The customer.
    pub customer: Who,
    /// What is paid, in cents.
    pub h_amount: i32,
    /// When, in microseconds since 2000.
    pub h_date: i64,
    /// What came of it.
    pub shown: Shown,
    history: RowBuf,
    search: NameSearch,
    warehouse_cols: Projection,
    district_cols: Projection,
    customer_cols: Projection,
    data_cols: Projection,
}

impl Payment {
    /// A transaction without input.
    pub fn new(t: &Tables) -> Self {
        let w = {
            use warehouse::*;
            [W_NAME, W_STREET_1, W_STREET_2, W_CITY, W_STATE, W_ZIP, W_YTD]
        };
        let d = {
            use district::*;
            [D_NAME, D_STREET_1, D_STREET_2, D_CITY, D_STATE, D_ZIP, D_YTD]
        };
        // everything but `c_data`
        let c: Vec<usize> = (customer::C_LAST..customer::C_DATA).collect();
        Self {
            w_id: 0,
            d_id: 0,
            c_w_id: 0,
            c_d_id: 0,
            customer: Who::Id(0),
            h_amount: 0,
            h_date: 0,
            shown: Shown::default(),
            history: RowBuf::new(t.history.schema()),
            search: NameSearch::default(),
            warehouse_cols: t.warehouse.project(&w),
            district_cols: t.district.project(&d),
            customer_cols: t.customer.project(&c),
            data_cols: t.customer.project(&[customer::C_DATA]),
        }
    }

    /// Takes the input.
    pub fn enter(&mut self, input: &PaymentInput) {
        (self.w_id, self.d_id) = (input.w_id, input.d_id);
        (self.c_w_id, self.c_d_id, self.customer) = (input.c_w_id, input.c_d_id, input.customer);
        (self.h_amount, self.h_date) = (input.h_amount, input.h_date);
    }

    /// Runs it up to its commit (clause 2.5.2).
    ///
    /// # Errors
    /// What the engine returns.
    pub fn execute<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let amount = i64::from(self.h_amount);
        if let Who::Id(c_id) = self.customer {
            let key = keys::customer(self.c_w_id, self.c_d_id, c_id);
            worker.prefetch(std::iter::once((t.customer.id, &key[..], &self.customer_cols)));
        }
        // "w_name    d_name"
        let mut h_data = [0; 24];
        let name_len = worker
            .update(t.warehouse.id, &keys::warehouse(self.w_id), &self.warehouse_cols, |row| {
                use warehouse::*;
                row.set_i64(W_YTD, row.view().i64(W_YTD) + amount);
                Ok(append(&mut h_data, 0, row.view().bytes(W_NAME)))
            })?
            .ok_or(Abort::Inconsistent("a warehouse is missing"))?;
        let name_len = append(&mut h_data, name_len, b"    ");
        worker
            .update(t.district.id, &keys::district(self.w_id, self.d_id), &self.district_cols, |row| {
                use district::*;
                row.set_i64(D_YTD, row.view().i64(D_YTD) + amount);
                append(&mut h_data, name_len, row.view().bytes(D_NAME));
                Ok(())
            })?
            .ok_or(Abort::Inconsistent("a district is missing"))?;
        self.pay(t, worker)?;
        use history::*;
        let mut row = self.history.edit(t.history.schema());
        row.set_i16(H_C_ID, self.shown.c_id);
        row.set_bytes(H_C_D_ID, &[self.c_d_id]);
        row.set_i16(H_C_W_ID, self.c_w_id);
        row.set_bytes(H_D_ID, &[self.d_id]);
        row.set_i16(H_W_ID, self.w_id);
        row.set_i64(H_DATE, self.h_date);
        row.set_i32(H_AMOUNT, self.h_amount);
        row.set_bytes(H_DATA, &h_data);
        worker.insert(t.history.id, &self.history)?;
        Ok(())
    }

    /// Changes the customer's row.
    fn pay<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let key = match self.customer {
            Who::Id(c_id) => keys::customer(self.c_w_id, self.c_d_id, c_id),
            Who::Name(last) => self.search.middle(t, worker, self.c_w_id, self.c_d_id, &last)?,
        };
        let amount = i64::from(self.h_amount);
        let shown = &mut self.shown;
        let pay = |row: &mut RowMut<'_>| {
            use customer::*;
            let view = row.view();
            let (balance, ytd, count) =
                (view.i64(C_BALANCE), view.i64(C_YTD_PAYMENT), view.i32(C_PAYMENT_CNT));
            shown.c_id = view.i16(C_ID);
            shown.c_balance = balance - amount;
            shown.c_credit.copy_from_slice(view.bytes(C_CREDIT));
            shown.c_credit_lim = view.i64(C_CREDIT_LIM);
            shown.c_discount = view.i32(C_DISCOUNT);
            row.set_i64(C_BALANCE, balance - amount);
            row.set_i64(C_YTD_PAYMENT, ytd + amount);
            row.set_i32(C_PAYMENT_CNT, count + 1);
            Ok(())
        };
        let paid = worker.update(t.customer.id, &key, &self.customer_cols, pay)?;
        paid.ok_or(Abort::Inconsistent("a customer is missing"))?;
        if shown.c_credit == *b"BC" {
            self.note(t, worker, &key)?;
        }
        Ok(())
    }

    /// Puts the payment in front of a bad customer's `c_data`, and cuts that at 500 characters.
    fn note<W: Worker>(&mut self, t: &Tables, worker: &mut W, key: &[u8]) -> Outcome {
        let mut data = [0; 500];
        let mut rest = &mut data[..];
        let (cents, c_id) = (self.h_amount % 100, self.shown.c_id);
        let Self { c_d_id, c_w_id, d_id, w_id, h_amount, .. } = *self;
        write!(rest, "{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {}.{cents:02} ", h_amount / 100)
            .expect("six numbers fit into 500 characters");
        let len = 500 - rest.len();
        worker.update(t.customer.id, key, &self.data_cols, |row| {
            data[len..].copy_from_slice(&row.view().bytes(customer::C_DATA)[..500 - len]);
            row.set_bytes(customer::C_DATA, &data);
            Ok(())
        })?;
        Ok(())
    }
}

/// Puts text (without its padding) at `at`, and returns the place behind it.
#[inline]
fn append(to: &mut [u8; 24], at: usize, text: &[u8]) -> usize {
    let text = trimmed(text);
    to[at..at + text.len()].copy_from_slice(text);
    at + text.len()
}
