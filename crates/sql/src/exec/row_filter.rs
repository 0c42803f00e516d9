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
//! None of them can fail, and what stands behind the first one of another form is left in its place: the errors of a
//! statement are those that it has without this. A condition that is not known to be true drops the row, as in any
//! filter.

use super::Exec;
use super::scan::conditions;
use scaledb_engine::Worker;
use scaledb_planner::functions::ScalarFn;
use scaledb_planner::plan::Scan;
use scaledb_planner::plan::expr::{self, Compare, Expr};
use scaledb_planner::plan::place::{Load, Loads};
use scaledb_row::RowRef;
use scaledb_types::calendar::DAY_MICROS;
use scaledb_types::{Base, Numeric, Result, SqlState, Text, Type, Value};
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
    /// One for each.
    tests: Vec<Test>,
}

/// A condition on a row.
#[derive(Debug)]
enum Test {
    /// An integer beside a constant.
    Int(Int, Compare, i64),
    /// Two integers of one row.
    Ints(Int, Compare, Int),
    /// An integer that is one of a few.
    IntIn(Int, Vec<i64>),
    Text(usize, Compare, Text),
    Texts(usize, Compare, usize),
    TextIn(usize, Vec<Text>),
    /// Whether a column is NULL, or is not.
    Null(usize, bool),
    All(Vec<Test>),
    Any(Vec<Test>),
    /// What no row satisfies, and what each does that has the column.
    Never,
    Present(usize),
}

