//! The twelve consistency conditions of clause 3.3.2, from scans of all tables.
//!
//! All tables are read once, in one snapshot of the present; the conditions then compare what was seen.

use super::keys;
use super::scale::{DISTRICTS, Scale};
use super::schema::{
    Tables, TpccTable, customer, district, history, new_order, order_line, orders, warehouse,
};
use scaledb_base::Result;
use scaledb_engine::{Order, Range, TxnKind, Worker};
use scaledb_row::RowRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// One of the twelve, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its number: 1 to 12.
    pub number: usize,
    /// What it says.
    pub says: String,
    /// Comparisons made.
    pub checked: u64,
    /// Comparisons that failed.
    pub failed: u64,
    /// The first failure.
    pub detail: Option<String>,
}

impl Condition {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.failed == 0
    }
}

const SAYS: [&str; 12] = [
    "w_ytd = sum(d_ytd)",
    "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
    "max(no_o_id) - min(no_o_id) + 1 = rows in new_order",
    "sum(o_ol_cnt) = rows in order_line",
    "o_carrier_id is null <=> there is a row in new_order",
    "o_ol_cnt = lines of the order",
    "ol_delivery_d is null <=> o_carrier_id is null",
    "w_ytd = sum(h_amount)",
    "d_ytd = sum(h_amount)",
    "c_balance = sum(delivered ol_amount) - sum(h_amount)",
    "rows in orders - rows in new_order = delivered orders",
    "c_balance + c_ytd_payment = sum(delivered ol_amount)",
];

#[derive(Default)]
struct DistrictFacts {
    ytd: i64,
    next_o_id: i64,
    paid: i64,
    orders: i64,
    max_o_id: i64,
    lines_promised: i64,
    lines: i64,
    new_orders: i64,
    /// Smallest and largest order number in `new_order`.
    new_order_ids: Option<(i64, i64)>,
    /// Deliveries that its customers have had since the database was loaded.
    deliveries: i64,
}

#[derive(Default)]
struct CustomerFacts {
    balance: i64,
    ytd_payment: i64,
    paid: i64,
    delivered_amount: i64,
}

struct OrderFacts {
    customer: (i16, u8, i16),
    has_carrier: bool,
    lines_promised: i64,
    lines: i64,
    new_orders: u32,
    /// Lines whose delivery date does not fit the carrier.
    misfits: u64,
}

#[derive(Default)]
struct Facts {
    w_ytd: BTreeMap<i16, i64>,
    districts: BTreeMap<(i16, u8), DistrictFacts>,
    customers: BTreeMap<(i16, u8, i16), CustomerFacts>,
    /// Sorted by key, as scanned.
    orders: Vec<([u8; 7], OrderFacts)>,
    /// Rows of `new_order` and `order_line` without an order.
    orphans: [Vec<[u8; 7]>; 2],
}

/// Checks the twelve conditions, in order.
///
/// # Errors
/// What the engine returns.
pub fn check<W: Worker>(tables: &Tables, worker: &mut W) -> Result<Vec<Condition>> {
    let facts = worker.run(TxnKind::Deferrable, |worker| Facts::gather(tables, worker))?;
    Ok(facts.conditions(tables.scale))
}

