//! Ranges: all values of a type between two bounds, as PostgreSQL 15 has them.
//!
//! A range is empty or has two bounds, each of which is infinite or a value that is within the range or just outside.
//! Ranges of integers and dates have a canonical form, `[lower, upper)`, so that equal sets are equal ranges.

use crate::calendar::{is_day, is_infinite_date};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::ty::{Base, Category, Row, Type};
use crate::value::Value;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The range types that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is the PostgreSQL type of that name")]
pub enum RangeType {
    Int4range,
    Int8range,
    Numrange,
    Tsrange,
    Tstzrange,
    Daterange,
}

impl RangeType {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Int4range, Self::Int8range, Self::Numrange, Self::Tsrange, Self::Tstzrange, Self::Daterange];

    /// The type of the bounds: `pg_range.rngsubtype`.
    pub const fn subtype(self) -> Type {
        match self {
            Self::Int4range => Type::INT4,
            Self::Int8range => Type::INT8,
            Self::Numrange => Type::NUMERIC,
            Self::Tsrange => Type::TIMESTAMP,
            Self::Tstzrange => Type::TIMESTAMPTZ,
            Self::Daterange => Type::DATE,
        }
    }

    /// Whether its values have next ones, so that ranges have a canonical form.
    pub const fn is_discrete(self) -> bool {
        matches!(self, Self::Int4range | Self::Int8range | Self::Daterange)
    }

    pub(crate) const fn row(self) -> &'static Row {
        macro_rules! row {
            ($name:literal, $oid:literal, $array:literal) => {
                &Row {
                    name: $name,
                    sql: $name,
                    oid: $oid,
                    array: $array,
                    len: -1,
                    category: Category::Range,
                    preferred: false,
                }
            };
        }
        match self {
            Self::Int4range => row!("int4range", 3904, 3905),
            Self::Numrange => row!("numrange", 3906, 3907),
            Self::Tsrange => row!("tsrange", 3908, 3909),
            Self::Tstzrange => row!("tstzrange", 3910, 3911),
            Self::Daterange => row!("daterange", 3912, 3913),
            Self::Int8range => row!("int8range", 3926, 3927),
        }
    }

    /// The value behind one of a discrete type.
    fn next(self, value: &Value) -> Result<Value> {
        let overflow = |what: &'static str| SqlError::out_of_range(what);
        Ok(match value {
            Value::Int4(v) => Value::Int4(v.checked_add(1).ok_or_else(|| overflow("integer out of range"))?),
            Value::Int8(v) => Value::Int8(v.checked_add(1).ok_or_else(|| overflow("bigint out of range"))?),
            Value::Date(v) if is_infinite_date(*v) => Value::Date(*v),
            Value::Date(v) if is_day(i64::from(*v) + 1) => Value::Date(*v + 1),
            Value::Date(_) => {
                return Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range"));
            }
            other => return Err(SqlError::internal(format!("{other:?} has no next value"))),
        })
    }
}

/// An end of a range.
#[derive(Clone, Debug)]
pub struct Bound {
    /// NULL if the range has no end here.
    pub value: Value,
    /// Whether the value is within the range.
    pub inclusive: bool,
}

impl Bound {
    /// A bound; without a value it is infinite.
    pub fn new(value: Value, inclusive: bool) -> Self {
        Self { inclusive: inclusive && !value.is_null(), value }
    }

    /// Whether there is no end.
    pub fn is_infinite(&self) -> bool {
        self.value.is_null()
    }
}

/// Which end of a range a bound is: of two with one value, that decides which is further to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

