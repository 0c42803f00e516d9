//! Addresses and networks: what they contain, their parts, and arithmetic of addresses.

use super::Registry;
use super::args::code;
use crate::error::{Result, SqlError, SqlState};
use crate::network::Inet;
use crate::value::{Text, Value};

impl From<Inet> for Value {
    fn from(v: Inet) -> Self {
        Self::Inet(v)
    }
}

/// Whether `outer` has all addresses of `inner`.
fn contains(outer: Inet, inner: Inet) -> bool {
    outer.bits() <= inner.bits() && outer.agrees(&inner, outer.bits())
}

/// Whether `outer` has all addresses of `inner`, and more.
fn contains_more(outer: Inet, inner: Inet) -> bool {
    outer.bits() < inner.bits() && contains(outer, inner)
}

fn overlap(a: Inet, b: Inet) -> bool {
    a.agrees(&b, a.bits().min(b.bits()))
}

/// The bits that a length given by a user means: -1 is the whole address.
fn checked_bits(v: Inet, bits: i32) -> Result<u8> {
    let checked = match bits {
        -1 => Some(v.max_bits()),
        _ => u8::try_from(bits).ok().filter(|bits| *bits <= v.max_bits()),
    };
    checked.ok_or_else(|| SqlError::invalid_parameter(format!("invalid mask length: {bits}")))
}

/// Two addresses of one family become one, bit by bit.
fn combine(what: &str, a: Inet, b: Inet, op: fn(u128, u128) -> u128) -> Result<Inet> {
    if a.is_v6() != b.is_v6() {
        return Err(SqlError::invalid_parameter(format!("cannot {what} inet values of different sizes")));
    }
    Ok(a.with(op(a.address(), b.address()), a.bits().max(b.bits())))
}

#[cold]
fn out_of_range() -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

/// How far to the left an address stands in 128 bits.
fn shift(v: Inet) -> u32 {
    128 - u32::from(v.max_bits())
}

fn plus(v: Inet, by: i64) -> Result<Inet> {
    let sum = (v.address() >> shift(v)).checked_add_signed(by.into()).ok_or_else(out_of_range)?;
    // a sum beyond the address is cut by the shift
    let address = sum << shift(v);
    if address >> shift(v) == sum { Ok(v.with(address, v.bits())) } else { Err(out_of_range()) }
}

fn minus(a: Inet, b: Inet) -> Result<i64> {
    if a.is_v6() != b.is_v6() {
        return Err(SqlError::invalid_parameter("cannot subtract inet values of different sizes"));
    }
    let difference = (a.address() >> shift(a)).wrapping_sub(b.address() >> shift(b)) as i128;
    i64::try_from(difference).map_err(|_| out_of_range())
}

/// The smallest network that has both.
fn merge(a: Inet, b: Inet) -> Result<Inet> {
    if a.is_v6() != b.is_v6() {
        return Err(SqlError::invalid_parameter("cannot merge addresses from different families"));
    }
    let common = (a.address() ^ b.address()).leading_zeros().min(128) as u8;
    let bits = common.min(a.bits()).min(b.bits());
    Ok(a.with(a.masked(bits), bits))
}

