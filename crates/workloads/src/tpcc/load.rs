//! The initial population (clause 4.3.3.1).

use super::random::{Constants, ORIGINAL, last_name, nu_rand};
use super::scale::{DISTRICTS, Scale};
use super::schema::{
    Tables, customer, district, history, item, new_order, order_line, orders, stock, warehouse,
};
use crate::load::{in_batches, in_parallel};
use crate::rng::Rng;
use scaledb_base::Result;
use scaledb_engine::{Engine, Worker};
use scaledb_row::{RowBuf, RowMut};

/// What each customer has paid before the run, in cents; also the amount owed the other way.
pub(super) const INITIAL_PAYMENT: i64 = 10_00;
const CREDIT_LIMIT: i64 = 50_000_00;
/// Items that one unit of work loads.
const ITEMS_PER_UNIT: u32 = 10_000;

/// A part of the database that one worker loads.
enum Unit {
    /// Items from the first to before the second.
    Items(u32, u32),
    Warehouse(i16),
    Stock(i16),
    Customers(i16, u8),
    Orders(i16, u8),
}

/// Fills the tables on `threads` workers. `now` is the current time in microseconds since 2000.
///
/// # Errors
/// What the engine returns.
pub fn load<E: Engine>(engine: &E, tables: &Tables, seed: u64, threads: usize, now: i64) -> Result<()> {
    let scale = tables.scale;
    let constants = Constants::load(seed);
    let mut units = Vec::new();
    for from in (1..=scale.items).step_by(ITEMS_PER_UNIT as usize) {
        units.push(Unit::Items(from, (from + ITEMS_PER_UNIT).min(scale.items + 1)));
    }
    for w in scale.warehouse_ids() {
        units.extend([Unit::Warehouse(w), Unit::Stock(w)]);
        for d in 1..=DISTRICTS {
            units.extend([Unit::Customers(w, d), Unit::Orders(w, d)]);
        }
    }
    // a warehouse is loaded by the thread that will work for it, if there are enough of them for all threads
    let by_home = usize::from(scale.warehouses) >= threads;
    let loader = |i, unit: &Unit| match *unit {
        Unit::Warehouse(w) | Unit::Stock(w) | Unit::Customers(w, _) | Unit::Orders(w, _) if by_home => {
            w as usize - 1
        }
        _ => i,
    };
    in_parallel(engine, threads, seed, &units, loader, |worker, rng, unit| match *unit {
        Unit::Items(from, to) => items(worker, tables, rng, from, to),
        Unit::Warehouse(w) => warehouse_and_districts(worker, tables, rng, w),
        Unit::Stock(w) => stock(worker, tables, rng, w),
        Unit::Customers(w, d) => customers(worker, tables, rng, w, d, constants, now),
        Unit::Orders(w, d) => self::orders(worker, tables, rng, w, d, now),
    })
}

fn items<W: Worker>(worker: &mut W, tables: &Tables, rng: &mut Rng, from: u32, to: u32) -> Result<()> {
    use item::*;
    let table = &tables.item;
    let mut buf = RowBuf::new(table.schema());
    in_batches(worker, rng, from..to, 1, |worker, rng, id| {
        let mut row = buf.edit(table.schema());
        row.set_i32(I_ID, id as i32);
        row.set_i32(I_IM_ID, rng.within(1, 10_000) as i32);
        row.set_i32(I_PRICE, rng.within(1_00, 100_00) as i32);
        text(&mut row, I_NAME, rng, 14, 24);
        data(&mut row, I_DATA, rng);
        worker.insert(table.id, &buf).map(drop)
    })
}

