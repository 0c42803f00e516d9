//! The New-Order transaction (clause 2.4).

use super::input::NewOrderInput;
use super::keys;
use super::random::is_original;
use super::scale::{DISTRICTS, MAX_LINES};
use super::schema::{Tables, customer, district, item, new_order, order_line, orders, stock, warehouse};
use crate::driver::{Abort, Outcome};
use scaledb_base::Error;
use scaledb_engine::Worker;
use scaledb_row::{Projection, RowBuf};

/// What the terminal enters for one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The item; one that does not exist in 1 of 100 orders.
    pub ol_i_id: i32,
    /// The warehouse that supplies it.
    pub ol_supply_w_id: i16,
    /// How many.
    pub ol_quantity: i16,
}

/// What the terminal shows for one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineShown {
    /// The item's name.
    pub i_name: [u8; 24],
    /// The item's price in cents.
    pub i_price: i32,
    /// What is left in stock.
    pub s_quantity: i32,
    /// `B` if item and stock are original, else `G`.
    pub brand_generic: u8,
    /// Quantity times price.
    pub ol_amount: i32,
}

/// What the terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The order's number.
    pub o_id: i32,
    /// The customer's last name.
    pub c_last: [u8; 16],
    /// The customer's credit.
    pub c_credit: [u8; 2],
    /// The customer's discount in 1/10000.
    pub c_discount: i32,
    /// The warehouse's tax in 1/10000.
    pub w_tax: i32,
    /// The district's tax in 1/10000.
    pub d_tax: i32,
    /// What the order costs, in cents.
    pub total: i64,
    /// One entry for each line.
    pub lines: [LineShown; MAX_LINES],
}

/// A New-Order transaction: its input, its output, and memory that is used again.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// The terminal's warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer.
    pub c_id: i16,
    /// When the order was entered, in microseconds since 2000.
    pub o_entry_d: i64,
    /// How many lines it has.
    pub ol_cnt: usize,
    /// The lines.
    pub lines: [Line; MAX_LINES],
    /// What came of it.
    pub shown: Shown,
    item_keys: [[u8; 4]; MAX_LINES],
    stock_keys: [[u8; 6]; MAX_LINES],
    orders: RowBuf,
    new_order: RowBuf,
    order_line: RowBuf,
    warehouse_cols: Projection,
    district_cols: Projection,
    customer_cols: Projection,
    item_cols: Projection,
    /// Per district, without and with `s_data`, which only original items need.
    stock_cols: Vec<[Projection; 2]>,
}

impl NewOrder {
    /// A transaction without input.
    pub fn new(t: &Tables) -> Self {
        let mut orders = RowBuf::new(t.orders.schema());
        orders.edit(t.orders.schema()).set_null(orders::O_CARRIER_ID);
        let mut order_line = RowBuf::new(t.order_line.schema());
        order_line.edit(t.order_line.schema()).set_null(order_line::OL_DELIVERY_D);
        let stock_cols = (0..usize::from(DISTRICTS)).map(|d| {
            use stock::*;
            let all = [S_QUANTITY, S_YTD, S_ORDER_CNT, S_REMOTE_CNT, S_DIST_01 + d, S_DATA];
            [t.stock.project(&all[..5]), t.stock.project(&all)]
        });
        Self {
            w_id: 0,
            d_id: 0,
            c_id: 0,
            o_entry_d: 0,
            ol_cnt: 0,
            lines: Default::default(),
            shown: Shown::default(),
            item_keys: Default::default(),
            stock_keys: Default::default(),
            orders,
            new_order: RowBuf::new(t.new_order.schema()),
            order_line,
            warehouse_cols: t.warehouse.project(&[warehouse::W_TAX]),
            district_cols: t.district.project(&[district::D_TAX, district::D_NEXT_O_ID]),
            customer_cols: t.customer.project(&[customer::C_LAST, customer::C_DISCOUNT, customer::C_CREDIT]),
            item_cols: t.item.project(&[item::I_NAME, item::I_PRICE, item::I_DATA]),
            stock_cols: stock_cols.collect(),
        }
    }

