//! TPC-C on the reference engine: population, each transaction's effect, the twelve conditions.

use crate::common::{Row, Tpcc, full, rows};
use scaledb_engine::{Engine, Worker};
use scaledb_row::Datum;
use scaledb_verify::reference::Reference;
use scaledb_workloads::driver::{Abort, Client, Workload};
use scaledb_workloads::tpcc::input::{NewOrderInput, PaymentInput};
use scaledb_workloads::tpcc::new_order::{Line, NewOrder};
use scaledb_workloads::tpcc::order_status::OrderStatus;
use scaledb_workloads::tpcc::payment::{Payment, Who};
use scaledb_workloads::tpcc::random::{Constants, Draw, last_name};
use scaledb_workloads::tpcc::stock_level::StockLevel;
use scaledb_workloads::tpcc::{Class, Mix, Scale, Tables, delivery::Delivery, keys, schema};
use scaledb_workloads::{rng::Rng, tpcc};

const NOW: i64 = 800_000_000_000_000;

fn int(row: &Row, column: usize) -> i64 {
    row.int(column).expect("not NULL")
}

#[test]
fn population_has_the_specified_cardinalities_and_is_consistent() {
    let scale = Scale { warehouses: 3, items: 150, customers: 50 };
    let mut db = Tpcc::load(scale, 2);
    let t = db.tables.clone();
    let counts = [
        (&t.warehouse, 3),
        (&t.district, 30),
        (&t.customer, 1_500),
        (&t.customer_by_name, 1_500),
        (&t.history, 1_500),
        (&t.orders, 1_500),
        (&t.orders_by_customer, 1_500),
        (&t.new_order, 3 * 10 * 15),
        (&t.item, 150),
        (&t.stock, 450),
    ];
    for (table, count) in counts {
        assert_eq!(rows(&mut db.worker, table).len(), count, "{}", table.info.name);
    }
    let lines = rows(&mut db.worker, &t.order_line);
    assert!((5 * 1_500..=15 * 1_500).contains(&lines.len()));
    db.assert_consistent();
    let full = Scale::full(1);
    assert_eq!(
        (full.items, full.customers, full.delivered(), full.last_names()),
        (100_000, 3_000, 2_100, 1_000)
    );
}

#[test]
fn population_does_not_depend_on_the_number_of_loaders() {
    let tables = |threads| {
        let mut db = Tpcc::load(Scale { warehouses: 1, items: 60, customers: 20 }, threads);
        let t = db.tables.clone();
        [&t.customer, &t.stock, &t.order_line].map(|table| rows(&mut db.worker, table))
    };
    assert_eq!(tables(1), tables(4));
}

#[test]
fn initial_columns_lie_in_their_ranges() {
    let mut db = Tpcc::load(Scale { warehouses: 1, items: 2_000, customers: 20 }, 1);
    let t = db.tables.clone();
    let items = rows(&mut db.worker, &t.item);
    let originals = items.iter().filter(|row| {
        let price = int(row, schema::item::I_PRICE);
        assert!((100..=10_000).contains(&price));
        tpcc::random::is_original(row.bytes(schema::item::I_DATA))
    });
    let originals = originals.count();
    assert!((130..270).contains(&originals), "{originals} of 2000 items are original");
    let mut names = std::collections::BTreeSet::new();
    for row in rows(&mut db.worker, &t.customer) {
        use schema::customer::*;
        assert!(int(&row, C_DISCOUNT) <= 5_000 && row.bytes(C_MIDDLE) == b"OE");
        assert!(matches!(row.bytes(C_CREDIT), b"GC" | b"BC"));
        assert_eq!((int(&row, C_BALANCE), int(&row, C_YTD_PAYMENT)), (-10_00, 10_00));
        names.insert(row.bytes(C_LAST).to_vec());
    }
    assert_eq!(names, (0..20).map(|n| last_name(n).to_vec()).collect());
    for row in rows(&mut db.worker, &t.order_line) {
        use schema::order_line::*;
        let delivered = int(&row, OL_O_ID) <= 14;
        assert_eq!(row.int(OL_DELIVERY_D).is_some(), delivered);
        assert_eq!(int(&row, OL_AMOUNT) == 0, delivered);
    }
}