fn scan<W: Worker>(
    worker: &mut W,
    table: &TpccTable,
    columns: &[usize],
    mut row: impl FnMut(&[u8], RowRef<'_>),
) -> Result<()> {
    worker.scan(table.id, Range::ALL, Order::Forward, &table.project(columns), |_, key, columns| {
        row(key, columns);
        ControlFlow::Continue(())
    })
}

impl Facts {
    fn gather<W: Worker>(t: &Tables, worker: &mut W) -> Result<Self> {
        let mut facts = Self::default();
        facts.gather_money(t, worker)?;
        facts.gather_orders(t, worker)?;
        Ok(facts)
    }

    fn district(&mut self, w: i16, d: &[u8]) -> &mut DistrictFacts {
        self.districts.entry((w, d[0])).or_default()
    }

    fn gather_money<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Result<()> {
        {
            use warehouse::*;
            scan(worker, &t.warehouse, &[W_ID, W_YTD], |_, row| {
                self.w_ytd.insert(row.i16(W_ID), row.i64(W_YTD));
            })?;
        }
        {
            use district::*;
            scan(worker, &t.district, &[D_W_ID, D_ID, D_YTD, D_NEXT_O_ID], |_, row| {
                let facts = self.district(row.i16(D_W_ID), row.bytes(D_ID));
                (facts.ytd, facts.next_o_id) = (row.i64(D_YTD), i64::from(row.i32(D_NEXT_O_ID)));
            })?;
        }
        {
            use customer::*;
            let columns = [C_W_ID, C_D_ID, C_ID, C_BALANCE, C_YTD_PAYMENT, C_DELIVERY_CNT];
            scan(worker, &t.customer, &columns, |_, row| {
                let (w, d) = (row.i16(C_W_ID), row.bytes(C_D_ID));
                let facts = self.customers.entry((w, d[0], row.i16(C_ID))).or_default();
                (facts.balance, facts.ytd_payment) = (row.i64(C_BALANCE), row.i64(C_YTD_PAYMENT));
                self.district(w, d).deliveries += i64::from(row.i32(C_DELIVERY_CNT));
            })?;
        }
        use history::*;
        let columns = [H_W_ID, H_D_ID, H_C_W_ID, H_C_D_ID, H_C_ID, H_AMOUNT];
        scan(worker, &t.history, &columns, |_, row| {
            let amount = i64::from(row.i32(H_AMOUNT));
            self.district(row.i16(H_W_ID), row.bytes(H_D_ID)).paid += amount;
            let customer = (row.i16(H_C_W_ID), row.bytes(H_C_D_ID)[0], row.i16(H_C_ID));
            self.customers.entry(customer).or_default().paid += amount;
        })
    }

    fn gather_orders<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Result<()> {
        {
            use orders::*;
            scan(worker, &t.orders, &[O_W_ID, O_D_ID, O_ID, O_C_ID, O_CARRIER_ID, O_OL_CNT], |_, row| {
                let (w, d, o) = (row.i16(O_W_ID), row.bytes(O_D_ID), row.i32(O_ID));
                let lines_promised = i64::from(row.i16(O_OL_CNT));
                let facts = self.district(w, d);
                facts.orders += 1;
                facts.max_o_id = facts.max_o_id.max(i64::from(o));
                facts.lines_promised += lines_promised;
                let order = OrderFacts {
                    customer: (w, d[0], row.i16(O_C_ID)),
                    has_carrier: !row.is_null(O_CARRIER_ID),
                    lines_promised,
                    lines: 0,
                    new_orders: 0,
                    misfits: 0,
                };
                self.orders.push((keys::order(w, d[0], o), order));
            })?;
        }
        let mut place = 0;
        {
            use new_order::*;
            scan(worker, &t.new_order, &[NO_W_ID, NO_D_ID, NO_O_ID], |_, row| {
                let (w, d, o) = (row.i16(NO_W_ID), row.bytes(NO_D_ID), row.i32(NO_O_ID));
                let facts = self.district(w, d);
                facts.new_orders += 1;
                let (low, high) = facts.new_order_ids.unwrap_or((i64::MAX, i64::MIN));
                facts.new_order_ids = Some((low.min(o.into()), high.max(o.into())));
                match find(&mut self.orders, &mut place, keys::order(w, d[0], o)) {
                    Some(order) => order.new_orders += 1,
                    None => self.orphans[0].push(keys::order(w, d[0], o)),
                }
            })?;
        }
        place = 0;
        use order_line::*;
        scan(worker, &t.order_line, &[OL_W_ID, OL_D_ID, OL_O_ID, OL_AMOUNT, OL_DELIVERY_D], |_, row| {
            let (w, d, o) = (row.i16(OL_W_ID), row.bytes(OL_D_ID), row.i32(OL_O_ID));
            self.district(w, d).lines += 1;
            let delivered = !row.is_null(OL_DELIVERY_D);
            let Some(order) = find(&mut self.orders, &mut place, keys::order(w, d[0], o)) else {
                self.orphans[1].push(keys::order(w, d[0], o));
                return;
            };
            order.lines += 1;
            order.misfits += u64::from(delivered != order.has_carrier);
            if delivered {
                let amount = i64::from(row.i32(OL_AMOUNT));
                self.customers.entry(order.customer).or_default().delivered_amount += amount;
            }
        })
    }

    fn conditions(&self, scale: Scale) -> Vec<Condition> {
        let mut check = Checks::default();
        for w in scale.warehouse_ids() {
            let w_ytd = self.w_ytd.get(&w).copied();
            let of_w = || (1..=DISTRICTS).filter_map(|d| self.districts.get(&(w, d)));
            check.equal(1, w_ytd, Some(of_w().map(|d| d.ytd).sum()), || format!("warehouse {w}"));
            check.equal(8, w_ytd, Some(of_w().map(|d| d.paid).sum()), || format!("warehouse {w}"));
            for d in 1..=DISTRICTS {
                match self.districts.get(&(w, d)) {
                    Some(facts) => facts.check(&mut check, scale, || format!("district ({w}, {d})")),
                    None => check.fail(2, || format!("district ({w}, {d}) is missing")),
                }
            }
        }
        for (key, order) in &self.orders {
            let (w, d, _) = order.customer;
            let at = || format!("order ({w}, {d}, {})", keys::order_number(key));
            check.equal(5, u32::from(!order.has_carrier), order.new_orders, at);
            check.equal(6, order.lines_promised, order.lines, at);
            check.equal(7, order.misfits, 0, at);
        }
        for (number, orphans, table) in
            [(5, &self.orphans[0], "new_order"), (6, &self.orphans[1], "order_line")]
        {
            for key in orphans {
                check.fail(number, || format!("{table}: no order for x'{}'", hex(key)));
            }
        }
        for ((w, d, c), facts) in &self.customers {
            let at = || format!("customer ({w}, {d}, {c})");
            check.equal(10, facts.balance, facts.delivered_amount - facts.paid, at);
            check.equal(12, facts.balance + facts.ytd_payment, facts.delivered_amount, at);
        }
        check.finish()
    }
}

impl DistrictFacts {
    fn check(&self, check: &mut Checks, scale: Scale, at: impl Fn() -> String + Copy) {
        check.equal(2, self.next_o_id - 1, self.max_o_id, at);
        if let Some((low, high)) = self.new_order_ids {
            check.equal(2, self.next_o_id - 1, high, at);
            check.equal(3, high - low + 1, self.new_orders, at);
        }
        check.equal(4, self.lines_promised, self.lines, at);
        check.equal(9, self.ytd, self.paid, at);
        // 2,100 when the run begins (clause 3.3.2.11); each delivery since then adds one
        let delivered = i64::from(scale.delivered()) + self.deliveries;
        check.equal(11, self.orders - self.new_orders, delivered, at);
    }
}

/// The order with this key; `place` is where the last one was found, and mostly this one or the next.
fn find<'a>(
    orders: &'a mut [([u8; 7], OrderFacts)],
    place: &mut usize,
    key: [u8; 7],
) -> Option<&'a mut OrderFacts> {
    let near = (*place..*place + 2).find(|&i| orders.get(i).is_some_and(|(k, _)| *k == key));
    *place = near.or_else(|| orders.binary_search_by(|(k, _)| k.cmp(&key)).ok())?;
    Some(&mut orders[*place].1)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[derive(Default)]
struct Checks([(u64, u64, Option<String>); 12]);

impl Checks {
    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, number: usize, a: T, b: T, at: impl Fn() -> String) {
        self.0[number - 1].0 += 1;
        if a != b {
            self.fail(number, || format!("{}: {a:?} is not {b:?}", at()));
        }
    }

    fn fail(&mut self, number: usize, detail: impl Fn() -> String) {
        let (_, failed, first) = &mut self.0[number - 1];
        *failed += 1;
        first.get_or_insert_with(detail);
    }

    fn finish(self) -> Vec<Condition> {
        let with_number = (1..).zip(SAYS).zip(self.0);
        with_number
            .map(|((number, says), (checked, failed, detail))| Condition {
                number,
                says: says.to_owned(),
                checked,
                failed,
                detail,
            })
            .collect()
    }
}
