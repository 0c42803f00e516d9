//! The rows of a partition as window functions see them, and the frames around them.
//!
//! ```text
//! partition   0 ... head ..... from .. at .. to ..... tail ... len
//!                   │          └── peers ──┘         │
//!                   └───────────── frame ────────────┘
//! ```
//!
//! Neither edge of a frame, nor the peers, ever go back while the current row goes on: each is moved over the partition
//! once.

use super::Exec;
use scaledb_engine::Worker;
use scaledb_planner::plan::window::{Edge, Exclude, Frame, Reach, Units};
use scaledb_planner::plan::{SortKey, Window};
use scaledb_types::{Env, Interval, Result, SqlError, SqlState, Value};
use std::ops::Range;

/// The rows of a partition in their order.
pub(super) trait Rows {
    /// How many there are.
    fn len(&self) -> usize;

    /// The number of the peers that a row is one of, counted from 0.
    ///
    /// # Errors
    /// Those of the file.
    fn group(&mut self, at: usize) -> Result<i64>;

    /// The first key of its order; NULL without one.
    ///
    /// # Errors
    /// Those of the file.
    fn key(&mut self, at: usize) -> Result<&Value>;

    /// The arguments of the function, unless it does not fit the FILTER.
    ///
    /// # Errors
    /// Those of the file.
    fn args(&mut self, at: usize) -> Result<Option<&[Value]>>;
}

/// How far the frames of a window reach, computed once.
#[derive(Clone, Debug, Default)]
pub(super) struct Offsets {
    start: Value,
    end: Value,
}

impl<'a, W: Worker> Exec<'a, W> {
    /// How far the frames of a window reach.
    pub(super) fn offsets(&mut self, frame: &Frame) -> Result<Offsets> {
        let mut offset = |edge: &Edge, which: &str| {
            let Some(expr) = edge.offset() else { return Ok(Value::Null) };
            let value = self.eval(expr)?;
            if value.is_null() {
                let what = format!("frame {which} offset must not be null");
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
            }
            if !matches!(frame.units, Units::Range(_)) && value.as_i64().is_some_and(|rows| rows < 0) {
                let what = format!("frame {which} offset must not be negative");
                return Err(SqlError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, what));
            }
            Ok(value)
        };
        Ok(Offsets { start: offset(&frame.start, "starting")?, end: offset(&frame.end, "ending")? })
    }
}

/// Where the current row stands, with its peers and its frame.
pub(super) struct FramePosition<'w> {
    frame: &'w Frame,
    offsets: &'w Offsets,
    /// The key of the order that distances are between.
    order: Option<&'w SortKey>,
    env: &'w Env,
    pub(super) at: usize,
    pub(super) group: i64,
    /// The row and its peers.
    pub(super) peers: Range<usize>,
    /// The frame, what is excluded still in it.
    head: usize,
    tail: usize,
}

impl<'w> FramePosition<'w> {
    /// Before the first row of a partition.
    pub(super) fn new(window: &'w Window, offsets: &'w Offsets, env: &'w Env) -> Self {
        let (frame, order) = (&window.frame, window.order.first());
        Self { frame, offsets, order, env, at: 0, group: 0, peers: 0..0, head: 0, tail: 0 }
    }

