//! Conditions that are decided by the bytes of a row, before a value of it is loaded.
//!
//! Most rows of a large scan are dropped by a comparison of a number, a date or a text with a constant. To make
//! values of all columns for it costs many times as much as the comparison. So the conditions that a filter begins
//! with, as far as they have this form, are compiled to comparisons of what rows hold:
//!
//! ```text
//! WHERE  d >= date '1994-01-01' AND price < 24.00 AND s IN ('a', 'b') AND f(x) > 1 AND d < e
//!        └─────────────── tests of bytes ────────────────────────────┘ └── evaluated ─────┘
//! ```
//!
//! None of them can fail, so the cheapest is made first, and those that bound one column are made as one. What stands
//! behind the first one of another form is left in its place: the errors of a statement are those that it has without
//! this. A condition that is not known to be true drops the row, as in any filter.

use super::Exec;
use super::scan::conditions;
use scaledb_engine::Worker;
use scaledb_planner::functions::ScalarFn;
use scaledb_planner::plan::Scan;
use scaledb_planner::plan::expr::{self, Compare, Expr};
use scaledb_planner::plan::place::{Load, Loads};
use scaledb_row::{IntegerPlace, RowRef};
use scaledb_types::calendar::DAY_MICROS;
use scaledb_types::{Base, LikeParts, Numeric, Result, SqlState, Text, Type, Value};
use std::rc::Rc;

/// Rows that a scan meets before its filter is compiled: for fewer it does not pay. Tests have small tables.
pub(super) const WARM_UP: usize = if cfg!(debug_assertions) { 1 } else { 16 };

/// The filter of a scan.
#[derive(Debug, Default)]
pub(super) struct Warming {
    /// The address of the filter: plans for one scan that differ in it are told apart.
    of: usize,
    /// Rows that it has met before.
    rows: usize,
    filter: Option<Rc<RowFilter>>,
}

/// The leading conditions of a filter.
#[derive(Debug)]
pub(super) struct RowFilter {
    /// How many conditions these are.
    conditions: usize,
    /// The cheapest first.
    tests: Vec<Test>,
}

/// A condition on a row.
#[derive(Debug)]
enum Test {
    /// An integer between two, both included.
    Range(IntegerPlace, Range),
    /// An integer that is none.
    Not(IntegerPlace, i64),
    /// Two integers of one row.
    Ints(IntegerPlace, Compare, IntegerPlace),
    /// An integer that is one of a few.
    IntIn(IntegerPlace, Vec<i64>),
    Text(usize, Compare, Text),
    Texts(usize, Compare, usize),
    TextIn(usize, Vec<Text>),
    /// Whether a text matches a pattern, or does not.
    Like(usize, Box<LikeParts>, bool),
    /// Whether a column is NULL, or is not.
    Null(usize, bool),
    All(Vec<Test>),
    Any(Vec<Test>),
    /// What no row satisfies, and what each does that has the column.
    Never,
    Present(usize),
}

/// Integers from the first to the last: one comparison tells whether one is of them.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: i64,
    /// The last is so many behind it.
    more: u64,
}

/// A column whose values are ordered as integers.
#[derive(Clone, Copy, Debug)]
struct Int {
    column: usize,
    place: IntegerPlace,
    unit: Unit,
}

/// What an integer counts. Those of one unit compare with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bool,
    /// Integers of all widths.
    Int,
    Day,
    /// Of a day.
    Time,
    Timestamp,
    Timestamptz,
    /// `10^-scale`.
    Decimal(i32),
}

impl RowFilter {
    /// Whether all of them hold.
    #[inline]
    pub(super) fn holds(&self, row: RowRef<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(row))
    }

    /// What is left of the conditions of the filter.
    #[inline]
    pub(super) fn rest<'f>(&self, conditions: &'f [Expr]) -> &'f [Expr] {
        &conditions[self.conditions..]
    }
}

/// The address of a scan's filter, which stays where it is for as long as a run lasts.
fn address(scan: &Scan) -> usize {
    std::ptr::from_ref(&scan.filter).addr()
}

