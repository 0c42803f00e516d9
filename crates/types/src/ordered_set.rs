//! Ordered-set aggregates: `percentile_cont`, `percentile_disc` and `mode`, of values that come in order; and `rank`
//! and its like of a row that is thought to be among them.
//!
//! How many values there are is known before the first one comes, so that only those that the answer is made of are
//! kept.

use crate::array::Array;
use crate::error::{Result, SqlError};
use crate::ty::Type;
use crate::value::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// What is asked of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value between two neighbours.
    Continuous,
    /// One of the values.
    Discrete,
    /// The value that is there most often, and of several the first.
    Mode,
    /// Where a row would stand.
    Hypothetical(Rank),
}

/// What is asked of the place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// From 1, with gaps behind equal rows.
    Gaps,
    /// From 1, without them.
    Dense,
    /// How many of the rows are before it.
    Percent,
    /// How many of the rows, itself included, are not behind it.
    Cumulative,
}

/// The place of a row among those that come in order.
#[derive(Clone, Copy, Debug)]
pub struct Hypothetical {
    rank: Rank,
    /// Rows before it, how many of them differ, rows that are equal to it, and all.
    before: u64,
    different: u64,
    equal: u64,
    all: u64,
}

impl Hypothetical {
    pub(crate) fn new(rank: Rank) -> Self {
        Self { rank, before: 0, different: 0, equal: 0, all: 0 }
    }

    /// Takes the next row: how it compares with the one whose place is asked for, and whether it is another one than
    /// that before it.
    pub fn add(&mut self, order: Ordering, differs: bool) {
        self.all += 1;
        self.before += u64::from(order.is_lt());
        self.different += u64::from(order.is_lt() && differs);
        self.equal += u64::from(order.is_eq());
    }

    /// The answer.
    pub fn finish(self) -> Value {
        let Self { rank, before, different, equal, all } = self;
        match rank {
            Rank::Gaps => Value::Int8(before as i64 + 1),
            Rank::Dense => Value::Int8(different as i64 + 1),
            Rank::Percent if all == 0 => Value::Float8(0.0),
            Rank::Percent => Value::Float8(before as f64 / all as f64),
            Rank::Cumulative => Value::Float8((before + equal + 1) as f64 / (all + 1) as f64),
        }
    }
}

/// A place between two values: the numbers of the two, from 0, and how far it is behind the first.
#[derive(Clone, Debug)]
struct FractionalRank {
    from: u64,
    to: u64,
    part: f64,
    first: Value,
    second: Value,
}

/// An ordered-set aggregate at work.
#[derive(Clone, Debug)]
pub struct OrderedSet {
    kind: Kind,
    /// The percentiles that are asked for; `None` where NULL is.
    places: Vec<Option<FractionalRank>>,
    /// The array that they came in.
    array: Option<Arc<Array>>,
    /// Values that have come.
    at: u64,
    /// Of `mode`: the value at hand with how often it came, and the best one so far.
    run: (Value, u64),
    best: (Value, u64),
}

impl OrderedSet {
    /// For this many values. `direct` are the arguments in front of WITHIN GROUP.
    ///
    /// # Errors
    ///
    /// 22003 for a percentile that is none.
    pub(crate) fn new(kind: Kind, direct: &[Value], count: u64) -> Result<Self> {
        let mut set = Self {
            kind,
            places: Vec::new(),
            array: None,
            at: 0,
            run: (Value::Null, 0),
            best: (Value::Null, 0),
        };
        match direct.first() {
            None | Some(Value::Null) => {}
            Some(Value::Array(array)) => {
                if count > 0 {
                    let places = array.values().iter().map(|value| place(kind, value, count));
                    set.places = places.collect::<Result<_>>()?;
                    set.array = Some(array.clone());
                }
            }
            Some(one) => {
                let place = place(kind, one, count)?;
                if count > 0 {
                    set.places.push(place);
                }
            }
        }
        Ok(set)
    }