#[test]
fn encoded_keys_are_those_of_the_schema() {
    let db = Tpcc::load(Scale { warehouses: 1, items: 20, customers: 10 }, 1);
    let t = &db.tables;
    let key = |table: &schema::TpccTable, values: &[Datum<'_>]| {
        let schema = table.schema();
        schema.primary_key().encode_values(schema, values).unwrap().to_vec()
    };
    let (w, d, c, i, o) = (7i16, 3u8, 2_345i16, 99_999i32, 1_234_567i32);
    let d_bytes: &[u8] = &[d];
    assert_eq!(key(&t.warehouse, &[w.into()]), keys::warehouse(w));
    assert_eq!(key(&t.district, &[w.into(), d_bytes.into()]), keys::district(w, d));
    assert_eq!(key(&t.customer, &[w.into(), d_bytes.into(), c.into()]), keys::customer(w, d, c));
    assert_eq!(key(&t.item, &[i.into()]), keys::item(i));
    assert_eq!(key(&t.stock, &[w.into(), i.into()]), keys::stock(w, i));
    assert_eq!(key(&t.orders, &[w.into(), d_bytes.into(), o.into()]), keys::order(w, d, o));
    assert_eq!(key(&t.new_order, &[w.into(), d_bytes.into(), o.into()]), keys::order(w, d, o));
    let line: &[u8] = &[9];
    let values = [w.into(), d_bytes.into(), o.into(), line.into()];
    assert_eq!(key(&t.order_line, &values), keys::order_line(w, d, o, 9));
    assert_eq!(keys::order_number(&keys::order(w, d, o)), o);
    let by_name = &t.customer.info.indexes[0].key;
    let last = last_name(371);
    let prefix = [w.into(), d_bytes.into(), (&last[..]).into()];
    let prefix = by_name.encode_values(t.customer.schema(), &prefix).unwrap();
    let (from, to) = keys::customers_by_name(w, d, &last_name(371));
    assert_eq!(*prefix, from);
    assert!(to > from && !to.starts_with(&from));
}

fn order(db: &Tpcc, lines: &[Line]) -> NewOrder {
    let mut new_order = NewOrder::new(&db.tables);
    new_order.w_id = 1;
    new_order.d_id = 4;
    new_order.c_id = 11;
    new_order.o_entry_d = NOW;
    new_order.ol_cnt = lines.len();
    new_order.lines[..lines.len()].copy_from_slice(lines);
    new_order
}

#[test]
fn new_order_inserts_and_takes_from_stock() {
    let mut db = Tpcc::load(Scale::tiny(2), 1);
    let t = db.tables.clone();
    let before = (rows(&mut db.worker, &t.orders).len(), rows(&mut db.worker, &t.new_order).len());
    let stock_before = rows(&mut db.worker, &t.stock);
    // the same item twice, and one from the other warehouse
    let line = |ol_i_id, ol_supply_w_id, ol_quantity| Line { ol_i_id, ol_supply_w_id, ol_quantity };
    let mut new_order = order(&db, &[line(5, 1, 3), line(5, 1, 4), line(9, 2, 10)]);
    db.execute(|w, t| new_order.execute(t, w)).unwrap();
    let shown = new_order.shown;
    assert_eq!(shown.o_id, 41);
    assert_eq!(rows(&mut db.worker, &t.orders).len(), before.0 + 1);
    assert_eq!(rows(&mut db.worker, &t.new_order).len(), before.1 + 1);
    let placed = db.row(&t.orders, &keys::order(1, 4, 41));
    {
        use schema::orders::*;
        assert_eq!(
            (int(&placed, O_C_ID), int(&placed, O_ENTRY_D), placed.int(O_CARRIER_ID)),
            (11, NOW, None)
        );
        assert_eq!((int(&placed, O_OL_CNT), int(&placed, O_ALL_LOCAL)), (3, 0));
    }
    let mut sum = 0;
    for (i, entered) in new_order.lines[..3].iter().enumerate() {
        use schema::order_line::*;
        let row = db.row(&t.order_line, &keys::order_line(1, 4, 41, i as u8 + 1));
        let price = int(&db.row(&t.item, &keys::item(entered.ol_i_id)), schema::item::I_PRICE);
        assert_eq!(int(&row, OL_AMOUNT), price * i64::from(entered.ol_quantity));
        assert_eq!(int(&row, OL_SUPPLY_W_ID), i64::from(entered.ol_supply_w_id));
        assert_eq!(row.int(OL_DELIVERY_D), None);
        let stock = db.row(&t.stock, &keys::stock(entered.ol_supply_w_id, entered.ol_i_id));
        assert_eq!(row.bytes(OL_DIST_INFO), stock.bytes(schema::stock::S_DIST_04));
        sum += int(&row, OL_AMOUNT);
    }
    let taken = |old: i64, n: i64| if old - n >= 10 { old - n } else { old - n + 91 };
    {
        use schema::stock::*;
        let old = stock_before.iter().find(|r| int(r, S_W_ID) == 1 && int(r, S_I_ID) == 5).unwrap();
        let new = db.row(&t.stock, &keys::stock(1, 5));
        assert_eq!(int(&new, S_QUANTITY), taken(taken(int(old, S_QUANTITY), 3), 4));
        assert_eq!((int(&new, S_YTD), int(&new, S_ORDER_CNT), int(&new, S_REMOTE_CNT)), (7, 2, 0));
        let remote = db.row(&t.stock, &keys::stock(2, 9));
        assert_eq!((int(&remote, S_YTD), int(&remote, S_ORDER_CNT), int(&remote, S_REMOTE_CNT)), (10, 1, 1));
    }
    let factor = (1.0 - shown.c_discount as f64 / 1e4) * (1.0 + (shown.w_tax + shown.d_tax) as f64 / 1e4);
    assert!((shown.total as f64 - sum as f64 * factor).abs() <= 0.5);
    db.assert_consistent();
}