    /// Goes to a row: that behind the last one.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn go_to(&mut self, rows: &mut impl Rows, at: usize) -> Result<()> {
        self.at = at;
        if at >= self.peers.end {
            self.group = rows.group(at)?;
            self.peers = at..at + 1;
            while self.peers.end < rows.len() && rows.group(self.peers.end)? == self.group {
                self.peers.end += 1;
            }
        }
        Ok(())
    }

    /// Moves the frame to the row.
    ///
    /// # Errors
    /// Those of the file; 22013 and what the operators of the key refuse.
    pub(super) fn move_frame(&mut self, rows: &mut impl Rows) -> Result<()> {
        let (frame, offsets, len) = (self.frame, self.offsets, rows.len());
        self.head = match (&frame.start, &frame.units) {
            (Edge::Unbounded, _) => 0,
            (Edge::Current, Units::Rows) => self.at,
            (Edge::Current, _) => self.peers.start,
            (edge, Units::Rows) => self.beside(edge, &offsets.start, 0, len),
            (edge, Units::Groups) => self.first_of(rows, self.head, edge, &offsets.start, 0)?,
            (edge, Units::Range(reach)) => {
                let (from, reach) = (self.head, reach.as_ref());
                self.within(rows, from, reach, edge, &offsets.start, true)?
            }
        };
        self.tail = match (&frame.end, &frame.units) {
            (Edge::Unbounded, _) => len,
            (Edge::Current, Units::Rows) => self.at + 1,
            (Edge::Current, _) => self.peers.end,
            (edge, Units::Rows) => self.beside(edge, &offsets.end, 1, len),
            (edge, Units::Groups) => self.first_of(rows, self.tail, edge, &offsets.end, 1)?,
            (edge, Units::Range(reach)) => {
                let (from, reach) = (self.tail, reach.as_ref());
                self.within(rows, from, reach, edge, &offsets.end, false)?
            }
        };
        Ok(())
    }

    /// So many rows before or behind the current one, and `more`; within the partition.
    fn beside(&self, edge: &Edge, offset: &Value, more: i64, len: usize) -> usize {
        let (at, offset) = (self.at as i64, offset.as_i64().unwrap_or(0));
        let row = match edge {
            Edge::Preceding(_) => at - offset,
            _ => at.saturating_add(offset),
        };
        row.saturating_add(more).clamp(0, len as i64) as usize
    }

    /// The first row of the peers that are so many before or behind those of the current row, and `more`.
    fn first_of(
        &self,
        rows: &mut impl Rows,
        from: usize,
        edge: &Edge,
        offset: &Value,
        more: i64,
    ) -> Result<usize> {
        let offset = offset.as_i64().unwrap_or(0);
        let group = match edge {
            Edge::Preceding(_) => self.group - offset,
            _ => self.group.saturating_add(offset),
        };
        let group = group.saturating_add(more);
        let mut row = from;
        while row < rows.len() && rows.group(row)? < group {
            row += 1;
        }
        Ok(row)
    }

    /// The first row from `from` on that is in the frame or, for its end, behind it, by the distance of keys.
    fn within(
        &self,
        rows: &mut impl Rows,
        from: usize,
        reach: Option<&Reach>,
        edge: &Edge,
        offset: &Value,
        starts: bool,
    ) -> Result<usize> {
        let (Some(order), Some(reach)) = (self.order, reach) else {
            return Err(SqlError::internal("a distance without a key"));
        };
        let current = rows.key(self.at)?.clone();
        // in descending order what precedes is greater
        let minus = matches!(edge, Edge::Preceding(_)) != order.descending;
        let less = starts == order.descending;
        let mut row = from;
        while row < rows.len() {
            let key = rows.key(row)?;
            // NULLs are within a distance of each other only
            let stops = match (key.is_null(), current.is_null(), order.nulls_first, starts) {
                (false, false, _, starts) => {
                    in_range(reach, key, &current, offset, minus, less, self.env)? == starts
                }
                (key, current, true, true) => !key || current,
                (key, current, false, true) => key || !current,
                (key, _, true, false) => !key,
                (_, current, false, false) => !current,
            };
            if stops {
                break;
            }
            row += 1;
        }
        Ok(row)
    }

    /// The rows of the frame: up to three ranges, one behind the other. Neither end of the first and the last one ever
    /// goes back.
    pub(super) fn ranges(&self) -> [Range<usize>; 3] {
        let (head, tail, at) = (self.head, self.tail.max(self.head), self.at);
        let (before, behind) = match self.frame.exclude {
            Exclude::Nothing => return [head..tail, 0..0, 0..0],
            Exclude::CurrentRow => (at, at + 1),
            Exclude::Group | Exclude::Ties => (self.peers.start, self.peers.end),
        };
        let own = self.frame.exclude == Exclude::Ties && (head..tail).contains(&at);
        let (first, last) = (head..tail.min(before).max(head), head.max(behind).min(tail)..tail);
        [first, if own { at..at + 1 } else { 0..0 }, last]
    }
}

