//! Rows of a scan that go to their groups by their bytes.
//!
//! Where an aggregation takes the rows of a scan as they are, most of its time would go into values that nobody keeps.
//! So once there have been a few rows, keys are compared with what the row holds, and arguments are computed from it:
//!
//! ```text
//! GROUP BY a, b       the bytes of a and b ─► hash ─► the number of the group
//! sum(x), avg(x),     0: x   1: constant 1   2: y   3: 1 - 2   4: 0 * 3     integers; their scales are known
//! sum(x * (1 - y))    what several aggregates have in common is computed once for a row
//! ```
//!
//! A row that cannot go this way (there is no room for its group, a number is NaN or gets too long) is loaded, and goes
//! the way of all others, before anything was done with it: so results and errors are those that there are without
//! this.

use super::groups::Groups;
use super::packed_groups::PackedGroups;
use super::row_filter::{RowFilter, WARM_UP, load_of};
use super::{Exec, codec};
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::place::Load;
use scaledb_planner::plan::{Aggregate, Scan, Slot};
use scaledb_row::{IntegerPlace, RowRef};
use scaledb_types::numeric::{Exact, MAX_SCALE};
use scaledb_types::{Base, Numeric, Result, Type, Value};
use std::hash::{Hash, Hasher};

/// Numbers that are computed for a row at most.
const MOST_STEPS: usize = 64;

/// An aggregation of the rows of a scan: how it goes by bytes, once that is known.
#[derive(Default)]
pub(super) struct ByBytes {
    /// Rows that have come as bytes before it was known.
    rows: usize,
    row_groups: Option<RowGroups>,
}

struct RowGroups {
    keys: Vec<Load>,
    /// For as long as there are few groups.
    packed: Option<PackedGroups>,
    /// The key of a row whose group is not there.
    key: Vec<Value>,
    steps: Vec<Step>,
    /// What the steps have computed of the current row; `None` is NULL.
    numbers: Vec<Option<i64>>,
    /// One for each aggregate.
    parts: Vec<Part>,
    /// Whether it counts, for aggregates with a FILTER.
    filters: Vec<Option<RowFilter>>,
}

/// Where a row belongs.
enum GroupOfRow {
    Of(usize),
    /// To a group that is not there, of a key that has this hash.
    None(u64),
    /// A part of its key cannot be read.
    Unknown,
}

/// A number, as an integer of a scale that is the same for all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Column(IntegerPlace),
    Constant(i64),
    Product(usize, usize),
    /// Of both numbers by powers of ten that give them one scale.
    Sum((usize, i64), (usize, i64)),
    Difference((usize, i64), (usize, i64)),
}

/// What an aggregate takes of a row.
#[derive(Clone, Copy, Debug)]
enum Part {
    Row,
    /// The row, unless a column is NULL.
    Present(usize),
    /// A number, and its scale.
    Number(usize, u16),
    Column(Load),
}

/// The steps that compute the numbers of all aggregates, while they are found.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    scales: Vec<u16>,
}

impl Steps {
    /// The number of a step; one that is there already is not made again.
    fn add(&mut self, step: Step, scale: u16) -> Option<usize> {
        let known = self.steps.iter().zip(&self.scales).position(|(of, has)| (*of, *has) == (step, scale));
        if known.is_some() || self.steps.len() == MOST_STEPS {
            return known;
        }
        self.steps.push(step);
        self.scales.push(scale);
        Some(self.steps.len() - 1)
    }

    /// What [`Exact::of_short`] answers of two numbers.
    fn exact(&mut self, exact: Exact, left: usize, right: usize) -> Option<usize> {
        let (x, y) = (self.scales[left], self.scales[right]);
        if exact == Exact::Mul {
            let scale = x + y;
            return if scale <= MAX_SCALE { self.add(Step::Product(left, right), scale) } else { None };
        }
        let scale = x.max(y);
        let by = |has: u16| 10_i64.checked_pow(u32::from(scale - has));
        let (left, right) = ((left, by(x)?), (right, by(y)?));
        let step = if exact == Exact::Add { Step::Sum(left, right) } else { Step::Difference(left, right) };
        self.add(step, scale)
    }
}

/// Whether the values of a type are equal if their bytes in a row are.
fn is_key(ty: Type) -> bool {
    !ty.array
        && match ty.base {
            Base::Bool | Base::Int2 | Base::Int4 | Base::Int8 | Base::Date => true,
            Base::Timestamp | Base::Timestamptz | Base::Text | Base::Varchar | Base::Bpchar => true,
            Base::Numeric => scale_of(ty).is_some(),
            _ => false,
        }
}

/// The scale of a number that is stored as an integer.
fn scale_of(ty: Type) -> Option<u16> {
    if ty.array || ty.base != Base::Numeric {
        return None;
    }
    u16::try_from(ty.word_scale()?).ok()
}