#[test]
fn new_order_for_an_unused_item_leaves_no_trace() {
    let mut db = Tpcc::load(Scale::tiny(1), 1);
    let t = db.tables.clone();
    let line = |ol_i_id| Line { ol_i_id, ol_supply_w_id: 1, ol_quantity: 1 };
    let before = rows(&mut db.worker, &t.stock);
    let mut new_order = order(&db, &[line(1), line(2), line(201)]);
    let result = db.execute(|w, t| new_order.execute(t, w));
    assert!(matches!(result, Err(Abort::Database(scaledb_base::Error::RolledBack))), "{result:?}");
    assert_eq!(rows(&mut db.worker, &t.stock), before);
    assert_eq!(int(&db.row(&t.district, &keys::district(1, 4)), schema::district::D_NEXT_O_ID), 41);
    db.assert_consistent();
}

#[test]
fn brand_is_original_only_if_item_and_stock_are() {
    let mut db = Tpcc::load(Scale { warehouses: 1, items: 300, customers: 40 }, 1);
    let t = db.tables.clone();
    let mut seen = [0; 2];
    for i in 1..=300 {
        let line = Line { ol_i_id: i, ol_supply_w_id: 1, ol_quantity: 1 };
        let mut new_order = order(&db, &[line]);
        db.execute(|w, t| new_order.execute(t, w)).unwrap();
        let item = db.row(&t.item, &keys::item(i));
        let stock = db.row(&t.stock, &keys::stock(1, i));
        let both = tpcc::random::is_original(item.bytes(schema::item::I_DATA))
            && tpcc::random::is_original(stock.bytes(schema::stock::S_DATA));
        assert_eq!(new_order.shown.lines[0].brand_generic == b'B', both);
        seen[usize::from(both)] += 1;
    }
    assert!(seen[0] > 250 && seen[1] > 0, "{seen:?}");
}

fn payment(db: &Tpcc, customer: Who) -> Payment {
    let mut payment = Payment::new(&db.tables);
    payment.w_id = 1;
    payment.d_id = 2;
    payment.c_w_id = 2;
    payment.c_d_id = 7;
    payment.customer = customer;
    payment.h_amount = 123_45;
    payment.h_date = NOW;
    payment
}