/// 22013.
#[cold]
fn wrong_size() -> SqlError {
    let what = "invalid preceding or following size in window function";
    SqlError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, what)
}

/// Whether a key is at or before (`less`), or at or behind, the current key and (`minus`: less) the distance.
fn in_range(
    reach: &Reach,
    key: &Value,
    current: &Value,
    offset: &Value,
    minus: bool,
    less: bool,
    env: &Env,
) -> Result<bool> {
    match reach {
        Reach::Integer => {
            let wide = |value: &Value| i128::from(value.as_i64().unwrap_or(0));
            let (key, current, offset) = (wide(key), wide(current), wide(offset));
            if offset < 0 {
                return Err(wrong_size());
            }
            let sum = if minus { current - offset } else { current + offset };
            Ok(if less { key <= sum } else { key >= sum })
        }
        Reach::Float => {
            let float = |value: &Value| match value {
                Value::Float4(v) => f64::from(*v),
                Value::Float8(v) => *v,
                _ => f64::NAN,
            };
            let (key, current, offset) = (float(key), float(current), float(offset));
            if offset.is_nan() || offset < 0.0 {
                return Err(wrong_size());
            }
            // NaN is the greatest, and within a distance of itself only
            match (key.is_nan(), current.is_nan()) {
                (true, true) => return Ok(true),
                (true, false) => return Ok(!less),
                (false, true) => return Ok(less),
                (false, false) => {}
            }
            let sum = if minus { current - offset } else { current + offset };
            // infinity less infinity is NaN: every key is within such a distance
            Ok(sum.is_nan() || if less { key <= sum } else { key >= sum })
        }
        Reach::Time => {
            let (Value::Time(key), Value::Time(current), Value::Interval(offset)) = (key, current, offset)
            else {
                return Err(SqlError::internal("times of a day"));
            };
            let offset = offset.micros;
            if offset < 0 {
                return Err(wrong_size());
            }
            let sum = if minus { current.saturating_sub(offset) } else { current.saturating_add(offset) };
            Ok(if less { *key <= sum } else { *key >= sum })
        }
        Reach::Operators { plus, minus: operator, dates } => {
            let not_a_number = |value: &Value| matches!(value, Value::Numeric(v) if v.is_nan());
            let negative = match offset {
                Value::Numeric(v) => v.is_nan() || v.signum().is_some_and(|sign| sign < 0),
                Value::Interval(v) => *v < Interval::default(),
                _ => false,
            };
            if negative {
                return Err(wrong_size());
            }
            match (not_a_number(key), not_a_number(current)) {
                (true, true) => return Ok(true),
                (true, false) => return Ok(!less),
                (false, true) => return Ok(less),
                (false, false) => {}
            }
            let timestamp = |value: &Value| if *dates { midnight(value) } else { Ok(value.clone()) };
            let (key, current) = (timestamp(key)?, timestamp(current)?);
            let operator = if minus { operator } else { plus };
            let sum = operator.call(env, &[current, offset.clone()])?;
            Ok(not_a_number(&sum) || if less { key <= sum } else { key >= sum })
        }
    }
}

/// A date as the timestamp of its begin.
fn midnight(value: &Value) -> Result<Value> {
    const DAY: i64 = 86_400_000_000;
    let Value::Date(day) = value else { return Ok(value.clone()) };
    let micros = match *day {
        i32::MAX => i64::MAX,
        i32::MIN => i64::MIN,
        day => scaledb_types::calendar::check_timestamp(i64::from(day).saturating_mul(DAY))
            .map_err(|_| SqlError::out_of_range("date out of range for timestamp"))?,
    };
    Ok(Value::Timestamp(micros))
}