impl<W: Worker> Exec<'_, W> {
    /// The compiled filter of a scan, if it has met enough rows.
    #[inline]
    pub(super) fn row_filter(&self, scan: &Scan) -> Option<Rc<RowFilter>> {
        let warming = self.aside.as_ref()?.filters.get(scan.number)?;
        if warming.of == address(scan) { warming.filter.clone() } else { None }
    }

    /// Counts rows that a scan has met without a compiled filter; the filter, if that is enough.
    ///
    /// # Errors
    /// 57014.
    #[cold]
    pub(super) fn warm_up(&mut self, scan: &Scan, rows: usize) -> Result<Option<Rc<RowFilter>>> {
        if scan.filter.is_none() {
            return Ok(None);
        }
        let filters = &mut self.aside().filters;
        if filters.len() <= scan.number {
            filters.resize_with(scan.number + 1, Warming::default);
        }
        let warming = &mut filters[scan.number];
        if warming.of != address(scan) {
            *warming = Warming { of: address(scan), ..Warming::default() };
        }
        warming.rows += rows;
        if warming.rows < WARM_UP {
            return Ok(None);
        }
        let mut tests = Vec::new();
        for condition in conditions(scan) {
            match self.test(condition, scan)? {
                Some(test) => tests.push(test),
                None => break,
            }
        }
        let filter = Rc::new(RowFilter { conditions: tests.len(), tests: in_order(tests) });
        self.aside().filters[scan.number].filter = Some(filter.clone());
        Ok(Some(filter))
    }

    /// A condition that is decided by bytes as a whole, if it is.
    ///
    /// # Errors
    /// 57014.
    pub(super) fn whole_filter(&mut self, condition: &Expr, scan: &Scan) -> Result<Option<RowFilter>> {
        Ok(self.test(condition, scan)?.map(|test| RowFilter { conditions: 1, tests: vec![test] }))
    }

    /// A condition as a test, if it has the form of one.
    fn test(&mut self, condition: &Expr, scan: &Scan) -> Result<Option<Test>> {
        Ok(match condition {
            Expr::Compare(op, pair) => self.comparison(*op, &pair.0, &pair.1, scan)?,
            Expr::Call(call) => match &call.1[..] {
                [left, right] => match comparison_of(&call.0) {
                    Some(op) => self.comparison(op, left, right, scan)?,
                    None => self.like(&call.0, left, right, scan)?,
                },
                _ => None,
            },
            // what is not known to match is not known not to match
            Expr::Not(negated) => match self.test(negated, scan)? {
                Some(Test::Like(column, parts, matches)) => Some(Test::Like(column, parts, !matches)),
                _ => None,
            },
            Expr::And(list) => self.tests(list, scan)?.map(|tests| Test::All(in_order(tests))),
            Expr::Or(list) => self.tests(list, scan)?.map(Test::Any),
            Expr::In(value, list) => {
                let Some(load) = load_of(value, &scan.loads) else { return Ok(None) };
                let mut values = Vec::with_capacity(list.len());
                for part in list {
                    let Some(value) = self.constant(part)? else { return Ok(None) };
                    values.push(value);
                }
                one_of(scan, load, &values)
            }
            Expr::Test(test @ (expr::Test::Null | expr::Test::NotNull), value) => {
                load_of(value, &scan.loads).map(|load| Test::Null(load.column, *test == expr::Test::Null))
            }
            _ => None,
        })
    }

    /// Conditions as tests, if all have the form of one.
    fn tests(&mut self, list: &[Expr], scan: &Scan) -> Result<Option<Vec<Test>>> {
        let mut tests = Vec::with_capacity(list.len());
        for part in list {
            let Some(test) = self.test(part, scan)? else { return Ok(None) };
            tests.push(test);
        }
        Ok(Some(tests))
    }

    fn comparison(&mut self, op: Compare, left: &Expr, right: &Expr, scan: &Scan) -> Result<Option<Test>> {
        Ok(match (load_of(left, &scan.loads), load_of(right, &scan.loads)) {
            (Some(left), Some(right)) => columns(scan, left, op, right),
            (Some(left), None) => self.constant(right)?.and_then(|value| beside(scan, left, op, &value)),
            (None, Some(right)) => {
                self.constant(left)?.and_then(|value| beside(scan, right, op.flip(), &value))
            }
            (None, None) => None,
        })
    }

    /// LIKE and NOT LIKE of a text and a pattern of literal parts.
    fn like(&mut self, function: &ScalarFn, left: &Expr, right: &Expr, scan: &Scan) -> Result<Option<Test>> {
        let negated = match function.signature() {
            Some(("~~", [text, _])) if is_unpadded(*text) => false,
            Some(("!~~", [text, _])) if is_unpadded(*text) => true,
            _ => return Ok(None),
        };
        let Some(load) = load_of(left, &scan.loads).filter(|load| is_unpadded(load.ty)) else {
            return Ok(None);
        };
        Ok(match self.constant(right)? {
            Some(Value::Null) => Some(Test::Never),
            Some(Value::Text(pattern)) => {
                LikeParts::new(&pattern).map(|parts| Test::Like(load.column, Box::new(parts), !negated))
            }
            _ => None,
        })
    }

    /// The value of an expression that has the same for all rows of the run. One that fails does so where it is
    /// evaluated, if it is; only a request to stop, which is met once, counts here as there.
    pub(super) fn constant(&mut self, expr: &Expr) -> Result<Option<Value>> {
        fn is_constant(expr: &Expr) -> bool {
            let mut parts = true;
            expr.children(&mut |part| parts &= is_constant(part));
            parts
                && !matches!(
                    expr,
                    Expr::Slot(_)
                        | Expr::Once(..)
                        | Expr::Domain(_)
                        | Expr::Session(_)
                        | Expr::Routine(_)
                        | Expr::Subquery(_)
                )
        }
        if !is_constant(expr) || expr.is_volatile() {
            return Ok(None);
        }
        match self.eval(expr) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code() == SqlState::QUERY_CANCELED => Err(error),
            Err(_) => Ok(None),
        }
    }
}