/// A column whose values are ordered as integers.
#[derive(Clone, Copy, Debug)]
struct Int {
    column: usize,
    bytes: u8,
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
        &conditions[self.tests.len()..]
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
            match self.test(condition, &scan.loads)? {
                Some(test) => tests.push(test),
                None => break,
            }
        }
        let filter = Rc::new(RowFilter { tests });
        self.aside().filters[scan.number].filter = Some(filter.clone());
        Ok(Some(filter))
    }

    /// A condition that is decided by bytes as a whole, if it is.
    ///
    /// # Errors
    /// 57014.
    pub(super) fn whole_filter(&mut self, condition: &Expr, loads: &Loads) -> Result<Option<RowFilter>> {
        Ok(self.test(condition, loads)?.map(|test| RowFilter { tests: vec![test] }))
    }

    /// A condition as a test, if it has the form of one.
    fn test(&mut self, condition: &Expr, loads: &Loads) -> Result<Option<Test>> {
        Ok(match condition {
            Expr::Compare(op, pair) => self.comparison(*op, &pair.0, &pair.1, loads)?,
            Expr::Call(call) => match (comparison_of(&call.0), &call.1[..]) {
                (Some(op), [left, right]) => self.comparison(op, left, right, loads)?,
                _ => None,
            },
            Expr::And(list) => self.tests(list, loads)?.map(Test::All),
            Expr::Or(list) => self.tests(list, loads)?.map(Test::Any),
            Expr::In(value, list) => {
                let Some(load) = load_of(value, loads) else { return Ok(None) };
                let mut values = Vec::with_capacity(list.len());
                for part in list {
                    let Some(value) = self.constant(part)? else { return Ok(None) };
                    values.push(value);
                }
                one_of(load, &values)
            }
            Expr::Test(test @ (expr::Test::Null | expr::Test::NotNull), value) => {
                load_of(value, loads).map(|load| Test::Null(load.column, *test == expr::Test::Null))
            }
            _ => None,
        })
    }

    /// Conditions as tests, if all have the form of one.
    fn tests(&mut self, list: &[Expr], loads: &Loads) -> Result<Option<Vec<Test>>> {
        let mut tests = Vec::with_capacity(list.len());
        for part in list {
            let Some(test) = self.test(part, loads)? else { return Ok(None) };
            tests.push(test);
        }
        Ok(Some(tests))
    }

    fn comparison(&mut self, op: Compare, left: &Expr, right: &Expr, loads: &Loads) -> Result<Option<Test>> {
        Ok(match (load_of(left, loads), load_of(right, loads)) {
            (Some(left), Some(right)) => columns(left, op, right),
            (Some(left), None) => self.constant(right)?.and_then(|value| beside(left, op, &value)),
            (None, Some(right)) => self.constant(left)?.and_then(|value| beside(right, op.flip(), &value)),
            (None, None) => None,
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

impl Int {
    /// The value; `None` if it is NULL.
    #[inline]
    fn of(self, row: RowRef<'_>) -> Option<i64> {
        if row.is_null(self.column) {
            return None;
        }
        Some(match self.bytes {
            1 => row.bool(self.column).into(),
            2 => row.i16(self.column).into(),
            4 => row.i32(self.column).into(),
            _ => row.i64(self.column),
        })
    }
}

/// The bytes of a text column; `None` if it is NULL.
#[inline]
fn text(row: RowRef<'_>, column: usize) -> Option<&[u8]> {
    if row.is_null(column) { None } else { Some(row.bytes(column)) }
}

impl Test {
    #[inline]
    fn holds(&self, row: RowRef<'_>) -> bool {
        match self {
            Self::Int(int, op, value) => int.of(row).is_some_and(|of| op.holds(of.cmp(value))),
            Self::Ints(left, op, right) => match (left.of(row), right.of(row)) {
                (Some(left), Some(right)) => op.holds(left.cmp(&right)),
                _ => false,
            },
            Self::IntIn(int, values) => int.of(row).is_some_and(|of| values.contains(&of)),
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
    if !(times || ints) {
        return None;
    }
    Some(match name {
        "=" => Compare::Eq,
        "<>" => Compare::Ne,
        "<" => Compare::Lt,
        "<=" => Compare::Le,
        ">" => Compare::Gt,
        ">=" => Compare::Ge,
        _ => return None,
    })
}

/// The column that an expression is.
pub(super) fn load_of(expr: &Expr, loads: &Loads) -> Option<Load> {
    let Expr::Slot(slot) = expr else { return None };
    loads.columns.iter().find(|load| load.slot == *slot).copied()
}

fn is_text(ty: Type) -> bool {
    !ty.array && matches!(ty.base, Base::Text | Base::Varchar | Base::Bpchar)
}

/// The column as one of integers.
fn int_of(load: Load) -> Option<Int> {
    if load.ty.array {
        return None;
    }
    let (bytes, unit) = match load.ty.base {
        Base::Bool => (1, Unit::Bool),
        Base::Int2 => (2, Unit::Int),
        Base::Int4 => (4, Unit::Int),
        Base::Int8 => (8, Unit::Int),
        Base::Date => (4, Unit::Day),
        Base::Time => (8, Unit::Time),
        Base::Timestamp => (8, Unit::Timestamp),
        Base::Timestamptz => (8, Unit::Timestamptz),
        Base::Numeric => (8, Unit::Decimal(load.ty.word_scale()?)),
        _ => return None,
    };
    Some(Int { column: load.column, bytes, unit })
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
fn columns(left: Load, op: Compare, right: Load) -> Option<Test> {
    if is_text(left.ty) && is_text(right.ty) {
        return Some(Test::Texts(left.column, op, right.column));
    }
    let (left, right) = (int_of(left)?, int_of(right)?);
    (left.unit == right.unit).then_some(Test::Ints(left, op, right))
}

/// A column beside a constant.
fn beside(load: Load, op: Compare, value: &Value) -> Option<Test> {
    if value.is_null() {
        return Some(Test::Never);
    }
    if is_text(load.ty) {
        let Value::Text(value) = value else { return None };
        return Some(Test::Text(load.column, op, value.clone()));
    }
    let int = int_of(load)?;
    Some(match (constant(int.unit, value)?, op) {
        (Constant::Exactly(value), _) => Test::Int(int, op, value),
        (Constant::Above(_), Compare::Eq) => Test::Never,
        (Constant::Above(_), Compare::Ne) => Test::Present(int.column),
        (Constant::Above(below), Compare::Lt | Compare::Le) => Test::Int(int, Compare::Le, below),
        (Constant::Above(below), Compare::Gt | Compare::Ge) => Test::Int(int, Compare::Gt, below),
    })
}

/// A column that is one of several constants.
fn one_of(load: Load, list: &[Value]) -> Option<Test> {
    // what is compared with NULL is not known to be equal
    let constants: Vec<&Value> = list.iter().filter(|value| !value.is_null()).collect();
    if is_text(load.ty) {
        let text = |value: &&Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        return Some(Test::TextIn(load.column, constants.iter().map(text).collect::<Option<_>>()?));
    }
    let int = int_of(load)?;
    let mut values = Vec::with_capacity(constants.len());
    for value in constants {
        match constant(int.unit, value)? {
            Constant::Exactly(value) => values.push(value),
            Constant::Above(_) => {}
        }
    }
    Some(Test::IntIn(int, values))
}