#[test]
fn payment_moves_money_and_writes_history() {
    let mut db = Tpcc::load(Scale::tiny(2), 1);
    let t = db.tables.clone();
    let before = (
        int(&db.row(&t.warehouse, &keys::warehouse(1)), schema::warehouse::W_YTD),
        int(&db.row(&t.district, &keys::district(1, 2)), schema::district::D_YTD),
    );
    let mut payment = payment(&db, Who::Id(17));
    db.execute(|w, t| payment.execute(t, w)).unwrap();
    let warehouse = db.row(&t.warehouse, &keys::warehouse(1));
    let district = db.row(&t.district, &keys::district(1, 2));
    assert_eq!(int(&warehouse, schema::warehouse::W_YTD), before.0 + 123_45);
    assert_eq!(int(&district, schema::district::D_YTD), before.1 + 123_45);
    let customer = db.row(&t.customer, &keys::customer(2, 7, 17));
    {
        use schema::customer::*;
        let now = (int(&customer, C_BALANCE), int(&customer, C_YTD_PAYMENT), int(&customer, C_PAYMENT_CNT));
        assert_eq!(now, (-10_00 - 123_45, 10_00 + 123_45, 2));
        assert_eq!((payment.shown.c_id, payment.shown.c_balance), (17, -133_45));
    }
    use schema::history::*;
    let history = rows(&mut db.worker, &t.history);
    let paid: Vec<_> = history.iter().filter(|row| int(row, H_AMOUNT) == 123_45).collect();
    assert_eq!(paid.len(), 1);
    let row = paid[0];
    assert_eq!((int(row, H_W_ID), int(row, H_C_W_ID), int(row, H_C_ID), int(row, H_DATE)), (1, 2, 17, NOW));
    let trimmed = tpcc::random::trimmed;
    let name = [trimmed(warehouse.bytes(schema::warehouse::W_NAME)), b"    "].concat();
    let name = [&name, trimmed(district.bytes(schema::district::D_NAME))].concat();
    assert_eq!(trimmed(row.bytes(H_DATA)), name);
    db.assert_consistent();
}

#[test]
fn payment_by_name_picks_the_middle_customer_by_first_name() {
    // names repeat from the 1,001st customer on
    let mut db = Tpcc::load(Scale { warehouses: 2, items: 20, customers: 1_500 }, 1);
    let t = db.tables.clone();
    let mut numbers = std::collections::BTreeSet::new();
    for name in 0..1_000 {
        use schema::customer::*;
        let customers = rows(&mut db.worker, &t.customer);
        let mut bearers: Vec<_> = customers
            .iter()
            .filter(|r| int(r, C_W_ID) == 2 && r.bytes(C_D_ID) == [7] && r.bytes(C_LAST) == last_name(name))
            .map(|r| (r.bytes(C_FIRST).to_vec(), int(r, C_ID)))
            .collect();
        bearers.sort();
        if bearers.len() < 2 && name % 100 != 0 {
            continue;
        }
        let mut payment = payment(&db, Who::Name(last_name(name)));
        db.execute(|w, t| payment.execute(t, w)).unwrap();
        let middle = &bearers[bearers.len().div_ceil(2) - 1];
        assert_eq!(i64::from(payment.shown.c_id), middle.1);
        numbers.insert(bearers.len());
        if numbers.len() >= 3 {
            break;
        }
    }
    assert!(numbers.len() >= 3, "{numbers:?}");
}

#[test]
fn payment_of_a_bad_customer_is_noted_in_c_data() {
    let mut db = Tpcc::load(Scale { warehouses: 2, items: 20, customers: 100 }, 1);
    let t = db.tables.clone();
    use schema::customer::*;
    let customers = rows(&mut db.worker, &t.customer);
    let of = |credit: &[u8]| {
        let found = customers
            .iter()
            .find(|r| int(r, C_W_ID) == 2 && r.bytes(C_D_ID) == [7] && r.bytes(C_CREDIT) == credit);
        found.unwrap().clone()
    };
    let (good, bad) = (of(b"GC"), of(b"BC"));
    for old in [&good, &bad] {
        let id = int(old, C_ID) as i16;
        let mut payment = payment(&db, Who::Id(id));
        payment.h_amount = 7_05;
        for _ in 0..2 {
            db.execute(|w, t| payment.execute(t, w)).unwrap();
        }
        let new = db.row(&t.customer, &keys::customer(2, 7, id));
        if old.bytes(C_CREDIT) == b"GC" {
            assert_eq!(new.bytes(C_DATA), old.bytes(C_DATA));
            continue;
        }
        let note = format!("{id} 7 2 2 1 7.05 ");
        let mut expected = [note.as_bytes(), note.as_bytes(), old.bytes(C_DATA)].concat();
        expected.truncate(500);
        assert_eq!(new.bytes(C_DATA), expected);
    }
}