impl Range {
    const ALL: Self = Self { first: i64::MIN, more: u64::MAX };

    /// Those for which a comparison with one holds; `None` if there are none, or they are no range.
    fn of(op: Compare, value: i64) -> Option<Self> {
        Some(match op {
            Compare::Eq => Self { first: value, more: 0 },
            Compare::Ne => return None,
            Compare::Lt => Self::between(i64::MIN, value.checked_sub(1)?)?,
            Compare::Le => Self::between(i64::MIN, value)?,
            Compare::Gt => Self::between(value.checked_add(1)?, i64::MAX)?,
            Compare::Ge => Self::between(value, i64::MAX)?,
        })
    }

    fn between(first: i64, last: i64) -> Option<Self> {
        (first <= last).then(|| Self { first, more: last.wrapping_sub(first) as u64 })
    }

    fn last(self) -> i64 {
        self.first.wrapping_add(self.more as i64)
    }

    /// Those that both have.
    fn and(self, other: Self) -> Option<Self> {
        Self::between(self.first.max(other.first), self.last().min(other.last()))
    }

    #[inline]
    fn has(self, value: i64) -> bool {
        value.wrapping_sub(self.first) as u64 <= self.more
    }
}

/// Tests of which all have to hold: those that bound one column as one, and the cheapest first.
fn in_order(tests: Vec<Test>) -> Vec<Test> {
    let mut ranges: Vec<(IntegerPlace, Option<Range>)> = Vec::new();
    let mut others = Vec::new();
    for test in tests {
        match test {
            Test::Range(place, range) => {
                let known = ranges.iter().position(|(of, _)| *of == place).unwrap_or_else(|| {
                    ranges.push((place, Some(Range::ALL)));
                    ranges.len() - 1
                });
                ranges[known].1 = ranges[known].1.and_then(|has| has.and(range));
            }
            other => others.push(other),
        }
    }
    let ranges =
        ranges.into_iter().map(|(place, range)| range.map_or(Test::Never, |r| Test::Range(place, r)));
    let mut tests: Vec<Test> = ranges.chain(others).collect();
    tests.sort_by_key(Test::effort);
    tests
}

/// The bytes of a text column; `None` if it is NULL.
#[inline]
fn text(row: RowRef<'_>, column: usize) -> Option<&[u8]> {
    if row.is_null(column) { None } else { Some(row.bytes(column)) }
}