fn warehouse_and_districts<W: Worker>(worker: &mut W, tables: &Tables, rng: &mut Rng, w: i16) -> Result<()> {
    let mut buf = RowBuf::new(tables.warehouse.schema());
    let mut district_buf = RowBuf::new(tables.district.schema());
    let d_ytd = INITIAL_PAYMENT * i64::from(tables.scale.customers);
    in_batches(worker, rng, [w], 1 + usize::from(DISTRICTS), |worker, rng, w| {
        {
            use warehouse::*;
            let mut row = buf.edit(tables.warehouse.schema());
            row.set_i16(W_ID, w);
            row.set_i32(W_TAX, rng.within(0, 2_000) as i32);
            row.set_i64(W_YTD, d_ytd * i64::from(DISTRICTS));
            text(&mut row, W_NAME, rng, 6, 10);
            address(&mut row, [W_STREET_1, W_STREET_2, W_CITY, W_STATE, W_ZIP], rng);
        }
        worker.insert(tables.warehouse.id, &buf)?;
        for d in 1..=DISTRICTS {
            use district::*;
            let mut row = district_buf.edit(tables.district.schema());
            row.set_i16(D_W_ID, w);
            row.set_bytes(D_ID, &[d]);
            row.set_i32(D_TAX, rng.within(0, 2_000) as i32);
            row.set_i64(D_YTD, d_ytd);
            row.set_i32(D_NEXT_O_ID, i32::from(tables.scale.customers) + 1);
            text(&mut row, D_NAME, rng, 6, 10);
            address(&mut row, [D_STREET_1, D_STREET_2, D_CITY, D_STATE, D_ZIP], rng);
            worker.insert(tables.district.id, &district_buf)?;
        }
        Ok(())
    })
}

fn stock<W: Worker>(worker: &mut W, tables: &Tables, rng: &mut Rng, w: i16) -> Result<()> {
    use stock::*;
    let table = &tables.stock;
    let mut buf = RowBuf::new(table.schema());
    in_batches(worker, rng, 1..=tables.scale.items, 1, |worker, rng, id| {
        let mut row = buf.edit(table.schema());
        row.set_i16(S_W_ID, w);
        row.set_i32(S_I_ID, id as i32);
        row.set_i64(S_QUANTITY, i64::from(rng.within(10, 100)));
        (S_DIST_01..=S_DIST_10).for_each(|column| text(&mut row, column, rng, 24, 24));
        data(&mut row, S_DATA, rng);
        worker.insert(table.id, &buf).map(drop)
    })
}

fn customers<W: Worker>(
    worker: &mut W,
    tables: &Tables,
    rng: &mut Rng,
    w: i16,
    d: u8,
    constants: Constants,
    now: i64,
) -> Result<()> {
    let mut buf = RowBuf::new(tables.customer.schema());
    let mut history_buf = RowBuf::new(tables.history.schema());
    in_batches(worker, rng, 1..=tables.scale.customers, 2, |worker, rng, c| {
        {
            use customer::*;
            let mut row = buf.edit(tables.customer.schema());
            row.set_i16(C_W_ID, w);
            row.set_bytes(C_D_ID, &[d]);
            row.set_i16(C_ID, c as i16);
            let name = match u32::from(c) {
                c @ 1..=1_000 => c - 1,
                _ => nu_rand(rng, 255, constants.c_last, 0, 999),
            };
            row.set_bytes(C_LAST, &last_name(name));
            row.set_bytes(C_MIDDLE, b"OE");
            text(&mut row, C_FIRST, rng, 8, 16);
            address(&mut row, [C_STREET_1, C_STREET_2, C_CITY, C_STATE, C_ZIP], rng);
            let mut phone = [0; 16];
            rng.numeric(&mut phone);
            row.set_bytes(C_PHONE, &phone);
            row.set_i64(C_SINCE, now);
            row.set_bytes(C_CREDIT, if rng.percent(10) { b"BC" } else { b"GC" });
            row.set_i64(C_CREDIT_LIM, CREDIT_LIMIT);
            row.set_i32(C_DISCOUNT, rng.within(0, 5_000) as i32);
            row.set_i64(C_BALANCE, -INITIAL_PAYMENT);
            row.set_i64(C_YTD_PAYMENT, INITIAL_PAYMENT);
            row.set_i32(C_PAYMENT_CNT, 1);
            text(&mut row, C_DATA, rng, 300, 500);
        }
        worker.insert(tables.customer.id, &buf)?;
        {
            use history::*;
            let mut row = history_buf.edit(tables.history.schema());
            row.set_i16(H_C_ID, c as i16);
            row.set_bytes(H_C_D_ID, &[d]);
            row.set_i16(H_C_W_ID, w);
            row.set_bytes(H_D_ID, &[d]);
            row.set_i16(H_W_ID, w);
            row.set_i64(H_DATE, now);
            row.set_i32(H_AMOUNT, INITIAL_PAYMENT as i32);
            text(&mut row, H_DATA, rng, 12, 24);
        }
        worker.insert(tables.history.id, &history_buf).map(drop)
    })
}