#[test]
fn order_status_shows_the_latest_order() {
    let mut db = Tpcc::load(Scale::tiny(1), 1);
    let line = |ol_i_id| Line { ol_i_id, ol_supply_w_id: 1, ol_quantity: 2 };
    let mut new_order = order(&db, &[line(3), line(8)]);
    db.execute(|w, t| new_order.execute(t, w)).unwrap();
    let mut status = OrderStatus::new(&db.tables);
    (status.w_id, status.d_id, status.customer) = (1, 4, Who::Id(11));
    for customer in [Who::Id(11), Who::Name(last_name(10))] {
        status.customer = customer;
        db.execute(|w, t| status.execute(t, w)).unwrap();
        let shown = status.shown;
        assert_eq!((shown.c_id, shown.o_id, shown.o_entry_d, shown.o_carrier_id), (11, 41, NOW, None));
        assert_eq!((shown.ol_cnt, shown.lines[1].ol_i_id, shown.lines[1].ol_quantity), (2, 8, 2));
        assert_eq!((shown.c_balance, shown.lines[0].ol_delivery_d), (-10_00, None));
        assert_eq!(shown.lines[0].ol_amount, new_order.shown.lines[0].ol_amount);
    }
}

#[test]
fn delivery_takes_the_oldest_order_of_each_district() {
    let mut db = Tpcc::load(Scale::tiny(1), 1);
    let t = db.tables.clone();
    let mut delivery = Delivery::new(&t);
    (delivery.w_id, delivery.o_carrier_id, delivery.ol_delivery_d) = (1, 6, NOW);
    for round in 0..13 {
        let before = rows(&mut db.worker, &t.new_order).len();
        db.execute(|w, t| delivery.execute(t, w)).unwrap();
        // 12 orders of each district wait at first
        let expected = if round < 12 { 10 } else { 0 };
        assert_eq!(delivery.delivered.len(), expected, "round {round}");
        assert_eq!(rows(&mut db.worker, &t.new_order).len(), before - expected);
        for delivered in &delivery.delivered {
            assert_eq!(delivered.o_id, 29 + round);
            let order = db.row(&t.orders, &keys::order(1, delivered.d_id, delivered.o_id));
            assert_eq!(order.int(schema::orders::O_CARRIER_ID), Some(6));
            assert_eq!(int(&order, schema::orders::O_C_ID), i64::from(delivered.c_id));
            let customer = db.row(&t.customer, &keys::customer(1, delivered.d_id, delivered.c_id));
            assert_eq!(int(&customer, schema::customer::C_BALANCE), delivered.amount - 10_00);
            assert_eq!(int(&customer, schema::customer::C_DELIVERY_CNT), 1);
            assert!(delivered.amount > 0);
        }
        db.assert_consistent();
    }
    use schema::order_line::*;
    assert!(rows(&mut db.worker, &t.order_line).iter().all(|row| row.int(OL_DELIVERY_D).is_some()));
}

#[test]
fn stock_level_counts_distinct_items_of_the_last_20_orders() {
    let mut db = Tpcc::load(Scale::tiny(1), 1);
    let t = db.tables.clone();
    let mut level = StockLevel::new(&t);
    for (d_id, threshold) in [(1, 10), (5, 15), (10, 20), (2, 101)] {
        (level.w_id, level.d_id, level.threshold) = (1, d_id, threshold);
        db.execute(|w, t| level.execute(t, w)).unwrap();
        let mut items = std::collections::BTreeSet::new();
        for row in rows(&mut db.worker, &t.order_line) {
            use schema::order_line::*;
            if row.bytes(OL_D_ID) == [d_id] && int(&row, OL_O_ID) > 20 {
                items.insert(int(&row, OL_I_ID) as i32);
            }
        }
        let quantity =
            |db: &mut Tpcc, i| int(&db.row(&t.stock, &keys::stock(1, i)), schema::stock::S_QUANTITY);
        let low = items.iter().filter(|&&i| quantity(&mut db, i) < threshold).count();
        assert_eq!(level.low_stock as usize, low, "district {d_id}");
        assert!(threshold <= 100 || low == items.len() && low > 50);
    }
}