impl Test {
    /// What it costs beside others.
    fn effort(&self) -> u8 {
        match self {
            Self::Never => 0,
            Self::Range(..) | Self::Not(..) | Self::Null(..) | Self::Present(_) => 1,
            Self::Ints(..) => 2,
            Self::IntIn(..) => 3,
            Self::Text(..) | Self::Texts(..) | Self::TextIn(..) => 4,
            Self::All(_) | Self::Any(_) => 5,
            Self::Like(..) => 6,
        }
    }

    #[inline]
    fn holds(&self, row: RowRef<'_>) -> bool {
        match self {
            Self::Range(place, range) => row.integer_at(*place).is_some_and(|of| range.has(of)),
            Self::Not(place, value) => row.integer_at(*place).is_some_and(|of| of != *value),
            Self::Ints(left, op, right) => match (row.integer_at(*left), row.integer_at(*right)) {
                (Some(left), Some(right)) => op.holds(left.cmp(&right)),
                _ => false,
            },
            Self::IntIn(place, values) => row.integer_at(*place).is_some_and(|of| values.contains(&of)),
            Self::Text(column, op, value) => {
                text(row, *column).is_some_and(|of| compare_bytes(*op, of, value.as_bytes()))
            }
            Self::Texts(left, op, right) => match (text(row, *left), text(row, *right)) {
                (Some(left), Some(right)) => compare_bytes(*op, left, right),
                _ => false,
            },
            Self::TextIn(column, values) => {
                text(row, *column).is_some_and(|of| values.iter().any(|value| value.as_bytes() == of))
            }
            Self::Like(column, parts, matches) => {
                text(row, *column).is_some_and(|of| parts.match_bytes(of) == *matches)
            }
            Self::Null(column, null) => row.is_null(*column) == *null,
            Self::All(tests) => tests.iter().all(|test| test.holds(row)),
            Self::Any(tests) => tests.iter().any(|test| test.holds(row)),
            Self::Never => false,
            Self::Present(column) => !row.is_null(*column),
        }
    }
}

/// Text is ordered by its bytes; equality needs no order.
#[inline]
fn compare_bytes(op: Compare, left: &[u8], right: &[u8]) -> bool {
    match op {
        Compare::Eq => left == right,
        Compare::Ne => left != right,
        _ => op.holds(left.cmp(right)),
    }
}

/// The comparison that a function makes, because its sides have different types: of integers, or of a date with a
/// timestamp.
fn comparison_of(function: &ScalarFn) -> Option<Compare> {
    let (name, [left, right]) = function.signature()? else { return None };
    let base = |ty: &Type| if ty.array { None } else { Some(ty.base) };
    let int = |ty: &Type| matches!(base(ty), Some(Base::Int2 | Base::Int4 | Base::Int8));
    let times = matches!(
        (base(left), base(right)),
        (Some(Base::Date), Some(Base::Timestamp)) | (Some(Base::Timestamp), Some(Base::Date))
    );
    let ints = int(left) && int(right);
    if times || ints { Compare::named(name) } else { None }
}

/// The column that an expression is.
pub(super) fn load_of(expr: &Expr, loads: &Loads) -> Option<Load> {
    let Expr::Slot(slot) = expr else { return None };
    loads.columns.iter().find(|load| load.slot == *slot).copied()
}

fn is_text(ty: Type) -> bool {
    !ty.array && matches!(ty.base, Base::Text | Base::Varchar | Base::Bpchar)
}

/// Whether the bytes of a text are its characters: those of a `char(n)` lack its blanks.
fn is_unpadded(ty: Type) -> bool {
    !ty.array && matches!(ty.base, Base::Text | Base::Varchar)
}

/// The column as one of integers.
fn int_of(scan: &Scan, load: Load) -> Option<Int> {
    if load.ty.array {
        return None;
    }
    let unit = match load.ty.base {
        Base::Bool => Unit::Bool,
        Base::Int2 | Base::Int4 | Base::Int8 => Unit::Int,
        Base::Date => Unit::Day,
        Base::Time => Unit::Time,
        Base::Timestamp => Unit::Timestamp,
        Base::Timestamptz => Unit::Timestamptz,
        Base::Numeric => Unit::Decimal(load.ty.word_scale()?),
        _ => return None,
    };
    let place = scan.table.info.schema.layout().integer_place(load.column)?;
    Some(Int { column: load.column, place, unit })
}