    /// Takes the next value, which is not NULL.
    pub fn add(&mut self, value: &Value) {
        if self.kind == Kind::Mode {
            if self.run.1 > 0 && self.run.0 == *value {
                self.run.1 += 1;
            } else {
                self.run = (value.clone(), 1);
            }
            if self.run.1 > self.best.1 {
                self.best = self.run.clone();
            }
            return;
        }
        for place in self.places.iter_mut().flatten() {
            if place.from == self.at {
                place.first = value.clone();
            }
            if place.to == self.at {
                place.second = value.clone();
            }
        }
        self.at += 1;
    }

    /// The answer, of type `result`.
    ///
    /// # Errors
    ///
    /// 22008 for an interval that is none.
    pub fn finish(self, result: Type) -> Result<Value> {
        let Self { kind, places, array, best, .. } = self;
        if kind == Kind::Mode {
            return Ok(best.0);
        }
        let mut found = Vec::with_capacity(places.len());
        for place in places {
            found.push(place.map_or(Ok(Value::Null), FractionalRank::value)?);
        }
        match array {
            None => Ok(found.pop().unwrap_or_default()),
            Some(array) => {
                let element = result.element().unwrap_or(Type::FLOAT8);
                let array = Array::with_dimensions(element, array.dimensions().to_vec(), found)?;
                Ok(Value::Array(Arc::new(array)))
            }
        }
    }
}

impl FractionalRank {
    fn value(self) -> Result<Value> {
        Ok(match (self.first, self.second) {
            (Value::Float8(a), Value::Float8(b)) if self.from != self.to => {
                Value::Float8(a + self.part * (b - a))
            }
            (Value::Interval(a), Value::Interval(b)) if self.from != self.to => {
                Value::Interval(b.minus(a)?.times(self.part)?.plus(a)?)
            }
            (first, _) => first,
        })
    }
}

/// Where a percentile lies among so many values.
fn place(kind: Kind, percentile: &Value, count: u64) -> Result<Option<FractionalRank>> {
    let Value::Float8(percentile) = *percentile else { return Ok(None) };
    if !(0.0..=1.0).contains(&percentile) {
        let shown = if percentile.is_nan() { "NaN".to_owned() } else { percentile.to_string() };
        return Err(SqlError::out_of_range(format!("percentile value {shown} is not between 0 and 1")));
    }
    let (from, to, part) = match kind {
        Kind::Continuous => {
            let at = percentile * (count.saturating_sub(1)) as f64;
            (at.floor() as u64, at.ceil() as u64, at - at.floor())
        }
        _ => {
            let at = ((percentile * count as f64).ceil() as u64).saturating_sub(1);
            (at, at, 0.0)
        }
    };
    Ok(Some(FractionalRank { from, to, part, first: Value::Null, second: Value::Null }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: Kind, direct: &[Value], values: &[f64]) -> Value {
        let mut set = OrderedSet::new(kind, direct, values.len() as u64).unwrap();
        values.iter().for_each(|value| set.add(&Value::Float8(*value)));
        set.finish(Type::FLOAT8).unwrap()
    }

    #[test]
    fn percentiles_lie_where_postgresql_has_them() {
        let of = |kind, p: f64, values: &[f64]| answer(kind, &[Value::Float8(p)], values);
        assert_eq!(of(Kind::Continuous, 0.5, &[1.0, 2.0, 3.0, 4.0]), Value::Float8(2.5));
        assert_eq!(of(Kind::Continuous, 1.0, &[1.0, 2.0]), Value::Float8(2.0));
        assert_eq!(of(Kind::Discrete, 0.5, &[1.0, 2.0, 3.0, 4.0]), Value::Float8(2.0));
        assert_eq!(of(Kind::Discrete, 0.51, &[1.0, 2.0, 3.0, 4.0]), Value::Float8(3.0));
        assert_eq!(of(Kind::Discrete, 0.0, &[7.0]), Value::Float8(7.0));
        assert_eq!(of(Kind::Discrete, 0.5, &[]), Value::Null);
        assert_eq!(answer(Kind::Mode, &[], &[1.0, 2.0, 2.0, 3.0, 3.0]), Value::Float8(2.0));
        for wrong in [-0.1, 1.1, f64::NAN] {
            assert!(OrderedSet::new(Kind::Continuous, &[Value::Float8(wrong)], 0).is_err());
        }
    }
}