#[test]
fn decks_keep_their_proportions() {
    let count = |mix: Mix, class| mix.deck().iter().filter(|&&c| c == class).count();
    use Class::*;
    let classes = [NewOrder, Payment, OrderStatus, Delivery, StockLevel];
    assert_eq!(classes.map(|c| count(Mix::Full, c)), [45, 43, 4, 4, 4]);
    assert_eq!(classes.map(|c| count(Mix::NewOrderPayment, c)), [10, 10, 0, 0, 0]);
    assert_eq!(classes.map(|c| count(Mix::NewOrderDelivery, c)), [10, 0, 0, 10, 0]);
    let db = Tpcc::load(Scale::tiny(1), 1);
    let mut terminal = db.workload(Mix::Full).client(0, 1);
    let mut dealt = [0; 5];
    let first: Vec<_> = (0..100).map(|_| terminal.prepare(NOW).class).collect();
    first.iter().for_each(|&class| dealt[class] += 1);
    assert_eq!(dealt, [45, 43, 4, 4, 4]);
    let second: Vec<_> = (0..100).map(|_| terminal.prepare(NOW).class).collect();
    assert_ne!(first, second, "the deck is shuffled again");
}

#[test]
fn terminals_share_the_warehouses() {
    let db = Tpcc::load(Scale { warehouses: 5, items: 20, customers: 10 }, 1);
    let workload = db.workload(Mix::Full);
    let homes = |number, of| workload.client(number, of).homes().to_vec();
    assert_eq!([homes(0, 2), homes(1, 2)], [vec![1, 3, 5], vec![2, 4]]);
    assert_eq!([homes(0, 1)], [vec![1, 2, 3, 4, 5]]);
    assert_eq!([homes(5, 7), homes(6, 7)], [vec![1], vec![2]]);
}

#[test]
fn inputs_follow_the_specified_distribution() {
    let scale = Scale::full(4);
    let db = Tpcc::load(Scale { warehouses: 4, items: 20, customers: 10 }, 1);
    let mut draw = Draw::new(Rng::new(1, 2), Constants::run(1), scale);
    let (mut new_order, mut payment) = (NewOrder::new(&db.tables), Payment::new(&db.tables));
    let (mut lines, mut remote_lines, mut rollbacks, mut remote, mut named) = (0, 0, 0, 0, 0);
    let n = 50_000;
    for _ in 0..n {
        new_order.enter(&NewOrderInput::draw(&mut draw, 3, NOW));
        let entered = &new_order.lines[..new_order.ol_cnt];
        lines += entered.len();
        remote_lines += entered.iter().filter(|l| l.ol_supply_w_id != 3).count();
        rollbacks += usize::from(entered[entered.len() - 1].ol_i_id == 100_001);
        assert!(entered[..entered.len() - 1].iter().all(|l| (1..=100_000).contains(&l.ol_i_id)));
        assert!((1..=3_000).contains(&new_order.c_id) && (1..=10).contains(&new_order.d_id));
        payment.enter(&PaymentInput::draw(&mut draw, 3, NOW));
        assert!((100..=500_000).contains(&payment.h_amount));
        remote += usize::from(payment.c_w_id != 3);
        named += usize::from(matches!(payment.customer, Who::Name(_)));
    }
    let percent = |part: usize, of: usize| part as f64 * 100.0 / of as f64;
    assert!((percent(lines, n) - 1_000.0).abs() < 5.0);
    assert!((percent(remote_lines, lines) - 1.0).abs() < 0.1);
    assert!((percent(rollbacks, n) - 1.0).abs() < 0.2);
    assert!((percent(remote, n) - 15.0).abs() < 0.7 && (percent(named, n) - 60.0).abs() < 1.0);
}

