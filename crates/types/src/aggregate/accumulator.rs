//! What accumulates of the rows of an aggregate.

use super::{Kind, pairs};
use crate::array::Array;
use crate::error::{Result, SqlError, SqlState};
use crate::func::{Call, key_text, to_json, to_jsonb};
use crate::interval::Interval;
use crate::json::{Json, write_string};
use crate::numeric::Numeric;
use crate::ty::Type;
use crate::value::{Text, Value};
use std::sync::Arc;

/// What has been accumulated.
#[derive(Clone, Debug)]
enum Accumulated {
    Empty,
    Int(i128),
    /// A sum of numerics whose mantissas fit words: mantissa and scale.
    Short(i128, u16),
    Numeric(Numeric),
    Float(f64),
    Interval(Interval),
    Value(Value),
    /// Sum, and sum of squares. Boxed, as the next ones are, because there is one of these for each group, and most are
    /// no longer than a number.
    Squares(Box<(Numeric, Numeric)>),
    /// Sum, and sum of squared distances from the mean (Youngs and Cramer).
    Distances(f64, f64),
    Pairs(Box<pairs::Sums>),
    Bytes(Vec<u8>),
    Values(Vec<Value>),
    Elements(Vec<Json>),
    Members(Vec<(Text, Json)>),
}

impl Accumulated {
    /// Adds a number whose mantissa fits a word to a sum of such; false, and nothing is added, if that is another way's
    /// task.
    #[inline]
    fn add_short(&mut self, (mantissa, scale): (i64, u16)) -> bool {
        let added = i128::from(mantissa);
        match self {
            Self::Short(sum, has) if *has == scale => match sum.checked_add(added) {
                Some(more) => *sum = more,
                None => return false,
            },
            Self::Empty => *self = Self::Short(added, scale),
            _ => return false,
        }
        true
    }

    /// A sum of short numbers as a number of any length.
    #[inline]
    fn lengthen(&mut self) {
        if let Self::Short(sum, scale) = *self {
            *self = Self::Numeric(Numeric::of_i128(sum, scale));
        }
    }
}

/// Takes values, one call per row, and then gives the result.
#[derive(Clone, Debug)]
pub struct Accumulator {
    kind: Kind,
    /// Rows that counted.
    count: i64,
    state: Accumulated,
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float4(v) => (*v).into(),
        Value::Float8(v) => *v,
        _ => f64::NAN,
    }
}

fn numeric(value: &Value) -> Numeric {
    match value {
        Value::Numeric(v) => v.clone(),
        other => Numeric::from(other.as_i64().unwrap_or(0)),
    }
}

#[cold]
fn overflow() -> SqlError {
    SqlError::out_of_range("value out of range: overflow")
}

