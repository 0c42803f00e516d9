//! The schema, and the initial population (clause 4.3.3.1) by COPY.

use super::schema::{TABLES, in_cluster};
use crate::client::{Client, Failure};
use crate::rows::Rows;
use scaledb_sync::thread;
use scaledb_workloads::rng::Rng;
use scaledb_workloads::tpcc::Scale;
use scaledb_workloads::tpcc::random::{Constants, ORIGINAL, last_name, nu_rand, trimmed};
use scaledb_workloads::tpcc::scale::DISTRICTS;
use std::fmt::{Arguments, Write};

/// What each customer has paid before the run.
const INITIAL_PAYMENT: &str = "10.00";
/// Bytes of one COPY, about: a transaction of bounded size.
const COPY_BYTES: usize = 256 << 10;

/// Creates the tables.
///
/// # Errors
/// The database's: 42P07 if there are some already.
pub fn create<C: Client>(client: &mut C) -> Result<(), Failure> {
    client.script(TABLES)
}

/// Creates the tables in a cluster: what belongs to a warehouse is kept together, and every node has the items.
///
/// # Errors
/// The database's: 42P07 if there are some already, 0A000 if it is no cluster.
pub fn create_in_cluster<C: Client>(client: &mut C) -> Result<(), Failure> {
    client.script(&in_cluster())
}

/// A part of the database that one connection loads.
enum Unit {
    Items,
    Warehouse(i16),
    Stock(i16),
    Customers(i16, u8),
    Orders(i16, u8),
}

/// Fills the tables, each connection on a thread of its own. What is loaded depends on the seed, not on the number of
/// connections.
///
/// # Errors
/// The first error of a connection.
pub fn load<C: Client>(clients: &mut [C], scale: Scale, seed: u64) -> Result<(), Failure> {
    let mut units = vec![Unit::Items];
    for w in scale.warehouse_ids() {
        units.extend([Unit::Warehouse(w), Unit::Stock(w)]);
        for d in 1..=DISTRICTS {
            units.extend([Unit::Customers(w, d), Unit::Orders(w, d)]);
        }
    }
    let (units, step) = (&units, clients.len());
    thread::scope(|scope| {
        let loaders: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(first, client)| {
                scope.spawn(move || {
                    let mut rows = Rows::default();
                    client.query("SELECT localtimestamp::text", &mut rows)?;
                    let now = rows.answer(0).text(0, 0)?.to_owned();
                    for (number, unit) in units.iter().enumerate().skip(first).step_by(step) {
                        let constants = Constants::load(seed);
                        let rng = Rng::new(seed, number as u64);
                        Loader { client: &mut *client, rng, scale, constants, now: &now }.unit(unit)?;
                    }
                    Ok(())
                })
            })
            .collect();
        loaders.into_iter().try_for_each(|loader| loader.join().expect("a loader does not panic"))
    })?;
    // statistics, for databases whose planner looks at them
    clients.first_mut().map_or(Ok(()), |client| client.script("ANALYZE"))
}

/// Rows of one table on their way, in the text format of COPY.
struct Copy {
    sql: &'static str,
    data: String,
}

impl Copy {
    fn new(sql: &'static str) -> Self {
        Self { sql, data: String::with_capacity(COPY_BYTES + 4_096) }
    }

    /// Adds a row; values that could need an escape do not occur.
    fn row(&mut self, row: Arguments<'_>) {
        let written = self.data.write_fmt(row);
        debug_assert!(written.is_ok(), "a string takes all");
        self.data.push('\n');
    }

    /// Sends the rows, if they are many or the last ones.
    fn send<C: Client>(&mut self, client: &mut C, last: bool) -> Result<(), Failure> {
        if self.data.len() < COPY_BYTES && !last || self.data.is_empty() {
            return Ok(());
        }
        client.copy_in(self.sql, self.data.as_bytes())?;
        self.data.clear();
        Ok(())
    }
}

struct Loader<'a, C> {
    client: &'a mut C,
    rng: Rng,
    scale: Scale,
    constants: Constants,
    now: &'a str,
}