#[test]
fn conditions_hold_after_thousands_of_transactions() {
    for mix in [Mix::Full, Mix::NewOrderPayment, Mix::NewOrderDelivery] {
        let mut db = Tpcc::load(Scale::tiny(2), 2);
        let (mut commits, mut rollbacks) = (0, 0);
        let mut terminal = db.workload(mix).client(0, 1);
        for i in 0..6_000 {
            let transaction = terminal.prepare(NOW + i);
            db.worker.begin(transaction.kind).unwrap();
            match terminal.execute(&mut db.worker) {
                Ok(()) => commits += usize::from(db.worker.commit().is_ok()),
                Err(Abort::Database(scaledb_base::Error::RolledBack)) => {
                    rollbacks += 1;
                    db.worker.rollback();
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!((10..100).contains(&rollbacks) && commits + rollbacks == 6_000, "{commits} {rollbacks}");
        db.assert_consistent();
    }
}

/// What breaks a condition, by number.
fn corrupt(number: usize, db: &mut Tpcc, t: &Tables) {
    use schema::{customer, district, history, order_line, orders, warehouse};
    let w = &mut db.worker;
    match number {
        1 => full::set(w, &t.district, &keys::district(2, 3), district::D_YTD, Datum::Int8(1)),
        2 => full::set(w, &t.district, &keys::district(1, 10), district::D_NEXT_O_ID, Datum::Int4(40)),
        // a gap in the queue
        3 => full::delete(w, &t.new_order, &keys::order(1, 5, 35)),
        4 | 6 => full::delete(w, &t.order_line, &keys::order_line(2, 1, 12, 1)),
        5 => full::delete(w, &t.new_order, &keys::order(2, 2, 29)),
        7 => {
            full::set(w, &t.order_line, &keys::order_line(1, 1, 3, 2), order_line::OL_DELIVERY_D, Datum::Null)
        }
        8 => full::set(w, &t.warehouse, &keys::warehouse(2), warehouse::W_YTD, Datum::Int8(5)),
        9 => {
            let row = rows(w, &t.history).into_iter().next().unwrap();
            full::set(w, &t.history, &row.key, history::H_D_ID, Datum::Bytes(&[9]));
        }
        10 => {
            let row = rows(w, &t.history).into_iter().next_back().unwrap();
            full::set(w, &t.history, &row.key, history::H_C_ID, Datum::Int2(1));
        }
        11 => full::set(w, &t.customer, &keys::customer(1, 8, 30), customer::C_DELIVERY_CNT, Datum::Int4(1)),
        12 => full::set(w, &t.customer, &keys::customer(1, 2, 3), customer::C_YTD_PAYMENT, Datum::Int8(3)),
        13 => full::set(w, &t.orders, &keys::order(1, 3, 2), orders::O_CARRIER_ID, Datum::Null),
        14 => full::set(w, &t.orders, &keys::order(2, 9, 40), orders::O_OL_CNT, Datum::Int2(2)),
        15 => full::delete(w, &t.orders, &keys::order(2, 9, 20)),
        16 => full::delete(w, &t.district, &keys::district(1, 1)),
        17 => {
            let key = rows(w, &t.history)[5].key.clone();
            full::delete(w, &t.history, &key);
        }
        other => panic!("no corruption {other}"),
    }
}

#[test]
fn each_condition_fails_when_its_data_is_corrupted() {
    // what is done, and the conditions that fail: the one that it was made for first
    let cases: [(usize, &[usize]); 17] = [
        (1, &[1, 9]),
        (2, &[2]),
        (3, &[3, 5, 11]),
        (4, &[4, 6]),
        (5, &[5, 11]),
        (6, &[6, 4]),
        (7, &[7]),
        (8, &[8, 1]),
        (9, &[9]),
        (10, &[10]),
        (11, &[11]),
        (12, &[12]),
        (13, &[5, 7]),
        (14, &[4, 6]),
        (15, &[4, 6, 11]),
        (16, &[1, 2, 9]),
        (17, &[8, 9, 10]),
    ];
    for (number, fail) in cases {
        let mut db = Tpcc::load(Scale::tiny(2), 1);
        let t = db.tables.clone();
        corrupt(number, &mut db, &t);
        let conditions = tpcc::check(&t, &mut db.worker).unwrap();
        assert_eq!(conditions.len(), 12);
        let failed: Vec<_> = conditions.iter().filter(|c| !c.holds()).map(|c| c.number).collect();
        let mut expected = fail.to_vec();
        expected.sort_unstable();
        assert_eq!(failed, expected, "corruption {number}: {conditions:#?}");
        assert!(conditions.iter().all(|c| c.holds() == c.detail.is_none() && c.checked > 0));
    }
}

#[test]
fn tables_are_created_once_whatever_their_options() {
    // the reference engine ignores options; that creation accepts them is all there is to see
    let engine = Reference::new();
    Tables::create(&engine, Scale::tiny(1), false).unwrap();
    assert_eq!(engine.stats().tables.len(), 11);
    let again = Tables::create(&engine, Scale::tiny(1), false).unwrap();
    assert_eq!(engine.stats().tables.len(), 11, "tables that exist are taken");
    assert_eq!(again.stock.id, engine.table("stock").unwrap().id);
}