impl Accumulator {
    /// One that has met no row.
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, count: 0, state: Accumulated::Empty }
    }

    /// Takes a numeric whose mantissa fits a word, if the aggregate is a sum or an average of numerics and has met none
    /// but these; false if it is to be added as others are.
    #[inline]
    pub fn add_short(&mut self, short: (i64, u16)) -> bool {
        let taken = matches!(self.kind, Kind::SumNumeric | Kind::AvgNumeric) && self.state.add_short(short);
        self.count += i64::from(taken);
        taken
    }

    /// Takes a row without arguments, or one whose argument only has to be counted.
    #[inline]
    pub fn add_row(&mut self) {
        self.count += 1;
    }

    /// Takes the arguments of a row.
    ///
    /// # Errors
    ///
    /// 22003 if the sum overflows, and what conversions answer.
    pub fn add(&mut self, call: &Call<'_>, args: &[Value]) -> Result<()> {
        let Some(value) = args.first() else {
            self.add_row();
            return Ok(());
        };
        let takes_null = matches!(
            self.kind,
            Kind::ArrayAgg | Kind::JsonAgg | Kind::JsonbAgg | Kind::JsonObjectAgg | Kind::JsonbObjectAgg
        );
        let pairs = matches!(self.kind, Kind::CountPairs | Kind::Pairs(_));
        if value.is_null() && !takes_null || pairs && args.iter().any(Value::is_null) {
            return Ok(());
        }
        self.count += 1;
        match self.kind {
            Kind::CountRows | Kind::Count | Kind::CountPairs | Kind::Ordered(_) => {}
            Kind::Pairs(_) => self.add_pair(args)?,
            Kind::SumSmall | Kind::SumInt | Kind::AvgInt => self.add_int(value),
            Kind::SumMoney => {
                if let Value::Money(v) = value {
                    self.add_int(&Value::Int8(*v));
                }
            }
            Kind::SumNumeric | Kind::AvgNumeric => self.add_numeric(value)?,
            Kind::SumFloat4 | Kind::SumFloat8 => self.add_to_float_sum(float(value))?,
            Kind::SumInterval | Kind::AvgInterval => match (&mut self.state, value) {
                (Accumulated::Interval(sum), Value::Interval(v)) => *sum = sum.plus(*v)?,
                (state, Value::Interval(v)) => *state = Accumulated::Interval(*v),
                _ => {}
            },
            Kind::Min | Kind::Max => self.choose(value),
            Kind::And | Kind::Or | Kind::BitAnd | Kind::BitOr | Kind::BitXor => self.combine(value)?,
            Kind::Spread { .. } => self.add_square(numeric(value))?,
            Kind::AvgFloat | Kind::SpreadFloat { .. } => self.add_float(float(value))?,
            Kind::StringAgg | Kind::BytesAgg => self.add_bytes(args),
            Kind::ArrayAgg => self.add_array(call, value)?,
            Kind::JsonAgg => self.add_json(call, value),
            Kind::JsonbAgg => {
                let json = to_jsonb(value, arg_type(call, 0), call.env)?;
                match &mut self.state {
                    Accumulated::Elements(elements) => elements.push(json),
                    state => *state = Accumulated::Elements(vec![json]),
                }
            }
            Kind::JsonObjectAgg => self.add_member(call, args)?,
            Kind::JsonbObjectAgg => {
                let key = key(call, args)?;
                let json = to_jsonb(&args[1], arg_type(call, 1), call.env)?;
                match &mut self.state {
                    Accumulated::Members(members) => members.push((key, json)),
                    state => *state = Accumulated::Members(vec![(key, json)]),
                }
            }
        }
        Ok(())
    }

    fn add_pair(&mut self, args: &[Value]) -> Result<()> {
        if !matches!(self.state, Accumulated::Pairs(_)) {
            self.state = Accumulated::Pairs(Box::default());
        }
        if let (Accumulated::Pairs(sums), [y, x, ..]) = (&mut self.state, args) {
            sums.add(float(y), float(x)).ok_or_else(overflow)?;
        }
        Ok(())
    }

    fn add_int(&mut self, value: &Value) {
        let v = i128::from(value.as_i64().unwrap_or(0));
        // 2^63 rows of int8 fit
        match &mut self.state {
            Accumulated::Int(sum) => *sum += v,
            state => *state = Accumulated::Int(v),
        }
    }

    fn add_numeric(&mut self, value: &Value) -> Result<()> {
        if let Value::Numeric(v) = value
            && let Some(short) = v.short()
            && self.state.add_short(short)
        {
            return Ok(());
        }
        self.state.lengthen();
        match (&mut self.state, value) {
            (Accumulated::Numeric(sum), Value::Numeric(v)) => *sum = sum.add(v)?,
            (state, _) => *state = Accumulated::Numeric(numeric(value)),
        }
        Ok(())
    }

    fn add_to_float_sum(&mut self, v: f64) -> Result<()> {
        match &mut self.state {
            Accumulated::Float(sum) => {
                let before = *sum;
                *sum += v;
                if self.kind == Kind::SumFloat4 {
                    *sum = f64::from(*sum as f32);
                }
                if sum.is_infinite() && before.is_finite() && v.is_finite() {
                    return Err(overflow());
                }
            }
            state => *state = Accumulated::Float(v),
        }
        Ok(())
    }

    fn add_square(&mut self, v: Numeric) -> Result<()> {
        let square = v.mul_exact(&v)?;
        match &mut self.state {
            Accumulated::Squares(sums) => **sums = (sums.0.add(&v)?, sums.1.add(&square)?),
            state => *state = Accumulated::Squares(Box::new((v, square))),
        }
        Ok(())
    }

    /// Takes in what has accumulated of rows that come behind those of this one, of an aggregate that
    /// [merges](super::Aggregate::merges).
    ///
    /// # Errors
    ///
    /// 22003 if a sum overflows.
    pub fn merge(&mut self, behind: &Self) -> Result<()> {
        self.count += behind.count;
        self.state.lengthen();
        let mut longer = None;
        if let Accumulated::Short(..) = behind.state {
            longer.insert(behind.state.clone()).lengthen();
        }
        match (&mut self.state, longer.as_ref().unwrap_or(&behind.state)) {
            (_, Accumulated::Empty) => {}
            (state @ Accumulated::Empty, other) => *state = other.clone(),
            (Accumulated::Int(sum), Accumulated::Int(v)) => *sum += v,
            (Accumulated::Numeric(sum), Accumulated::Numeric(v)) => *sum = sum.add(v)?,
            (Accumulated::Interval(sum), Accumulated::Interval(v)) => *sum = sum.plus(*v)?,
            (Accumulated::Squares(sums), Accumulated::Squares(more)) => {
                **sums = (sums.0.add(&more.0)?, sums.1.add(&more.1)?);
            }
            (Accumulated::Value(_), Accumulated::Value(value)) => match self.kind {
                Kind::Min | Kind::Max => self.choose(value),
                _ => self.combine(value)?,
            },
            _ => return Err(SqlError::internal("an aggregate whose parts do not merge")),
        }
        Ok(())
    }

    /// The least or greatest value. Of equal ones the last stays.
    fn choose(&mut self, value: &Value) {
        match &mut self.state {
            Accumulated::Value(best) => {
                let better = if self.kind == Kind::Max { value >= best } else { value <= best };
                if better {
                    *best = value.clone();
                }
            }
            state => *state = Accumulated::Value(value.clone()),
        }
    }

    fn combine(&mut self, value: &Value) -> Result<()> {
        let Accumulated::Value(before) = &mut self.state else {
            self.state = Accumulated::Value(value.clone());
            return Ok(());
        };
        let kind = self.kind;
        let bits = |a: i64, b: i64| match kind {
            Kind::BitAnd => a & b,
            Kind::BitOr => a | b,
            _ => a ^ b,
        };
        *before = match (&*before, value) {
            (Value::Bool(a), Value::Bool(b)) => {
                Value::Bool(if kind == Kind::And { *a && *b } else { *a || *b })
            }
            (Value::Int2(a), Value::Int2(b)) => Value::Int2(bits((*a).into(), (*b).into()) as i16),
            (Value::Int4(a), Value::Int4(b)) => Value::Int4(bits((*a).into(), (*b).into()) as i32),
            (Value::Int8(a), Value::Int8(b)) => Value::Int8(bits(*a, *b)),
            (Value::Bits(a), Value::Bits(b)) => match kind {
                Kind::BitAnd => a.combined(b, "AND", |a, b| a & b)?,
                Kind::BitOr => a.combined(b, "OR", |a, b| a | b)?,
                _ => a.combined(b, "XOR", |a, b| a ^ b)?,
            }
            .into(),
            (other, _) => other.clone(),
        };
        Ok(())
    }

    fn add_float(&mut self, v: f64) -> Result<()> {
        let Accumulated::Distances(sum, squares) = &mut self.state else {
            self.state = Accumulated::Distances(v, if v.is_finite() { 0.0 } else { f64::NAN });
            return Ok(());
        };
        let before = (*sum, *squares);
        let n = self.count as f64;
        *sum += v;
        let distance = v * n - *sum;
        *squares += distance * distance / (n * (n - 1.0));
        if sum.is_infinite() || squares.is_infinite() {
            if before.0.is_finite() && v.is_finite() {
                return Err(overflow());
            }
            *squares = f64::NAN;
        }
        Ok(())
    }

    /// A text and the separator before it, which the first has not.
    fn add_bytes(&mut self, args: &[Value]) {
        let bytes = |value: &Value, out: &mut Vec<u8>| match value {
            Value::Text(v) => out.extend_from_slice(v.as_bytes()),
            Value::Bytea(v) => out.extend_from_slice(v),
            _ => {}
        };
        if let Accumulated::Bytes(out) = &mut self.state {
            if let Some(separator) = args.get(1) {
                bytes(separator, out);
            }
            bytes(&args[0], out);
        } else {
            let mut out = Vec::new();
            bytes(&args[0], &mut out);
            self.state = Accumulated::Bytes(out);
        }
    }

    fn add_array(&mut self, call: &Call<'_>, value: &Value) -> Result<()> {
        if arg_type(call, 0).array {
            match value {
                Value::Null => {
                    let what = "cannot accumulate null arrays";
                    return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
                }
                Value::Array(array) if array.values().is_empty() => {
                    let what = "cannot accumulate empty arrays";
                    return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, what));
                }
                _ => {}
            }
        }
        match &mut self.state {
            Accumulated::Values(values) => values.push(value.clone()),
            state => *state = Accumulated::Values(vec![value.clone()]),
        }
        Ok(())
    }

    fn add_json(&mut self, call: &Call<'_>, value: &Value) {
        let ty = arg_type(call, 0);
        if !matches!(self.state, Accumulated::Bytes(_)) {
            self.state = Accumulated::Bytes(vec![b'[']);
        }
        let Accumulated::Bytes(out) = &mut self.state else { return };
        if out.len() > 1 {
            out.extend_from_slice(b", ");
            if (ty.array || ty == Type::RECORD) && !value.is_null() {
                out.extend_from_slice(b"\n ");
            }
        }
        match value {
            // the JSON of a row of a table comes as such
            Value::Text(row) if ty == Type::RECORD => out.extend_from_slice(row.as_bytes()),
            _ => to_json(value, ty, call.env, out),
        }
    }

    fn add_member(&mut self, call: &Call<'_>, args: &[Value]) -> Result<()> {
        let key = key(call, args)?;
        if !matches!(self.state, Accumulated::Bytes(_)) {
            self.state = Accumulated::Bytes(b"{ ".to_vec());
        }
        let Accumulated::Bytes(out) = &mut self.state else { return Ok(()) };
        if out.len() > 2 {
            out.extend_from_slice(b", ");
        }
        write_string(&key, out);
        out.extend_from_slice(b" : ");
        to_json(&args[1], arg_type(call, 1), call.env, out);
        Ok(())
    }

    /// The result of what was added.
    ///
    /// # Errors
    ///
    /// 22003 if the result overflows.
    pub fn finish(mut self, call: &Call<'_>) -> Result<Value> {
        self.state.lengthen();
        let n = self.count;
        Ok(match (self.kind, self.state) {
            (Kind::CountRows | Kind::Count | Kind::CountPairs, _) => Value::Int8(n),
            (Kind::Pairs(asked), Accumulated::Pairs(sums)) => {
                sums.result(asked).map_or(Value::Null, Value::Float8)
            }
            (_, Accumulated::Empty) => Value::Null,
            (Kind::SumSmall, Accumulated::Int(sum)) => {
                Value::Int8(i64::try_from(sum).map_err(|_| SqlError::out_of_range("bigint out of range"))?)
            }
            (Kind::SumMoney, Accumulated::Int(sum)) => {
                Value::Money(i64::try_from(sum).map_err(|_| crate::money::out_of_range())?)
            }
            (Kind::SumInt, Accumulated::Int(sum)) => Value::Numeric(sum.into()),
            (Kind::AvgInt, Accumulated::Int(sum)) => Value::Numeric(Numeric::from(sum).div(&n.into())?),
            (Kind::AvgNumeric, Accumulated::Numeric(sum)) => Value::Numeric(sum.div(&n.into())?),
            (_, Accumulated::Numeric(sum)) => Value::Numeric(sum),
            (Kind::SumFloat4, Accumulated::Float(sum)) => Value::Float4(sum as f32),
            (_, Accumulated::Float(sum)) => Value::Float8(sum),
            (Kind::AvgInterval, Accumulated::Interval(sum)) => Value::Interval(sum.divided_by(n as f64)?),
            (_, Accumulated::Interval(sum)) => Value::Interval(sum),
            (_, Accumulated::Value(value)) => value,
            (Kind::Spread { sample, root }, Accumulated::Squares(sums)) => {
                spread(n, &sums.0, &sums.1, sample, root)?
            }
            (Kind::AvgFloat, Accumulated::Distances(sum, _)) => Value::Float8(sum / n as f64),
            (Kind::SpreadFloat { sample, root }, Accumulated::Distances(_, squares)) => {
                let below = if sample { n - 1 } else { n };
                if below == 0 {
                    return Ok(Value::Null);
                }
                let variance = squares / below as f64;
                Value::Float8(if root { variance.sqrt() } else { variance })
            }
            (Kind::BytesAgg, Accumulated::Bytes(out)) => Value::bytea(out),
            (kind, Accumulated::Bytes(mut out)) => {
                match kind {
                    Kind::JsonAgg => out.push(b']'),
                    Kind::JsonObjectAgg => out.extend_from_slice(b" }"),
                    _ => {}
                }
                Value::Text(Text::new(String::from_utf8_lossy(&out)))
            }
            (_, Accumulated::Values(values)) => {
                let element = call.result.element().unwrap_or(Type::TEXT);
                let nested = arg_type(call, 0).array;
                let array =
                    if nested { Array::nested(element, &values)? } else { Array::new(element, values) };
                Value::Array(Arc::new(array))
            }
            (_, Accumulated::Elements(elements)) => Value::jsonb(Json::Array(elements)),
            (_, Accumulated::Members(members)) => Value::jsonb(Json::object(members)),
            (
                _,
                Accumulated::Int(_)
                | Accumulated::Short(..)
                | Accumulated::Squares(..)
                | Accumulated::Pairs(_)
                | Accumulated::Distances(..),
            ) => Value::Null,
        })
    }
}