/// The order of two bounds along the values, each the end of a range.
fn compare_bounds(a: &Bound, a_end: End, b: &Bound, b_end: End) -> Ordering {
    let outward = |end: End| if end == End::Lower { Ordering::Less } else { Ordering::Greater };
    match (a.is_infinite(), b.is_infinite()) {
        (true, true) if a_end == b_end => return Ordering::Equal,
        (true, _) => return outward(a_end),
        (false, true) => return outward(b_end).reverse(),
        (false, false) => {}
    }
    // an exclusive bound lies inward of its value
    let inward = |bound: &Bound, end: End| match (bound.inclusive, end) {
        (true, _) => 0,
        (false, End::Lower) => 1,
        (false, End::Upper) => -1,
    };
    a.value.cmp(&b.value).then_with(|| inward(a, a_end).cmp(&inward(b, b_end)))
}

/// A range.
///
/// If it has bounds, `lower.value <= upper.value`, and both are inclusive if they are equal; finite bounds of discrete
/// types are `[` and `)`.
#[derive(Clone, Debug)]
pub struct Range {
    ty: RangeType,
    bounds: Option<Box<[Bound; 2]>>,
}

impl Range {
    /// The range without values.
    pub const fn empty(ty: RangeType) -> Self {
        Self { ty, bounds: None }
    }

    /// The range between two bounds of the subtype.
    ///
    /// # Errors
    /// 22000 if the lower bound is greater; 22003 or 22008 if the canonical form is out of the subtype's range.
    pub fn new(ty: RangeType, lower: Bound, upper: Bound) -> Result<Self> {
        let mut bounds = [lower, upper];
        if Self::is_nothing(&bounds)? {
            return Ok(Self::empty(ty));
        }
        if ty.is_discrete() {
            // what is included below, and excluded above
            for (bound, included) in bounds.iter_mut().zip([true, false]) {
                let finite = match bound.value {
                    Value::Null => false,
                    Value::Date(day) => !is_infinite_date(day),
                    _ => true,
                };
                if finite && bound.inclusive != included {
                    bound.value = ty.next(&bound.value)?;
                    bound.inclusive = included;
                }
            }
            if Self::is_nothing(&bounds)? {
                return Ok(Self::empty(ty));
            }
        }
        Ok(Self { ty, bounds: Some(Box::new(bounds)) })
    }

    /// Whether nothing lies between two bounds.
    fn is_nothing([lower, upper]: &[Bound; 2]) -> Result<bool> {
        if lower.is_infinite() || upper.is_infinite() {
            return Ok(false);
        }
        match lower.value.cmp(&upper.value) {
            Ordering::Less => Ok(false),
            Ordering::Equal => Ok(!(lower.inclusive && upper.inclusive)),
            Ordering::Greater => {
                let what = "range lower bound must be less than or equal to range upper bound";
                Err(SqlError::new(SqlState::DATA_EXCEPTION, what))
            }
        }
    }

    /// Its type.
    pub fn ty(&self) -> RangeType {
        self.ty
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_none()
    }

    /// Both bounds, the lower one first; None if it is empty.
    pub fn bounds(&self) -> Option<&[Bound; 2]> {
        self.bounds.as_deref()
    }

