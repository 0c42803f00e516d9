//! Aggregates: accumulators with PostgreSQL's result types.
//!
//! DISTINCT, ORDER BY, WITHIN GROUP and FILTER are the executor's: it passes on what is to be counted, in that order.

mod pairs;

use crate::array::Array;
use crate::error::{Result, SqlError, SqlState};
use crate::func::{
    Call, Function, Resolved, aggregate_signature, choose_aggregate, key_text, to_json, to_jsonb,
};
use crate::interval::Interval;
use crate::json::{Json, write_string};
use crate::numeric::Numeric;
use crate::ordered_set::{self, OrderedSet};
use crate::ty::Type;
use crate::value::{Text, Value};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// What an aggregate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CountRows,
    Count,
    /// Integers whose sum is an int8.
    SumSmall,
    /// int8, whose sum is a numeric.
    SumInt,
    SumNumeric,
    SumFloat4,
    SumFloat8,
    SumInterval,
    AvgInt,
    AvgNumeric,
    AvgFloat,
    AvgInterval,
    Min,
    Max,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    /// Variance of numbers that become numeric: of a sample or of all, and whether its root is taken.
    Spread {
        sample: bool,
        root: bool,
    },
    /// The same for floats.
    SpreadFloat {
        sample: bool,
        root: bool,
    },
    /// How many pairs have no NULL.
    CountPairs,
    /// Of pairs of floats, `y` before `x`.
    Pairs(pairs::Asked),
    StringAgg,
    BytesAgg,
    ArrayAgg,
    JsonAgg,
    JsonbAgg,
    JsonObjectAgg,
    JsonbObjectAgg,
    /// Of values that come in order; its parameters are the direct arguments and the values.
    Ordered(ordered_set::Kind),
}

/// An aggregate function of certain parameters.
#[derive(Debug)]
pub struct Aggregate {
    signature: Function,
    kind: Kind,
}

impl Aggregate {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.signature.name
    }

    /// Whether rows whose arguments are NULL do not count, so that they need not be passed.
    pub fn ignores_nulls(&self) -> bool {
        !matches!(
            self.kind,
            Kind::CountRows
                | Kind::ArrayAgg
                | Kind::JsonAgg
                | Kind::JsonbAgg
                | Kind::JsonObjectAgg
                | Kind::JsonbObjectAgg
                | Kind::StringAgg
                | Kind::BytesAgg
        )
    }

    /// Whether what has accumulated of two parts of the rows, [merged](Accumulator::merge), is exactly what
    /// accumulates of all of them. Sums of floats depend on where one begins; what keeps its values gains nothing.
    pub fn merges(&self) -> bool {
        matches!(
            self.kind,
            Kind::CountRows
                | Kind::Count
                | Kind::SumSmall
                | Kind::SumInt
                | Kind::SumNumeric
                | Kind::SumInterval
                | Kind::AvgInt
                | Kind::AvgNumeric
                | Kind::AvgInterval
                | Kind::Min
                | Kind::Max
                | Kind::And
                | Kind::Or
                | Kind::BitAnd
                | Kind::BitOr
                | Kind::BitXor
                | Kind::Spread { .. }
        )
    }

    /// Whether it keeps its arguments until its result is asked for.
    #[inline]
    pub fn keeps_values(&self) -> bool {
        matches!(
            self.kind,
            Kind::StringAgg
                | Kind::BytesAgg
                | Kind::ArrayAgg
                | Kind::JsonAgg
                | Kind::JsonbAgg
                | Kind::JsonObjectAgg
                | Kind::JsonbObjectAgg
        )
    }

    /// Whether MIN or MAX: the first or last value of an index answers it. True for MAX.
    pub fn extreme(&self) -> Option<bool> {
        match self.kind {
            Kind::Min => Some(false),
            Kind::Max => Some(true),
            _ => None,
        }
    }

    /// Whether it has an ORDER BY of its own, WITHIN GROUP.
    pub fn is_ordered_set(&self) -> bool {
        matches!(self.kind, Kind::Ordered(_))
    }

    /// Begins an ordered-set aggregate of so many values.
    ///
    /// # Errors
    ///
    /// What it refuses of the direct arguments.
    pub fn start_ordered(&self, direct: &[Value], count: u64) -> Result<OrderedSet> {
        match self.kind {
            Kind::Ordered(kind) => OrderedSet::new(kind, direct, count),
            _ => Err(SqlError::internal("an aggregate without WITHIN GROUP")),
        }
    }

    /// A new accumulator.
    pub fn start(&self) -> Accumulator {
        Accumulator { kind: self.kind, count: 0, state: Accumulated::Empty }
    }
}