fn orders<W: Worker>(worker: &mut W, tables: &Tables, rng: &mut Rng, w: i16, d: u8, now: i64) -> Result<()> {
    let Scale { items, customers, .. } = tables.scale;
    let mut order_buf = RowBuf::new(tables.orders.schema());
    let mut new_order_buf = RowBuf::new(tables.new_order.schema());
    let mut line_buf = RowBuf::new(tables.order_line.schema());
    let mut customer_of: Vec<u16> = (1..=customers).collect();
    rng.shuffle(&mut customer_of);
    in_batches(worker, rng, 1..=i32::from(customers), 17, |worker, rng, o| {
        let delivered = o <= tables.scale.delivered();
        let lines = rng.within(5, 15) as u8;
        {
            use self::orders::*;
            let mut row = order_buf.edit(tables.orders.schema());
            row.set_i32(O_ID, o);
            row.set_bytes(O_D_ID, &[d]);
            row.set_i16(O_W_ID, w);
            row.set_i16(O_C_ID, customer_of[o as usize - 1] as i16);
            row.set_i64(O_ENTRY_D, now);
            match delivered {
                true => row.set_i16(O_CARRIER_ID, rng.within(1, 10) as i16),
                false => row.set_null(O_CARRIER_ID),
            }
            row.set_i16(O_OL_CNT, i16::from(lines));
            row.set_i16(O_ALL_LOCAL, 1);
        }
        worker.insert(tables.orders.id, &order_buf)?;
        if !delivered {
            use new_order::*;
            let mut row = new_order_buf.edit(tables.new_order.schema());
            row.set_i32(NO_O_ID, o);
            row.set_bytes(NO_D_ID, &[d]);
            row.set_i16(NO_W_ID, w);
            worker.insert(tables.new_order.id, &new_order_buf)?;
        }
        for number in 1..=lines {
            use order_line::*;
            let mut row = line_buf.edit(tables.order_line.schema());
            row.set_i32(OL_O_ID, o);
            row.set_bytes(OL_D_ID, &[d]);
            row.set_i16(OL_W_ID, w);
            row.set_bytes(OL_NUMBER, &[number]);
            row.set_i32(OL_I_ID, rng.within(1, items) as i32);
            row.set_i16(OL_SUPPLY_W_ID, w);
            row.set_i16(OL_QUANTITY, 5);
            match delivered {
                true => row.set_i64(OL_DELIVERY_D, now),
                false => row.set_null(OL_DELIVERY_D),
            }
            row.set_i32(OL_AMOUNT, if delivered { 0 } else { rng.within(1, 9_999_99) as i32 });
            text(&mut row, OL_DIST_INFO, rng, 24, 24);
            worker.insert(tables.order_line.id, &line_buf)?;
        }
        Ok(())
    })
}

/// A random a-string of `low` to `high` characters.
fn text(row: &mut RowMut<'_>, column: usize, rng: &mut Rng, low: u32, high: u32) {
    let mut text = [0; 500];
    let text = &mut text[..rng.within(low, high) as usize];
    rng.alphanumeric(text);
    row.set_bytes(column, text);
}

/// `i_data` or `s_data`: a tenth hold the string ORIGINAL.
fn data(row: &mut RowMut<'_>, column: usize, rng: &mut Rng) {
    let mut text = [0; 50];
    let text = &mut text[..rng.within(26, 50) as usize];
    rng.alphanumeric(text);
    if rng.percent(10) {
        let at = rng.within(0, (text.len() - ORIGINAL.len()) as u32) as usize;
        text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    row.set_bytes(column, text);
}

/// Two streets, a city, a state, a zip code (clause 4.3.2.7).
fn address(row: &mut RowMut<'_>, [street_1, street_2, city, state, zip]: [usize; 5], rng: &mut Rng) {
    [street_1, street_2, city].into_iter().for_each(|column| text(row, column, rng, 10, 20));
    text(row, state, rng, 2, 2);
    let mut code = *b"000011111";
    rng.numeric(&mut code[..4]);
    row.set_bytes(zip, &code);
}