fn arg_type(call: &Call<'_>, at: usize) -> Type {
    call.args.get(at).copied().unwrap_or(Type::TEXT)
}

fn key(call: &Call<'_>, args: &[Value]) -> Result<Text> {
    if args[0].is_null() {
        return Err(SqlError::invalid_parameter("field name must not be null"));
    }
    key_text(&args[0], arg_type(call, 0), call.env)
}

/// `(n * squares - sum^2) / (n * (n - 1))`, or by `n^2`, and its root.
fn spread(n: i64, sum: &Numeric, squares: &Numeric, sample: bool, root: bool) -> Result<Value> {
    if sample && n < 2 {
        return Ok(Value::Null);
    }
    if !sum.is_finite() || !squares.is_finite() {
        return Ok(Value::Numeric(Numeric::NaN));
    }
    let count = Numeric::from(n);
    let above = count.mul_exact(squares)?.sub(&sum.mul_exact(sum)?)?;
    if above.signum() != Some(1) {
        return Ok(Value::Numeric(Numeric::ZERO));
    }
    let below = count.mul(&Numeric::from(if sample { n - 1 } else { n }))?;
    let variance = above.div(&below)?;
    let scale = variance.scale().unwrap_or(0);
    Ok(Value::Numeric(if root { variance.sqrt_at(scale)? } else { variance }))
}