    /// The bounds of two ranges of which none is empty.
    fn both<'a>(&'a self, other: &'a Self) -> Option<(&'a [Bound; 2], &'a [Bound; 2])> {
        self.bounds().zip(other.bounds())
    }

    /// `@>`: whether all values of another range are in this one.
    pub fn contains(&self, other: &Self) -> bool {
        let Some([lower, upper]) = other.bounds() else { return true };
        self.bounds().is_some_and(|[from, to]| {
            compare_bounds(from, End::Lower, lower, End::Lower).is_le()
                && compare_bounds(to, End::Upper, upper, End::Upper).is_ge()
        })
    }

    /// `@>`: whether a value is in it.
    pub fn contains_value(&self, value: &Value) -> bool {
        let Some([lower, upper]) = self.bounds() else { return false };
        let above = lower.is_infinite() || {
            let order = value.cmp(&lower.value);
            order.is_gt() || order.is_eq() && lower.inclusive
        };
        let below = upper.is_infinite() || {
            let order = value.cmp(&upper.value);
            order.is_lt() || order.is_eq() && upper.inclusive
        };
        above && below
    }

    /// `&&`: whether two ranges have a value in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.both(other).is_some_and(|([l1, u1], [l2, u2])| {
            compare_bounds(l1, End::Lower, u2, End::Upper).is_le()
                && compare_bounds(l2, End::Lower, u1, End::Upper).is_le()
        })
    }

    /// `<<`: whether it ends before another begins.
    pub fn is_before(&self, other: &Self) -> bool {
        self.both(other)
            .is_some_and(|([_, end], [start, _])| compare_bounds(end, End::Upper, start, End::Lower).is_lt())
    }

    /// `&<`: whether it does not reach beyond the end of another.
    pub fn ends_within(&self, other: &Self) -> bool {
        self.both(other).is_some_and(|([_, a], [_, b])| compare_bounds(a, End::Upper, b, End::Upper).is_le())
    }

    /// `&>`: whether it does not begin before another.
    pub fn starts_within(&self, other: &Self) -> bool {
        self.both(other).is_some_and(|([a, _], [b, _])| compare_bounds(a, End::Lower, b, End::Lower).is_ge())
    }

    /// `-|-`: whether one ends where the other begins, with nothing in common and nothing between them.
    pub fn is_adjacent(&self, other: &Self) -> bool {
        let meet = |end: &Bound, start: &Bound| {
            !end.is_infinite()
                && !start.is_infinite()
                && end.inclusive != start.inclusive
                && end.value == start.value
        };
        self.both(other).is_some_and(|([l1, u1], [l2, u2])| meet(u1, l2) || meet(u2, l1))
    }

    /// The lesser lower and the greater upper bound of two ranges.
    fn hull([l1, u1]: &[Bound; 2], [l2, u2]: &[Bound; 2]) -> [Bound; 2] {
        let lower = if compare_bounds(l1, End::Lower, l2, End::Lower).is_lt() { l1 } else { l2 };
        let upper = if compare_bounds(u1, End::Upper, u2, End::Upper).is_gt() { u1 } else { u2 };
        [lower.clone(), upper.clone()]
    }

    /// `range_merge`: the least range that has both in it.
    pub fn merge(&self, other: &Self) -> Self {
        match (self.bounds(), other.bounds()) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(a), Some(b)) => Self { ty: self.ty, bounds: Some(Box::new(Self::hull(a, b))) },
        }
    }

    /// `+`: what is in one of them.
    ///
    /// # Errors
    /// 22000 if that is no range.
    pub fn union(&self, other: &Self) -> Result<Self> {
        if self.is_empty() || other.is_empty() || self.overlaps(other) || self.is_adjacent(other) {
            return Ok(self.merge(other));
        }
        Err(SqlError::new(SqlState::DATA_EXCEPTION, "result of range union would not be contiguous"))
    }

    /// `*`: what is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        match self.both(other) {
            Some(([l1, u1], [l2, u2])) if self.overlaps(other) => {
                let lower = if compare_bounds(l1, End::Lower, l2, End::Lower).is_ge() { l1 } else { l2 };
                let upper = if compare_bounds(u1, End::Upper, u2, End::Upper).is_le() { u1 } else { u2 };
                Self { ty: self.ty, bounds: Some(Box::new([lower.clone(), upper.clone()])) }
            }
            _ => Self::empty(self.ty),
        }
    }

    /// `-`: what is in this one and not in the other.
    ///
    /// # Errors
    /// 22000 if that is no range.
    pub fn difference(&self, other: &Self) -> Result<Self> {
        let Some(([l1, u1], [l2, u2])) = self.both(other) else { return Ok(self.clone()) };
        if !self.overlaps(other) {
            return Ok(self.clone());
        }
        let starts_before = compare_bounds(l1, End::Lower, l2, End::Lower).is_lt();
        let ends_behind = compare_bounds(u1, End::Upper, u2, End::Upper).is_gt();
        let other_side = |bound: &Bound| Bound::new(bound.value.clone(), !bound.inclusive);
        match (starts_before, ends_behind) {
            (true, true) => {
                let what = "result of range difference would not be contiguous";
                Err(SqlError::new(SqlState::DATA_EXCEPTION, what))
            }
            (false, false) => Ok(Self::empty(self.ty)),
            (true, false) => Self::new(self.ty, l1.clone(), other_side(l2)),
            (false, true) => Self::new(self.ty, other_side(u2), u1.clone()),
        }
    }

    /// Reads a text: `[1,5)`, `(,"2024-01-01 00:00"]`, `empty`.
    pub(crate) fn parse(text: &str, ty: RangeType, env: &Env) -> Result<Self> {
        let (lower, upper) = match read_text(text) {
            Ok(Literal::Empty) => return Ok(Self::empty(ty)),
            Ok(Literal::Bounds(lower, upper)) => (lower, upper),
            Err(why) => {
                let what = format!("malformed range literal: \"{text}\"");
                return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what).detail(why));
            }
        };
        let bound = |(text, inclusive): (Option<String>, bool)| {
            let value = match text {
                Some(text) => Value::parse(&text, ty.subtype(), env)?,
                None => Value::Null,
            };
            Ok::<_, SqlError>(Bound::new(value, inclusive))
        };
        Self::new(ty, bound(lower)?, bound(upper)?)
    }

    /// Appends its text.
    pub(crate) fn write_text(&self, env: &Env, out: &mut Vec<u8>) {
        let Some([lower, upper]) = self.bounds() else { return out.extend_from_slice(b"empty") };
        out.push(if lower.inclusive { b'[' } else { b'(' });
        let mut text = Vec::new();
        for (bound, separator) in [(lower, b','), (upper, if upper.inclusive { b']' } else { b')' })] {
            text.clear();
            bound.value.write_text(self.ty.subtype(), env, &mut text);
            let special = |byte: &u8| b"\"\\()[],".contains(byte) || byte.is_ascii_whitespace();
            if text.iter().any(special) {
                out.push(b'"');
                for &byte in &text {
                    if matches!(byte, b'"' | b'\\') {
                        out.push(byte);
                    }
                    out.push(byte);
                }
                out.push(b'"');
            } else {
                out.extend_from_slice(&text);
            }
            out.push(separator);
        }
    }

    /// Reads PostgreSQL's binary format.
    pub(crate) fn from_binary(bytes: &[u8], ty: RangeType) -> Result<Self> {
        let short = || SqlError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let (flags, mut rest) = bytes.split_first().ok_or_else(short)?;
        let mut bound = |infinite: u8, inclusive: u8| {
            if flags & (flag::EMPTY | infinite) != 0 {
                return Ok(Bound::new(Value::Null, false));
            }
            let (len, behind) = rest.split_first_chunk::<4>().ok_or_else(short)?;
            let len = usize::try_from(i32::from_be_bytes(*len)).map_err(|_| short())?;
            let (value, behind) = behind.split_at_checked(len).ok_or_else(short)?;
            rest = behind;
            Ok(Bound::new(Value::from_binary(value, ty.subtype())?, flags & inclusive != 0))
        };
        let lower = bound(flag::LOWER_INFINITE, flag::LOWER_INCLUSIVE)?;
        let upper = bound(flag::UPPER_INFINITE, flag::UPPER_INCLUSIVE)?;
        if !rest.is_empty() {
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, "invalid message format"));
        }
        if flags & flag::EMPTY != 0 { Ok(Self::empty(ty)) } else { Self::new(ty, lower, upper) }
    }

    /// Appends PostgreSQL's binary format:
    ///
    /// ```text
    /// flags (1) | (length (4) | value) of each finite bound
    /// ```
    pub(crate) fn write_binary(&self, out: &mut Vec<u8>) {
        let Some([lower, upper]) = self.bounds() else { return out.push(flag::EMPTY) };
        let set = |bound: &Bound, infinite: u8, inclusive: u8| match bound {
            bound if bound.is_infinite() => infinite,
            bound if bound.inclusive => inclusive,
            _ => 0,
        };
        let flags = set(lower, flag::LOWER_INFINITE, flag::LOWER_INCLUSIVE)
            | set(upper, flag::UPPER_INFINITE, flag::UPPER_INCLUSIVE);
        out.push(flags);
        for bound in [lower, upper].into_iter().filter(|bound| !bound.is_infinite()) {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            bound.value.write_binary(self.ty.subtype(), out);
            let len = (out.len() - at - 4) as i32;
            out[at..at + 4].copy_from_slice(&len.to_be_bytes());
        }
    }

    /// Appends its key, which sorts as ranges do:
    ///
    /// ```text
    /// empty    0
    /// bounds   1 | lower: 0 if it is infinite, or 1, key of the value, 0 for [ and 1 for (
    ///            | upper: 2 if it is infinite, or 1, key of the value, 0 for ) and 1 for ]
    /// ```
    pub(crate) fn write_key(&self, out: &mut Vec<u8>) {
        let Some([lower, upper]) = self.bounds() else { return out.push(key::EMPTY) };
        out.push(key::BOUNDS);
        for (bound, infinite, inclusive) in [(lower, key::BELOW_ALL, false), (upper, key::ABOVE_ALL, true)] {
            if bound.is_infinite() {
                out.push(infinite);
                continue;
            }
            out.push(key::FINITE);
            bound.value.write_key(out);
            out.push(u8::from(bound.inclusive == inclusive));
        }
    }

    /// The range of [`Range::write_key`]. None if there is none, and of numbers.
    pub(crate) fn read_key(bytes: &[u8], ty: RangeType) -> Option<Self> {
        let (first, mut rest) = bytes.split_first()?;
        if *first == key::EMPTY {
            return rest.is_empty().then(|| Self::empty(ty));
        }
        let mut bound = |infinite: u8, inclusive: bool| {
            let (kind, behind) = rest.split_first()?;
            if *kind == infinite {
                rest = behind;
                return Some(Bound::new(Value::Null, false));
            }
            let (value, behind) = read_value_key(behind, ty)?;
            let (included, behind) = behind.split_first()?;
            rest = behind;
            Some(Bound { value, inclusive: (*included == 1) == inclusive })
        };
        let bounds = [bound(key::BELOW_ALL, false)?, bound(key::ABOVE_ALL, true)?];
        rest.is_empty().then(|| Self { ty, bounds: Some(Box::new(bounds)) })
    }
}

