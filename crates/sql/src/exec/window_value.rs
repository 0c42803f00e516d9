//! The values of window functions, row by row of a partition.

use super::sliding::Aggregating;
use super::window_frame::{FramePosition, Offsets, Rows};
use super::{Exec, Flow};
use scaledb_engine::Worker;
use scaledb_planner::plan::window::OwnFn;
use scaledb_planner::plan::{Window, WindowFn};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::Range;

/// The receiver of the values, in the order of the rows.
pub(super) type Give<'g, 'a, W> = &'g mut dyn FnMut(&mut Exec<'a, W>, Value) -> Result<Flow>;

impl<'a, W: Worker> Exec<'a, W> {
    /// Computes a window function for all rows of a partition.
    pub(super) fn window_values(
        &mut self,
        window: &Window,
        offsets: &Offsets,
        rows: &mut impl Rows,
        give: Give<'_, 'a, W>,
    ) -> Result<Flow> {
        let mut place = FramePosition::new(window, offsets, self.context.env);
        let mut flow = Flow::Continue(());
        let mut buckets = Buckets::default();
        let mut aggregating = match &window.function {
            WindowFn::Aggregate(function, ..) => Some(Aggregating::new(function)),
            WindowFn::Own(..) => None,
        };
        for at in 0..rows.len() {
            self.tick()?;
            place.go_to(rows, at)?;
            let value = match (&window.function, &mut aggregating) {
                (WindowFn::Own(function, _), _) => own(*function, rows, &mut place, &mut buckets)?,
                (WindowFn::Aggregate(..), Some(aggregating)) => {
                    place.move_frame(rows)?;
                    aggregating.value(self, rows, place.ranges())?
                }
                (WindowFn::Aggregate(..), None) => Value::Null,
            };
            flow = give(self, value)?;
            if flow.is_break() {
                break;
            }
        }
        if let Some(aggregating) = aggregating {
            aggregating.finish(self);
        }
        Ok(flow)
    }
}

/// The value of a function that is called over windows only.
fn own(
    function: OwnFn,
    rows: &mut impl Rows,
    place: &mut FramePosition<'_>,
    buckets: &mut Buckets,
) -> Result<Value> {
    let (at, len) = (place.at, rows.len());
    Ok(match function {
        OwnFn::RowNumber => Value::Int8(at as i64 + 1),
        OwnFn::Rank => Value::Int8(place.peers.start as i64 + 1),
        OwnFn::DenseRank => Value::Int8(place.group + 1),
        OwnFn::PercentRank if len <= 1 => Value::Float8(0.0),
        OwnFn::PercentRank => Value::Float8(place.peers.start as f64 / (len - 1) as f64),
        OwnFn::CumeDist => Value::Float8(place.peers.end as f64 / len as f64),
        OwnFn::Ntile => {
            let argument = match rows.args(at)? {
                Some([count, ..]) => count.as_i64(),
                _ => None,
            };
            buckets.next(argument, len)?
        }
        OwnFn::Lag | OwnFn::Lead => {
            let args = rows.args(at)?.unwrap_or_default();
            let distance = match args.get(1) {
                None => 1,
                Some(distance) => match distance.as_i64() {
                    Some(distance) => distance,
                    None => return Ok(Value::Null),
                },
            };
            let other = args.get(2).cloned().unwrap_or_default();
            let distance = if function == OwnFn::Lag { -distance } else { distance };
            let target = usize::try_from(at as i64 + distance).ok();
            match target.filter(|target| *target < len) {
                Some(target) => first_argument(rows, target)?,
                None => other,
            }
        }
        OwnFn::FirstValue | OwnFn::LastValue | OwnFn::NthValue => {
            let number = match (function, rows.args(at)?) {
                (OwnFn::NthValue, Some([_, number])) => match number.as_i64() {
                    None => return Ok(Value::Null),
                    Some(number) if number <= 0 => {
                        let what = "argument of nth_value must be greater than zero";
                        return Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE, what));
                    }
                    Some(number) => usize::try_from(number - 1).unwrap_or(usize::MAX),
                },
                _ => 0,
            };
            place.move_frame(rows)?;
            let ranges = place.ranges();
            let row = match function {
                OwnFn::LastValue => {
                    ranges.iter().rev().find(|range| !range.is_empty()).map(|range| range.end - 1)
                }
                _ => nth(&ranges, number),
            };
            match row {
                Some(row) => first_argument(rows, row)?,
                None => Value::Null,
            }
        }
    })
}

fn first_argument(rows: &mut impl Rows, row: usize) -> Result<Value> {
    Ok(rows.args(row)?.and_then(|args| args.first()).cloned().unwrap_or_default())
}

/// The row of a number, counted from 0, of all ranges.
fn nth(ranges: &[Range<usize>], mut number: usize) -> Option<usize> {
    for range in ranges {
        if number < range.len() {
            return Some(range.start + number);
        }
        number -= range.len();
    }
    None
}

/// Where ntile has come to.
#[derive(Debug, Default)]
struct Buckets {
    /// The current bucket, from 1; 0 before the first one.
    bucket: i64,
    /// Rows in it so far, and how many it has.
    rows: i64,
    most: i64,
    /// Buckets that have one row more than the last ones have.
    longer: i64,
}

impl Buckets {
    /// The bucket of the next row of `len`; the first row whose argument is not NULL says how many there are.
    fn next(&mut self, argument: Option<i64>, len: usize) -> Result<Value> {
        let len = len as i64;
        if self.bucket == 0 {
            let Some(count) = argument else { return Ok(Value::Null) };
            if count <= 0 {
                let what = "argument of ntile must be greater than zero";
                return Err(SqlError::new(SqlState::INVALID_ARGUMENT_FOR_NTILE, what));
            }
            self.bucket = 1;
            self.most = len / count;
            if self.most == 0 {
                self.most = 1;
            } else {
                self.longer = len % count;
                self.most += i64::from(self.longer != 0);
            }
        }
        self.rows += 1;
        if self.rows > self.most {
            if self.longer != 0 && self.bucket == self.longer {
                self.longer = 0;
                self.most -= 1;
            }
            self.bucket += 1;
            self.rows = 1;
        }
        Ok(Value::Int4(i32::try_from(self.bucket).unwrap_or(i32::MAX)))
    }
}