    /// Takes the input.
    pub fn enter(&mut self, input: &NewOrderInput) {
        (self.w_id, self.d_id, self.c_id) = (input.w_id, input.d_id, input.c_id);
        (self.o_entry_d, self.ol_cnt, self.lines) = (input.o_entry_d, input.ol_cnt, input.lines);
    }

    /// Runs it up to its commit (clause 2.4.2).
    ///
    /// # Errors
    /// [`Error::RolledBack`] for an unused item; what the engine returns.
    pub fn execute<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let (w, d) = (self.w_id, self.d_id);
        self.prefetch(t, worker);
        let tax = worker.get(t.warehouse.id, &keys::warehouse(w), &self.warehouse_cols, |_, row| {
            row.i32(warehouse::W_TAX)
        });
        self.shown.w_tax = tax?.ok_or(Abort::Inconsistent("a warehouse is missing"))?;
        let taken = worker.update(t.district.id, &keys::district(w, d), &self.district_cols, |row| {
            let o_id = row.view().i32(district::D_NEXT_O_ID);
            row.set_i32(district::D_NEXT_O_ID, o_id + 1);
            Ok((o_id, row.view().i32(district::D_TAX)))
        });
        (self.shown.o_id, self.shown.d_tax) = taken?.ok_or(Abort::Inconsistent("a district is missing"))?;
        self.prefetch_inserts(t, worker);
        let shown = &mut self.shown;
        worker
            .get(t.customer.id, &keys::customer(w, d, self.c_id), &self.customer_cols, |_, row| {
                shown.c_last.copy_from_slice(row.bytes(customer::C_LAST));
                shown.c_credit.copy_from_slice(row.bytes(customer::C_CREDIT));
                shown.c_discount = row.i32(customer::C_DISCOUNT);
            })?
            .ok_or(Abort::Inconsistent("a customer is missing"))?;
        self.insert_order(t, worker)?;
        let mut sum = 0;
        for number in 0..self.ol_cnt {
            sum += self.insert_line(t, worker, number)?;
        }
        let Shown { c_discount, w_tax, d_tax, .. } = self.shown;
        let net = i128::from(sum) * i128::from(10_000 - c_discount) * i128::from(10_000 + w_tax + d_tax);
        self.shown.total = ((net + 50_000_000) / 100_000_000) as i64;
        Ok(())
    }

    /// Lets the look-ups of all lines overlap.
    fn prefetch<W: Worker>(&mut self, t: &Tables, worker: &mut W) {
        for (i, line) in self.lines[..self.ol_cnt].iter().enumerate() {
            self.stock_keys[i] = keys::stock(line.ol_supply_w_id, line.ol_i_id);
            self.item_keys[i] = keys::item(line.ol_i_id);
        }
        let stock_cols = &self.stock_cols[usize::from(self.d_id) - 1][0];
        let stocks = self.stock_keys[..self.ol_cnt].iter().map(|key| (t.stock.id, &key[..], stock_cols));
        let items = self.item_keys[..self.ol_cnt].iter().map(|key| (t.item.id, &key[..], &self.item_cols));
        let customer = keys::customer(self.w_id, self.d_id, self.c_id);
        let customer = std::iter::once((t.customer.id, &customer[..], &self.customer_cols));
        worker.prefetch(customer.chain(stocks).chain(items));
    }

    /// Lets the inserts overlap in what they wait for: the order's number is known.
    fn prefetch_inserts<W: Worker>(&self, t: &Tables, worker: &mut W) {
        let (w, d, o) = (self.w_id, self.d_id, self.shown.o_id);
        let order = keys::order(w, d, o);
        worker.prefetch_inserts([(t.orders.id, &order[..]), (t.new_order.id, &order[..])].into_iter());
        let line = |number: usize| keys::order_line(w, d, o, number as u8 + 1);
        let lines: [_; MAX_LINES] = std::array::from_fn(line);
        worker.prefetch_inserts(lines[..self.ol_cnt].iter().map(|key| (t.order_line.id, &key[..])));
    }

    /// Inserts into `orders` and `new_order`, and sets what all lines share.
    fn insert_order<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let (w, d, o) = (self.w_id, [self.d_id], self.shown.o_id);
        {
            use orders::*;
            let all_local = self.lines[..self.ol_cnt].iter().all(|line| line.ol_supply_w_id == w);
            let mut row = self.orders.edit(t.orders.schema());
            row.set_i32(O_ID, o);
            row.set_bytes(O_D_ID, &d);
            row.set_i16(O_W_ID, w);
            row.set_i16(O_C_ID, self.c_id);
            row.set_i64(O_ENTRY_D, self.o_entry_d);
            row.set_i16(O_OL_CNT, self.ol_cnt as i16);
            row.set_i16(O_ALL_LOCAL, i16::from(all_local));
        }
        worker.insert(t.orders.id, &self.orders)?;
        {
            use new_order::*;
            let mut row = self.new_order.edit(t.new_order.schema());
            row.set_i32(NO_O_ID, o);
            row.set_bytes(NO_D_ID, &d);
            row.set_i16(NO_W_ID, w);
        }
        worker.insert(t.new_order.id, &self.new_order)?;
        use order_line::*;
        let mut row = self.order_line.edit(t.order_line.schema());
        row.set_i32(OL_O_ID, o);
        row.set_bytes(OL_D_ID, &d);
        row.set_i16(OL_W_ID, w);
        Ok(())
    }

    /// Reads the item, takes it from stock, inserts the line. Returns its amount.
    fn insert_line<W: Worker>(&mut self, t: &Tables, worker: &mut W, number: usize) -> Outcome<i64> {
        let Line { ol_i_id, ol_supply_w_id, ol_quantity } = self.lines[number];
        let line = &mut self.shown.lines[number];
        let original = worker.get(t.item.id, &self.item_keys[number], &self.item_cols, |_, row| {
            use item::*;
            line.i_name.copy_from_slice(row.bytes(I_NAME));
            line.i_price = row.i32(I_PRICE);
            is_original(row.bytes(I_DATA))
        });
        let original = original?.ok_or(Error::RolledBack)?;
        let dist = stock::S_DIST_01 + usize::from(self.d_id) - 1;
        let stock_cols = &self.stock_cols[usize::from(self.d_id) - 1][usize::from(original)];
        let remote = ol_supply_w_id != self.w_id;
        let mut dist_info = [0; 24];
        worker
            .update(t.stock.id, &self.stock_keys[number], stock_cols, |row| {
                use stock::*;
                let view = row.view();
                dist_info.copy_from_slice(view.bytes(dist));
                line.brand_generic = if original && is_original(view.bytes(S_DATA)) { b'B' } else { b'G' };
                let (ytd, count) = (view.i64(S_YTD), view.i64(S_ORDER_CNT));
                let mut quantity = view.i64(S_QUANTITY) - i64::from(ol_quantity);
                if quantity < 10 {
                    quantity += 91;
                }
                line.s_quantity = quantity as i32;
                row.set_i64(S_QUANTITY, quantity);
                row.set_i64(S_YTD, ytd + i64::from(ol_quantity));
                row.set_i64(S_ORDER_CNT, count + 1);
                if remote {
                    row.set_i64(S_REMOTE_CNT, row.view().i64(S_REMOTE_CNT) + 1);
                }
                Ok(())
            })?
            .ok_or(Abort::Inconsistent("a stock is missing"))?;
        line.ol_amount = i32::from(ol_quantity) * line.i_price;
        use order_line::*;
        let mut row = self.order_line.edit(t.order_line.schema());
        row.set_bytes(OL_NUMBER, &[number as u8 + 1]);
        row.set_i32(OL_I_ID, ol_i_id);
        row.set_i16(OL_SUPPLY_W_ID, ol_supply_w_id);
        row.set_i16(OL_QUANTITY, ol_quantity);
        row.set_i32(OL_AMOUNT, line.ol_amount);
        row.set_bytes(OL_DIST_INFO, &dist_info);
        worker.insert(t.order_line.id, &self.order_line)?;
        Ok(i64::from(line.ol_amount))
    }
}