/// The value whose key stands first, and the bytes behind it.
fn read_value_key(bytes: &[u8], ty: RangeType) -> Option<(Value, &[u8])> {
    Some(match ty {
        RangeType::Int4range | RangeType::Daterange => {
            let (bytes, rest) = bytes.split_first_chunk::<4>()?;
            let value = i32::from_be_bytes(*bytes) ^ i32::MIN;
            (if ty == RangeType::Daterange { Value::Date(value) } else { Value::Int4(value) }, rest)
        }
        RangeType::Int8range | RangeType::Tsrange | RangeType::Tstzrange => {
            let (bytes, rest) = bytes.split_first_chunk::<8>()?;
            let value = i64::from_be_bytes(*bytes) ^ i64::MIN;
            let value = match ty {
                RangeType::Tsrange => Value::Timestamp(value),
                RangeType::Tstzrange => Value::Timestamptz(value),
                _ => Value::Int8(value),
            };
            (value, rest)
        }
        // the key of a number does not say its scale
        RangeType::Numrange => return None,
    })
}

/// The flags of the binary format.
mod flag {
    pub(super) const EMPTY: u8 = 0x01;
    pub(super) const LOWER_INCLUSIVE: u8 = 0x02;
    pub(super) const UPPER_INCLUSIVE: u8 = 0x04;
    pub(super) const LOWER_INFINITE: u8 = 0x08;
    pub(super) const UPPER_INFINITE: u8 = 0x10;
}