impl<C: Client> Loader<'_, C> {
    fn unit(&mut self, unit: &Unit) -> Result<(), Failure> {
        match *unit {
            Unit::Items => self.items(),
            Unit::Warehouse(w) => self.warehouse(w),
            Unit::Stock(w) => self.stock(w),
            Unit::Customers(w, d) => self.customers(w, d),
            Unit::Orders(w, d) => self.orders(w, d),
        }
    }

    fn items(&mut self) -> Result<(), Failure> {
        let mut copy = Copy::new("COPY item (i_id, i_im_id, i_name, i_price, i_data) FROM STDIN");
        for i in 1..=self.scale.items {
            let image = self.rng.within(1, 10_000);
            let (name, price, data) =
                (self.text(14, 24), Money(self.rng.within(100, 10_000).into()), self.data());
            copy.row(format_args!("{i}\t{image}\t{name}\t{price}\t{data}"));
            copy.send(self.client, false)?;
        }
        copy.send(self.client, true)
    }

    fn warehouse(&mut self, w: i16) -> Result<(), Failure> {
        let mut copy = Copy::new(
            "COPY warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd) FROM STDIN",
        );
        let d_ytd = 10_00 * i64::from(self.scale.customers);
        let (name, address, tax) = (self.text(6, 10), self.address(), self.rng.within(0, 2_000));
        copy.row(format_args!("{w}\t{name}\t{address}\t0.{tax:04}\t{}", Money(d_ytd * i64::from(DISTRICTS))));
        copy.send(self.client, true)?;
        let mut copy = Copy::new(
            "COPY district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, \
             d_next_o_id) FROM STDIN",
        );
        for d in 1..=DISTRICTS {
            let (name, address, tax) = (self.text(6, 10), self.address(), self.rng.within(0, 2_000));
            let next = self.scale.customers + 1;
            copy.row(format_args!("{w}\t{d}\t{name}\t{address}\t0.{tax:04}\t{}\t{next}", Money(d_ytd)));
        }
        copy.send(self.client, true)
    }

    fn stock(&mut self, w: i16) -> Result<(), Failure> {
        let mut copy = Copy::new(
            "COPY stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, \
             s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data) FROM STDIN",
        );
        for i in 1..=self.scale.items {
            let quantity = self.rng.within(10, 100);
            let dists = [(); 10].map(|()| self.text(24, 24)).join("\t");
            let data = self.data();
            copy.row(format_args!("{w}\t{i}\t{quantity}\t{dists}\t0\t0\t0\t{data}"));
            copy.send(self.client, false)?;
        }
        copy.send(self.client, true)
    }

    fn customers(&mut self, w: i16, d: u8) -> Result<(), Failure> {
        let mut customers = Copy::new(
            "COPY customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
             c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, \
             c_delivery_cnt, c_data) FROM STDIN",
        );
        let mut payments = Copy::new(
            "COPY history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) FROM STDIN",
        );
        let now = self.now;
        for c in 1..=self.scale.customers {
            let number = match u32::from(c) {
                c @ 1..=1_000 => c - 1,
                _ => nu_rand(&mut self.rng, 255, self.constants.c_last, 0, 999),
            };
            let last = last_name(number);
            let last = std::str::from_utf8(trimmed(&last)).unwrap_or_default();
            let (first, address, phone) = (self.text(8, 16), self.address(), self.digits(16));
            let credit = if self.rng.percent(10) { "BC" } else { "GC" };
            let discount = self.rng.within(0, 5_000);
            let data = self.text(300, 500);
            customers.row(format_args!(
                "{w}\t{d}\t{c}\t{first}\tOE\t{last}\t{address}\t{phone}\t{now}\t{credit}\t50000.00\t0.{discount:04}\t\
                 -{INITIAL_PAYMENT}\t{INITIAL_PAYMENT}\t1\t0\t{data}"
            ));
            let data = self.text(12, 24);
            payments.row(format_args!("{c}\t{d}\t{w}\t{d}\t{w}\t{now}\t{INITIAL_PAYMENT}\t{data}"));
            customers.send(self.client, false)?;
            payments.send(self.client, false)?;
        }
        customers.send(self.client, true)?;
        payments.send(self.client, true)
    }

    fn orders(&mut self, w: i16, d: u8) -> Result<(), Failure> {
        let mut orders = Copy::new(
            "COPY orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) FROM STDIN",
        );
        let mut new_orders = Copy::new("COPY new_order (no_w_id, no_d_id, no_o_id) FROM STDIN");
        let mut lines = Copy::new(
            "COPY order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
             ol_quantity, ol_amount, ol_dist_info) FROM STDIN",
        );
        let mut customers: Vec<u16> = (1..=self.scale.customers).collect();
        self.rng.shuffle(&mut customers);
        let now = self.now;
        for (o, c) in (1..).zip(customers) {
            let delivered = o <= self.scale.delivered();
            let count = self.rng.within(5, 15);
            if delivered {
                let carrier = self.rng.within(1, 10);
                orders.row(format_args!("{w}\t{d}\t{o}\t{c}\t{now}\t{carrier}\t{count}\t1"));
            } else {
                orders.row(format_args!("{w}\t{d}\t{o}\t{c}\t{now}\t\\N\t{count}\t1"));
                new_orders.row(format_args!("{w}\t{d}\t{o}"));
            }
            for number in 1..=count {
                let item = self.rng.within(1, self.scale.items);
                let amount = Money(if delivered { 0 } else { self.rng.within(1, 999_999).into() });
                let (date, info) = (if delivered { now } else { "\\N" }, self.text(24, 24));
                lines.row(format_args!("{w}\t{d}\t{o}\t{number}\t{item}\t{w}\t{date}\t5\t{amount}\t{info}"));
            }
            lines.send(self.client, false)?;
        }
        orders.send(self.client, true)?;
        new_orders.send(self.client, true)?;
        lines.send(self.client, true)
    }

    /// A random a-string of `low` to `high` characters.
    fn text(&mut self, low: u32, high: u32) -> String {
        let mut text = vec![0; self.rng.within(low, high) as usize];
        self.rng.alphanumeric(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    fn digits(&mut self, length: usize) -> String {
        let mut text = vec![0; length];
        self.rng.numeric(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// `i_data` or `s_data`: a tenth hold the string ORIGINAL.
    fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.rng.percent(10) {
            let at = self.rng.within(0, (text.len() - ORIGINAL.len()) as u32) as usize;
            text.replace_range(at..at + ORIGINAL.len(), "ORIGINAL");
        }
        text
    }

    /// Two streets, a city, a state, a zip code (clause 4.3.2.7), as columns.
    fn address(&mut self) -> String {
        let [street_1, street_2, city] = [(); 3].map(|()| self.text(10, 20));
        format!("{street_1}\t{street_2}\t{city}\t{}\t{}11111", self.text(2, 2), self.digits(4))
    }
}

/// Cents, printed as an amount.
struct Money(i64);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}