/// A constant in a column's unit.
enum Constant {
    Exactly(i64),
    /// It lies between this one and the next.
    Above(i64),
}

fn constant(unit: Unit, value: &Value) -> Option<Constant> {
    let exactly = |value: i64| Some(Constant::Exactly(value));
    match (unit, value) {
        (Unit::Bool, Value::Bool(value)) => exactly((*value).into()),
        (Unit::Int, Value::Int2(_) | Value::Int4(_) | Value::Int8(_)) => exactly(value.as_i64()?),
        (Unit::Day, Value::Date(day)) => exactly((*day).into()),
        // infinite dates have no day number
        (Unit::Day, Value::Timestamp(micros)) if *micros != i64::MAX && *micros != i64::MIN => {
            let day = micros.div_euclid(DAY_MICROS);
            match micros.rem_euclid(DAY_MICROS) {
                0 => exactly(day),
                _ => Some(Constant::Above(day)),
            }
        }
        (Unit::Time, Value::Time(value))
        | (Unit::Timestamp, Value::Timestamp(value))
        | (Unit::Timestamptz, Value::Timestamptz(value)) => exactly(*value),
        (Unit::Decimal(scale), Value::Numeric(value)) => decimal(value, scale),
        _ => None,
    }
}

/// A number in units of `10^-scale`. NaN is stored as the greatest of integers, which no number is.
fn decimal(value: &Numeric, scale: i32) -> Option<Constant> {
    let floor = |mantissa: i64| Some(mantissa).filter(|mantissa| *mantissa != i64::MAX);
    let (mantissa, has) = value.short()?;
    let by = scale - i32::from(has);
    let power = 10_i64.checked_pow(by.unsigned_abs())?;
    if by >= 0 {
        return floor(mantissa.checked_mul(power)?).map(Constant::Exactly);
    }
    let whole = mantissa.div_euclid(power);
    match mantissa.rem_euclid(power) {
        0 => floor(whole).map(Constant::Exactly),
        _ => floor(whole).map(Constant::Above),
    }
}

/// Two columns beside each other.
fn columns(scan: &Scan, left: Load, op: Compare, right: Load) -> Option<Test> {
    if is_text(left.ty) && is_text(right.ty) {
        return Some(Test::Texts(left.column, op, right.column));
    }
    let (left, right) = (int_of(scan, left)?, int_of(scan, right)?);
    (left.unit == right.unit).then_some(Test::Ints(left.place, op, right.place))
}

/// A column beside a constant.
fn beside(scan: &Scan, load: Load, op: Compare, value: &Value) -> Option<Test> {
    if value.is_null() {
        return Some(Test::Never);
    }
    if is_text(load.ty) {
        let Value::Text(value) = value else { return None };
        return Some(Test::Text(load.column, op, value.clone()));
    }
    let int = int_of(scan, load)?;
    let compared = |op: Compare, value: i64| match (op, Range::of(op, value)) {
        (Compare::Ne, _) => Test::Not(int.place, value),
        (_, Some(range)) => Test::Range(int.place, range),
        (_, None) => Test::Never,
    };
    Some(match (constant(int.unit, value)?, op) {
        (Constant::Exactly(value), _) => compared(op, value),
        (Constant::Above(_), Compare::Eq) => Test::Never,
        (Constant::Above(_), Compare::Ne) => Test::Present(int.column),
        (Constant::Above(below), Compare::Lt | Compare::Le) => compared(Compare::Le, below),
        (Constant::Above(below), Compare::Gt | Compare::Ge) => compared(Compare::Gt, below),
    })
}

/// A column that is one of several constants.
fn one_of(scan: &Scan, load: Load, list: &[Value]) -> Option<Test> {
    // what is compared with NULL is not known to be equal
    let constants: Vec<&Value> = list.iter().filter(|value| !value.is_null()).collect();
    if is_text(load.ty) {
        let text = |value: &&Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        return Some(Test::TextIn(load.column, constants.iter().map(text).collect::<Option<_>>()?));
    }
    let int = int_of(scan, load)?;
    let mut values = Vec::with_capacity(constants.len());
    for value in constants {
        match constant(int.unit, value)? {
            Constant::Exactly(value) => values.push(value),
            Constant::Above(_) => {}
        }
    }
    Some(Test::IntIn(int.place, values))
}