/// The bytes of keys that say what follows.
mod key {
    pub(super) const EMPTY: u8 = 0;
    pub(super) const BOUNDS: u8 = 1;
    pub(super) const BELOW_ALL: u8 = 0;
    pub(super) const FINITE: u8 = 1;
    pub(super) const ABOVE_ALL: u8 = 2;
}

/// What a text of a range says.
enum Literal {
    Empty,
    /// The text of each bound, and whether it is inclusive.
    Bounds((Option<String>, bool), (Option<String>, bool)),
}

/// Splits the text of a range; the error is PostgreSQL's detail.
fn read_text(text: &str) -> std::result::Result<Literal, &'static str> {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let body = text.trim_start_matches(blank);
    if let Some(word) = body.get(..5)
        && word.eq_ignore_ascii_case("empty")
    {
        let rest = body[5..].trim_start_matches(blank);
        return if rest.is_empty() { Ok(Literal::Empty) } else { Err("Junk after \"empty\" key word.") };
    }
    let lower_inclusive = match body.chars().next() {
        Some('[') => true,
        Some('(') => false,
        _ => return Err("Missing left parenthesis or bracket."),
    };
    let (lower, rest) = read_bound(&body[1..])?;
    let rest = rest.strip_prefix(',').ok_or("Missing comma after lower bound.")?;
    let (upper, rest) = read_bound(rest)?;
    let upper_inclusive = match rest.chars().next() {
        Some(']') => true,
        Some(')') => false,
        _ => return Err("Too many commas."),
    };
    if !rest[1..].trim_start_matches(blank).is_empty() {
        return Err("Junk after right parenthesis or bracket.");
    }
    Ok(Literal::Bounds((lower, lower_inclusive), (upper, upper_inclusive)))
}

