//! Encoded keys on the stack. They equal what the key columns encode to (a test compares them), and cost
//! a few shifts.

/// A range of keys: from the first to before the second.
pub type KeyRange<const N: usize> = ([u8; N], [u8; N]);

#[inline]
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut key = [0; N];
    let mut at = 0;
    for part in parts {
        key[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    debug_assert_eq!(at, N);
    key
}

#[inline]
fn int2(v: i16) -> [u8; 2] {
    (v as u16 ^ 1 << 15).to_be_bytes()
}

#[inline]
fn int4(v: i32) -> [u8; 4] {
    (v as u32 ^ 1 << 31).to_be_bytes()
}

/// `warehouse`.
#[inline]
pub fn warehouse(w: i16) -> [u8; 2] {
    int2(w)
}

/// `district`.
#[inline]
pub fn district(w: i16, d: u8) -> [u8; 3] {
    join(&[&int2(w), &[d]])
}

/// `customer`.
#[inline]
pub fn customer(w: i16, d: u8, c: i16) -> [u8; 5] {
    join(&[&int2(w), &[d], &int2(c)])
}

/// All customers of a district with this last name (padded), by first name.
#[inline]
pub fn customers_by_name(w: i16, d: u8, last: &[u8; 16]) -> KeyRange<19> {
    let from: [u8; 19] = join(&[&int2(w), &[d], last]);
    let mut to = from;
    // names are ASCII or padding: no carry
    to[18] += 1;
    (from, to)
}

/// `item`.
#[inline]
pub fn item(i: i32) -> [u8; 4] {
    int4(i)
}

/// `stock`.
#[inline]
pub fn stock(w: i16, i: i32) -> [u8; 6] {
    join(&[&int2(w), &int4(i)])
}

/// `orders`, `new_order`.
#[inline]
pub fn order(w: i16, d: u8, o: i32) -> [u8; 7] {
    join(&[&int2(w), &[d], &int4(o)])
}

/// The order's number in a key of `orders` or `new_order`.
#[inline]
pub fn order_number(key: &[u8]) -> i32 {
    let bytes: [u8; 4] = key[3..7].try_into().expect("4 bytes");
    (u32::from_be_bytes(bytes) ^ 1 << 31) as i32
}

/// All of a district's rows in `new_order`.
#[inline]
pub fn new_orders(w: i16, d: u8) -> KeyRange<3> {
    (district(w, d), district(w, d + 1))
}

/// All orders of a customer in `orders_by_customer`.
#[inline]
pub fn orders_of(w: i16, d: u8, c: i16) -> KeyRange<5> {
    (customer(w, d, c), customer(w, d, c + 1))
}

/// `order_line`.
#[inline]
pub fn order_line(w: i16, d: u8, o: i32, number: u8) -> [u8; 8] {
    join(&[&int2(w), &[d], &int4(o), &[number]])
}

/// The lines of the orders from `from` to before `to`.
#[inline]
pub fn order_lines(w: i16, d: u8, from: i32, to: i32) -> KeyRange<7> {
    (order(w, d, from), order(w, d, to))
}

/// The primary key at the end of a key of `customer_by_name`.
#[inline]
pub fn customer_of(key: &[u8]) -> [u8; 5] {
    key[key.len() - 5..].try_into().expect("5 bytes")
}