/// All bits of the network set, the others not.
fn netmask(v: Inet) -> Inet {
    let ones = v.with(u128::MAX, v.bits());
    v.with(ones.masked(v.bits()), v.max_bits())
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Text {
    let mut out = Vec::new();
    write(&mut out);
    Text::new(String::from_utf8_lossy(&out))
}

impl Inet {
    /// The text of a cast: with the bits of the network, even if they are all.
    pub(crate) fn shown(&self) -> Text {
        written(|out| self.write_text(true, out))
    }
}

pub(super) fn register(r: &mut Registry) {
    r.add("<<(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(contains_more(b, a))));
    r.add("<<=(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(contains(b, a))));
    r.add(">>(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(contains_more(a, b))));
    r.add(">>=(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(contains(a, b))));
    r.add("&&(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(overlap(a, b))));
    r.add("~(inet) inet", code!(|v: Inet| Ok(v.with(!v.address(), v.bits()))));
    r.add("&(inet,inet) inet", code!(|a: Inet, b: Inet| combine("AND", a, b, |a, b| a & b)));
    r.add("|(inet,inet) inet", code!(|a: Inet, b: Inet| combine("OR", a, b, |a, b| a | b)));
    r.add("+(inet,int8) inet", code!(|v: Inet, by: i64| plus(v, by)));
    r.add("+(int8,inet) inet", code!(|by: i64, v: Inet| plus(v, by)));
    // the least number stays what it is, as in PostgreSQL
    r.add("-(inet,int8) inet", code!(|v: Inet, by: i64| plus(v, by.wrapping_neg())));
    r.add("-(inet,inet) int8", code!(|a: Inet, b: Inet| minus(a, b)));
    r.add("abbrev(inet) text", code!(|v: Inet| Ok(written(|out| v.write_text(false, out)))));
    r.add("abbrev(cidr) text", code!(|v: Inet| Ok(v.abbreviated())));
    r.add("broadcast(inet) inet", code!(|v: Inet| Ok(v.with(v.address() | !netmask(v).address(), v.bits()))));
    r.add("cidr(inet) cidr", code!(|v: Inet| Ok(v.network())));
    r.add("family(inet) int4", code!(|v: Inet| Ok(if v.is_v6() { 6 } else { 4 })));
    r.add("host(inet) text", code!(|v: Inet| Ok(written(|out| v.write_host(out)))));
    r.add("hostmask(inet) inet", code!(|v: Inet| Ok(v.with(!netmask(v).address(), v.max_bits()))));
    r.add("inet_merge(inet,inet) cidr", code!(|a: Inet, b: Inet| merge(a, b)));
    r.add("inet_same_family(inet,inet) bool", code!(|a: Inet, b: Inet| Ok(a.is_v6() == b.is_v6())));
    r.add("masklen(inet) int4", code!(|v: Inet| Ok(i32::from(v.bits()))));
    r.add("netmask(inet) inet", code!(|v: Inet| Ok(netmask(v))));
    r.add("network(inet) cidr", code!(|v: Inet| Ok(v.network())));
    r.add(
        "set_masklen(inet,int4) inet",
        code!(|v: Inet, bits: i32| checked_bits(v, bits).map(|bits| v.with(v.address(), bits))),
    );
    r.add(
        "set_masklen(cidr,int4) cidr",
        code!(|v: Inet, bits: i32| checked_bits(v, bits).map(|bits| v.with(v.masked(bits), bits))),
    );
    r.add("text(inet) text", code!(|v: Inet| Ok(v.shown())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(text: &str) -> Inet {
        Inet::parse(text, false).unwrap()
    }

    #[test]
    fn sums_stay_within_their_family() {
        assert_eq!(plus(inet("1.2.3.255"), 1), Ok(inet("1.2.4.0")));
        assert_eq!(plus(inet("0.0.0.1/8"), -1), Ok(inet("0.0.0.0/8")));
        assert!(plus(inet("255.255.255.255"), 1).is_err());
        assert!(plus(inet("0.0.0.0"), -1).is_err());
        assert_eq!(plus(inet("::ffff:ffff:ffff:ffff"), 1), Ok(inet("::1:0:0:0:0")));
        assert!(plus(inet("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 1).is_err());
        assert!(plus(inet("::"), -1).is_err());
        assert_eq!(minus(inet("::1"), inet("::3")), Ok(-2));
        assert!(minus(inet("::1:0:0:0:0"), inet("::")).is_err());
        assert_eq!(minus(inet("::"), inet("::8000:0:0:0")), Ok(i64::MIN));
    }

    #[test]
    fn what_is_merged_has_both() {
        assert_eq!(merge(inet("192.168.1.5/24"), inet("192.168.2.5/24")), Ok(inet("192.168.0.0/22")));
        assert_eq!(merge(inet("1.2.3.4"), inet("1.2.3.4")), Ok(inet("1.2.3.4")));
        assert_eq!(merge(inet("::1"), inet("8000::")), Ok(inet("::/0")));
    }
}