/// The text of a bound, None if it is infinite, and what follows: a comma, a parenthesis or a bracket.
fn read_bound(text: &str) -> std::result::Result<(Option<String>, &str), &'static str> {
    const END: &str = "Unexpected end of input.";
    if text.starts_with([',', ')', ']']) {
        return Ok((None, text));
    }
    let mut value = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    loop {
        let (at, c) = chars.next().ok_or(END)?;
        match c {
            ',' | ')' | ']' if !quoted => return Ok((Some(value), &text[at..])),
            '\\' => value.push(chars.next().ok_or(END)?.1),
            '"' if !quoted => quoted = true,
            '"' if chars.next_if(|(_, c)| *c == '"').is_some() => value.push('"'),
            '"' => quoted = false,
            other => value.push(other),
        }
    }
}

impl Ord for Range {
    /// The empty one comes first; else the lower bounds decide, and then the upper ones.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.bounds(), other.bounds()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some([l1, u1]), Some([l2, u2])) => compare_bounds(l1, End::Lower, l2, End::Lower)
                .then_with(|| compare_bounds(u1, End::Upper, u2, End::Upper)),
        }
    }
}

impl PartialOrd for Range {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Range {}

impl Hash for Range {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for bound in self.bounds().into_iter().flatten() {
            bound.value.hash(state);
            bound.inclusive.hash(state);
        }
    }
}

impl Type {
    /// The range type that it is; None of other types, and of arrays.
    pub fn as_range(self) -> Option<RangeType> {
        match self.base {
            Base::Range(range) if !self.array => Some(range),
            _ => None,
        }
    }

    /// A range type.
    pub const fn of_range(range: RangeType) -> Self {
        Self::of(Base::Range(range))
    }
}