/// An aggregate that was resolved.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// The type that each argument has to be cast to.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

static AGGREGATES: LazyLock<HashMap<&'static str, Vec<Aggregate>>> = LazyLock::new(|| {
    let mut found: HashMap<&'static str, Vec<Aggregate>> = HashMap::new();
    let mut add = |signature: &'static str, kind: Kind| {
        let Some(signature) = aggregate_signature(signature) else {
            unreachable!("the signature `{signature}` is one of ours, and a test reads them all")
        };
        found.entry(signature.name).or_default().push(Aggregate { signature, kind });
    };
    add("count() int8", Kind::CountRows);
    add("count(any) int8", Kind::Count);
    add("sum(int2) int8", Kind::SumSmall);
    add("sum(int4) int8", Kind::SumSmall);
    add("sum(int8) numeric", Kind::SumInt);
    add("sum(numeric) numeric", Kind::SumNumeric);
    add("sum(float4) float4", Kind::SumFloat4);
    add("sum(float8) float8", Kind::SumFloat8);
    add("sum(interval) interval", Kind::SumInterval);
    add("avg(int2) numeric", Kind::AvgInt);
    add("avg(int4) numeric", Kind::AvgInt);
    add("avg(int8) numeric", Kind::AvgInt);
    add("avg(numeric) numeric", Kind::AvgNumeric);
    add("avg(float4) float8", Kind::AvgFloat);
    add("avg(float8) float8", Kind::AvgFloat);
    add("avg(interval) interval", Kind::AvgInterval);
    for (signature, kind) in [
        ("min(int2) int2", Kind::Min),
        ("max(int2) int2", Kind::Max),
        ("min(int4) int4", Kind::Min),
        ("max(int4) int4", Kind::Max),
        ("min(int8) int8", Kind::Min),
        ("max(int8) int8", Kind::Max),
        ("min(float4) float4", Kind::Min),
        ("max(float4) float4", Kind::Max),
        ("min(float8) float8", Kind::Min),
        ("max(float8) float8", Kind::Max),
        ("min(numeric) numeric", Kind::Min),
        ("max(numeric) numeric", Kind::Max),
        ("min(text) text", Kind::Min),
        ("max(text) text", Kind::Max),
        ("min(bpchar) bpchar", Kind::Min),
        ("max(bpchar) bpchar", Kind::Max),
        ("min(date) date", Kind::Min),
        ("max(date) date", Kind::Max),
        ("min(time) time", Kind::Min),
        ("max(time) time", Kind::Max),
        ("min(timestamp) timestamp", Kind::Min),
        ("max(timestamp) timestamp", Kind::Max),
        ("min(timestamptz) timestamptz", Kind::Min),
        ("max(timestamptz) timestamptz", Kind::Max),
        ("min(interval) interval", Kind::Min),
        ("max(interval) interval", Kind::Max),
        ("min(oid) oid", Kind::Min),
        ("max(oid) oid", Kind::Max),
        ("min(anyarray) anyarray", Kind::Min),
        ("max(anyarray) anyarray", Kind::Max),
        ("bool_and(bool) bool", Kind::And),
        ("every(bool) bool", Kind::And),
        ("bool_or(bool) bool", Kind::Or),
        ("bit_and(int2) int2", Kind::BitAnd),
        ("bit_and(int4) int4", Kind::BitAnd),
        ("bit_and(int8) int8", Kind::BitAnd),
        ("bit_or(int2) int2", Kind::BitOr),
        ("bit_or(int4) int4", Kind::BitOr),
        ("bit_or(int8) int8", Kind::BitOr),
        ("bit_xor(int2) int2", Kind::BitXor),
        ("bit_xor(int4) int4", Kind::BitXor),
        ("bit_xor(int8) int8", Kind::BitXor),
        ("string_agg(text,text) text", Kind::StringAgg),
        ("string_agg(bytea,bytea) bytea", Kind::BytesAgg),
        ("array_agg(anynonarray) anyarray", Kind::ArrayAgg),
        ("array_agg(anyarray) anyarray", Kind::ArrayAgg),
        ("json_agg(anyelement) json", Kind::JsonAgg),
        ("jsonb_agg(anyelement) jsonb", Kind::JsonbAgg),
        ("json_object_agg(any,any) json", Kind::JsonObjectAgg),
        ("jsonb_object_agg(any,any) jsonb", Kind::JsonbObjectAgg),
    ] {
        add(signature, kind);
    }
    for (signature, kind) in [
        ("percentile_cont(float8,float8) float8", ordered_set::Kind::Continuous),
        ("percentile_cont(float8,interval) interval", ordered_set::Kind::Continuous),
        ("percentile_cont(float8[],float8) float8[]", ordered_set::Kind::Continuous),
        ("percentile_cont(float8[],interval) interval[]", ordered_set::Kind::Continuous),
        ("percentile_disc(float8,anyelement) anyelement", ordered_set::Kind::Discrete),
        ("percentile_disc(float8[],anynonarray) anyarray", ordered_set::Kind::Discrete),
        ("mode(anyelement) anyelement", ordered_set::Kind::Mode),
    ] {
        add(signature, Kind::Ordered(kind));
    }
    add("regr_count(float8,float8) int8", Kind::CountPairs);
    for (signature, asked) in pairs::ALL {
        add(signature, Kind::Pairs(asked));
    }
    macro_rules! spread {
        ($($name:literal: $sample:literal, $root:literal;)*) => {
            $(let kind = Kind::Spread { sample: $sample, root: $root };
            add(concat!($name, "(int2) numeric"), kind);
            add(concat!($name, "(int4) numeric"), kind);
            add(concat!($name, "(int8) numeric"), kind);
            add(concat!($name, "(numeric) numeric"), kind);
            let kind = Kind::SpreadFloat { sample: $sample, root: $root };
            add(concat!($name, "(float4) float8"), kind);
            add(concat!($name, "(float8) float8"), kind);)*
        };
    }
    spread! {
        "variance": true, false;
        "var_samp": true, false;
        "var_pop": false, false;
        "stddev": true, true;
        "stddev_samp": true, true;
        "stddev_pop": false, true;
    }
    found
});