fn is_text(ty: Type) -> bool {
    matches!(ty.base, Base::Text | Base::Varchar | Base::Bpchar)
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Adds a row to the aggregates of its group, if it can go there by its bytes. False, and nothing is done with it,
    /// if it cannot.
    ///
    /// # Errors
    /// Those of aggregates.
    #[inline]
    pub(super) fn take_bytes(
        &mut self,
        (by, groups): (&mut ByBytes, &mut Groups<'_, 'a>),
        (scan, row): (&Scan, RowRef<'_>),
        keys: &[(Expr, Slot)],
        aggregates: &[Aggregate],
    ) -> Result<bool> {
        let Some(row_groups) = &mut by.row_groups else {
            by.rows += 1;
            if by.rows == WARM_UP {
                by.row_groups = self.row_groups(scan, keys, aggregates, groups)?;
            }
            return Ok(false);
        };
        if row_groups.compute(row).is_none() {
            return Ok(false);
        }
        let packed = row_groups.packed.as_ref().and_then(|packed| packed.pack(row));
        let known =
            row_groups.packed.as_ref().zip(packed.as_ref()).and_then(|(groups, key)| groups.find(key));
        let number = if let Some(number) = known {
            number
        } else {
            let number = match row_groups.group(groups, scan, row) {
                GroupOfRow::Of(number) => number,
                GroupOfRow::None(hash) => {
                    match self.begin_group(groups, hash, &row_groups.key, aggregates)? {
                        Some(number) => number,
                        None => return Ok(false),
                    }
                }
                GroupOfRow::Unknown => return Ok(false),
            };
            if let (Some(groups), Some(key)) = (&mut row_groups.packed, packed)
                && !groups.note(key, number)
            {
                row_groups.packed = None;
            }
            number
        };
        let RowGroups { numbers, parts, filters, .. } = row_groups;
        let mut grown = 0;
        for (at, running) in groups.running(number).iter_mut().enumerate() {
            if let Some(filter) = &filters[at]
                && !filter.holds(row)
            {
                continue;
            }
            let accumulated = &mut running.accumulated;
            let value = match parts[at] {
                Part::Present(column) if row.is_null(column) => continue,
                Part::Row | Part::Present(_) => {
                    accumulated.add_row();
                    continue;
                }
                Part::Number(of, scale) => match numbers[of] {
                    Some(mantissa) if accumulated.add_short((mantissa, scale)) => continue,
                    Some(mantissa) => Value::Numeric(Numeric::small(mantissa, scale)),
                    None => Value::Null,
                },
                Part::Column(load) => codec::load(row, &scan.table.info.schema, load.column, load.ty)?,
            };
            let function = &aggregates[at].function;
            grown += function.add(accumulated, self.context.env, std::slice::from_ref(&value))?;
        }
        if grown > 0 {
            self.memory.take(grown)?;
            groups.weight += grown;
        }
        self.note_done(|measure| measure.rows += 1);
        Ok(true)
    }

    /// How an aggregation goes by bytes, if it can.
    #[cold]
    fn row_groups(
        &mut self,
        scan: &Scan,
        keys: &[(Expr, Slot)],
        aggregates: &[Aggregate],
        groups: &Groups<'_, 'a>,
    ) -> Result<Option<RowGroups>> {
        let keys = keys.iter().map(|(key, _)| load_of(key, &scan.loads).filter(|load| is_key(load.ty)));
        let Some(keys) = keys.collect::<Option<Vec<Load>>>() else { return Ok(None) };
        let mut steps = Steps::default();
        let (mut parts, mut filters) = (Vec::new(), Vec::new());
        for (at, aggregate) in aggregates.iter().enumerate() {
            if !groups.gathered.is_plain(at) {
                return Ok(None);
            }
            let part = match &aggregate.args[..] {
                [] => Some(Part::Row),
                [arg] => self.part(aggregate, arg, scan, &mut steps)?,
                _ => None,
            };
            let Some(part) = part else { return Ok(None) };
            parts.push(part);
            filters.push(match &aggregate.filter {
                None => None,
                Some(filter) => match self.whole_filter(filter, scan)? {
                    Some(filter) => Some(filter),
                    None => return Ok(None),
                },
            });
        }
        let numbers = vec![None; steps.steps.len()];
        let layout = scan.table.info.schema.layout();
        let packed =
            if groups.together { None } else { PackedGroups::new(layout, &keys, |key| is_text(key.ty)) };
        Ok(Some(RowGroups { keys, packed, key: Vec::new(), steps: steps.steps, numbers, parts, filters }))
    }

    /// What an aggregate takes of a row that has this argument.
    fn part(
        &mut self,
        aggregate: &Aggregate,
        arg: &Expr,
        scan: &Scan,
        steps: &mut Steps,
    ) -> Result<Option<Part>> {
        let load = load_of(arg, &scan.loads);
        if let Some(load) = load
            && aggregate.function.counts_values()
        {
            return Ok(Some(Part::Present(load.column)));
        }
        if let Some(number) = self.number(arg, scan, steps)? {
            return Ok(Some(Part::Number(number, steps.scales[number])));
        }
        Ok(load.map(Part::Column))
    }

    /// The number of the step that computes an expression, if it is one of numbers that are integers in rows.
    fn number(&mut self, expr: &Expr, scan: &Scan, steps: &mut Steps) -> Result<Option<usize>> {
        if let Some(load) = load_of(expr, &scan.loads) {
            let place = scan.table.info.schema.layout().integer_place(load.column);
            let number = scale_of(load.ty).zip(place);
            return Ok(number.and_then(|(scale, place)| steps.add(Step::Column(place), scale)));
        }
        if let Expr::Call(call) = expr
            && let (Some(exact), [left, right]) = (call.0.exact(), &call.1[..])
        {
            let Some(left) = self.number(left, scan, steps)? else { return Ok(None) };
            let Some(right) = self.number(right, scan, steps)? else { return Ok(None) };
            return Ok(steps.exact(exact, left, right));
        }
        Ok(match self.constant(expr)? {
            Some(Value::Numeric(number)) => {
                number.short().and_then(|(mantissa, scale)| steps.add(Step::Constant(mantissa), scale))
            }
            _ => None,
        })
    }
}

impl RowGroups {
    /// The group of a row.
    #[inline]
    fn group(&mut self, groups: &mut Groups<'_, '_>, scan: &Scan, row: RowRef<'_>) -> GroupOfRow {
        if let Some(last) = groups.last
            && self.has(row, groups.key(last))
        {
            return GroupOfRow::Of(last);
        }
        let mut hash = 0;
        if !groups.together {
            let mut readable = true;
            hash = groups.hash(|state| readable = self.hash(scan, row, state).is_some());
            if !readable {
                return GroupOfRow::Unknown;
            }
            let found = groups.find(hash, |key| self.has(row, key));
            if let Some(number) = found {
                groups.last = found;
                return GroupOfRow::Of(number);
            }
        }
        self.key.clear();
        for key in &self.keys {
            match codec::load(row, &scan.table.info.schema, key.column, key.ty) {
                Ok(value) => self.key.push(value),
                Err(_) => return GroupOfRow::Unknown,
            }
        }
        debug_assert_eq!(hash, groups.hash_of(&self.key), "a hash by bytes is another");
        GroupOfRow::None(hash)
    }

    /// Hashes the key of a row as its values are hashed.
    #[inline]
    fn hash(&self, scan: &Scan, row: RowRef<'_>, state: &mut impl Hasher) -> Option<()> {
        for key in &self.keys {
            if is_text(key.ty) && !row.is_null(key.column) {
                Value::hash_text(row.bytes(key.column), state);
            } else {
                codec::load(row, &scan.table.info.schema, key.column, key.ty).ok()?.hash(state);
            }
        }
        Some(())
    }

    /// Whether a row has a key.
    #[inline]
    fn has(&self, row: RowRef<'_>, values: &[Value]) -> bool {
        self.keys.iter().zip(values).all(|(key, value)| {
            let column = key.column;
            if row.is_null(column) {
                return value.is_null();
            }
            match value {
                Value::Text(value) => row.bytes(column) == value.as_bytes(),
                Value::Bool(value) => row.bool(column) == *value,
                Value::Int2(value) => row.i16(column) == *value,
                Value::Int4(value) | Value::Date(value) => row.i32(column) == *value,
                Value::Int8(value) | Value::Timestamp(value) | Value::Timestamptz(value) => {
                    row.i64(column) == *value
                }
                Value::Numeric(_) => {
                    key.ty.word_scale().is_some_and(|scale| Value::of_word(row.i64(column), scale) == *value)
                }
                _ => false,
            }
        })
    }

    /// Computes the numbers of a row; `None` if one of them is no short number.
    #[inline]
    fn compute(&mut self, row: RowRef<'_>) -> Option<()> {
        for at in 0..self.steps.len() {
            let of = |number: usize| self.numbers[number];
            let number = match self.steps[at] {
                Step::Column(place) => match row.integer_at(place) {
                    Some(word) => Some(Value::mantissa_of_word(word)?),
                    None => None,
                },
                Step::Constant(value) => Some(value),
                Step::Product(left, right) => match (of(left), of(right)) {
                    (Some(left), Some(right)) => Some(left.checked_mul(right)?),
                    _ => None,
                },
                Step::Sum((left, x), (right, y)) => match (of(left), of(right)) {
                    (Some(left), Some(right)) => {
                        Some(left.checked_mul(x)?.checked_add(right.checked_mul(y)?)?)
                    }
                    _ => None,
                },
                Step::Difference((left, x), (right, y)) => match (of(left), of(right)) {
                    (Some(left), Some(right)) => {
                        Some(left.checked_mul(x)?.checked_sub(right.checked_mul(y)?)?)
                    }
                    _ => None,
                },
            };
            self.numbers[at] = number;
        }
        Some(())
    }
}