/// Whether there is an aggregate of a name.
pub fn is_aggregate(name: &str) -> bool {
    AGGREGATES.contains_key(name)
}

/// All aggregates' signatures: what `pg_proc` shows.
pub fn aggregate_signatures() -> impl Iterator<Item = &'static Function> {
    AGGREGATES.values().flatten().map(|aggregate| &aggregate.signature)
}

/// The aggregate of a name, for arguments of these types; `count(*)` has none.
///
/// # Errors
///
/// 42883 if there is none, 42725 if several fit equally well.
pub fn resolve_aggregate(name: &str, args: &[Type]) -> Result<ResolvedAggregate> {
    let all: &'static [Aggregate] = AGGREGATES.get(name).map_or(&[], Vec::as_slice);
    let Resolved { function, args, result } =
        choose_aggregate(name, all.iter().map(|aggregate| &aggregate.signature), args)?;
    let aggregate = all.iter().find(|aggregate| std::ptr::eq(&aggregate.signature, function));
    let aggregate = aggregate.ok_or_else(|| SqlError::internal("an aggregate without a signature"))?;
    // the least `char(n)` is a `char(n)`
    let result = match args.first() {
        Some(arg) if aggregate.extreme().is_some() && arg.same(result) => *arg,
        _ => result,
    };
    Ok(ResolvedAggregate { aggregate, args, result })
}

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
    /// Sum, and sum of squares.
    Squares(Numeric, Numeric),
    /// Sum, and sum of squared distances from the mean (Youngs and Cramer).
    Distances(f64, f64),
    Pairs(pairs::Sums),
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
    /// Takes a numeric whose mantissa fits a word, if the aggregate is a sum or an average of numerics and has met none
    /// but these; false if it is to be added as others are.
    #[inline]
    pub fn add_short(&mut self, short: (i64, u16)) -> bool {
        let taken = matches!(self.kind, Kind::SumNumeric | Kind::AvgNumeric) && self.state.add_short(short);
        self.count += i64::from(taken);
        taken
    }

    /// Takes the arguments of a row.
    ///
    /// # Errors
    ///
    /// 22003 if the sum overflows, and what conversions answer.
    pub fn add(&mut self, call: &Call<'_>, args: &[Value]) -> Result<()> {
        let Some(value) = args.first() else {
            self.count += 1;
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
            Kind::Pairs(_) => {
                if !matches!(self.state, Accumulated::Pairs(_)) {
                    self.state = Accumulated::Pairs(pairs::Sums::default());
                }
                if let (Accumulated::Pairs(sums), [y, x, ..]) = (&mut self.state, args) {
                    sums.add(float(y), float(x)).ok_or_else(overflow)?;
                }
            }
            Kind::SumSmall | Kind::SumInt | Kind::AvgInt => {
                let v = i128::from(value.as_i64().unwrap_or(0));
                // 2^63 rows of int8 fit
                match &mut self.state {
                    Accumulated::Int(sum) => *sum += v,
                    state => *state = Accumulated::Int(v),
                }
            }
            Kind::SumNumeric | Kind::AvgNumeric => {
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
            }
            Kind::SumFloat4 | Kind::SumFloat8 => {
                let v = float(value);
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
            }
            Kind::SumInterval | Kind::AvgInterval => match (&mut self.state, value) {
                (Accumulated::Interval(sum), Value::Interval(v)) => *sum = sum.plus(*v)?,
                (state, Value::Interval(v)) => *state = Accumulated::Interval(*v),
                _ => {}
            },
            Kind::Min | Kind::Max => self.choose(value),
            Kind::And | Kind::Or | Kind::BitAnd | Kind::BitOr | Kind::BitXor => self.combine(value),
            Kind::Spread { .. } => {
                let v = numeric(value);
                let square = v.mul(&v)?;
                self.state = match std::mem::replace(&mut self.state, Accumulated::Empty) {
                    Accumulated::Squares(sum, squares) => {
                        Accumulated::Squares(sum.add(&v)?, squares.add(&square)?)
                    }
                    _ => Accumulated::Squares(v, square),
                };
            }
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

    /// Takes in what has accumulated of rows that come behind those of this one, of an aggregate that
    /// [merges](Aggregate::merges).
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
            (Accumulated::Squares(sum, squares), Accumulated::Squares(v, square)) => {
                (*sum, *squares) = (sum.add(v)?, squares.add(square)?);
            }
            (Accumulated::Value(_), Accumulated::Value(value)) => match self.kind {
                Kind::Min | Kind::Max => self.choose(value),
                _ => self.combine(value),
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

    fn combine(&mut self, value: &Value) {
        let Accumulated::Value(before) = &mut self.state else {
            self.state = Accumulated::Value(value.clone());
            return;
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
            (other, _) => other.clone(),
        };
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
            // the JSON of a row comes as such
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
            (Kind::SumInt, Accumulated::Int(sum)) => Value::Numeric(sum.into()),
            (Kind::AvgInt, Accumulated::Int(sum)) => Value::Numeric(Numeric::from(sum).div(&n.into())?),
            (Kind::AvgNumeric, Accumulated::Numeric(sum)) => Value::Numeric(sum.div(&n.into())?),
            (_, Accumulated::Numeric(sum)) => Value::Numeric(sum),
            (Kind::SumFloat4, Accumulated::Float(sum)) => Value::Float4(sum as f32),
            (_, Accumulated::Float(sum)) => Value::Float8(sum),
            (Kind::AvgInterval, Accumulated::Interval(sum)) => Value::Interval(sum.divided_by(n as f64)?),
            (_, Accumulated::Interval(sum)) => Value::Interval(sum),
            (_, Accumulated::Value(value)) => value,
            (Kind::Spread { sample, root }, Accumulated::Squares(sum, squares)) => {
                spread(n, &sum, &squares, sample, root)?
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
    let above = count.mul(squares)?.sub(&sum.mul(sum)?)?;
    if above.signum() != Some(1) {
        return Ok(Value::Numeric(Numeric::ZERO));
    }
    let below = count.mul(&Numeric::from(if sample { n - 1 } else { n }))?;
    let variance = above.div(&below)?;
    let scale = variance.scale().unwrap_or(0);
    Ok(Value::Numeric(if root { variance.sqrt_at(scale)? } else { variance }))
}
