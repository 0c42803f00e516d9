//! Functions of values, and what plans compute of values besides: casts, elements and parts of arrays, rows.

use super::assignment::Assignment;
use scaledb_types::array::MAX_DIMENSIONS;
use scaledb_types::func::{Call, Fast, Interrupt, Resolved, Volatility};
use scaledb_types::numeric::Exact;
use scaledb_types::{Array, Base, Cast, Dimension, Env, Fields, Function, Record, Result, Type, Value};
use std::sync::Arc;

/// A function of values.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarFn(Arc<Scalar>);

#[derive(Debug)]
enum Scalar {
    Function {
        function: &'static Function,
        args: Vec<Type>,
        result: Type,
    },
    /// A function of any number of arguments, the last of which are the elements of an array.
    Spread {
        function: &'static Function,
        args: Vec<Type>,
        element: Type,
        result: Type,
    },
    Cast(Cast),
    /// To a type that may not hold the value: NULL then.
    Narrow(Type),
    /// An element of an array.
    Subscript,
    /// A part of an array.
    Slice(u16),
    /// A value with another element.
    Assignment(Assignment),
    /// A row of values.
    Row(Box<Row>),
    /// A field of a record.
    Field(usize),
    /// Whether all fields of a record are NULL, or whether none is.
    AllNull(bool),
}

/// A function of integers.
#[derive(Clone, Copy, Debug)]
pub enum Integers {
    /// Of two int4.
    Int4(fn(i32, i32) -> Result<i32>),
    /// Of two int8.
    Int8(fn(i64, i64) -> Result<i64>),
    /// The cast from int4 to int8.
    Widened,
}

/// How a row is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    Record,
    Json,
    /// As `row_to_json(.., true)` has it.
    JsonLines,
    Jsonb,
}

#[derive(Debug, PartialEq)]
struct Row {
    form: RowForm,
    fields: Arc<Fields>,
    /// The row is not there if this field is NULL.
    key: Option<usize>,
}

impl Row {
    fn value(&self, env: &Env, values: &[Value]) -> Result<Value> {
        if self.key.is_some_and(|key| values[key].is_null()) {
            return Ok(Value::Null);
        }
        let Fields { names, types } = &*self.fields;
        match self.form {
            RowForm::Record => {
                let record = Record::new(Arc::clone(&self.fields), values)?;
                Ok(Value::Record(Arc::new(record)))
            }
            RowForm::Json | RowForm::JsonLines => {
                let lines = self.form == RowForm::JsonLines;
                Ok(scaledb_types::row_to_json(env, names, types, values, lines))
            }
            RowForm::Jsonb => scaledb_types::row_to_jsonb(env, names, types, values),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { function: f, args: a, .. }, Self::Function { function: g, args: b, .. }) => {
                std::ptr::eq(*f, *g) && a == b
            }
            (
                Self::Spread { function: f, args: a, element: s, .. },
                Self::Spread { function: g, args: b, element: t, .. },
            ) => std::ptr::eq(*f, *g) && a == b && s == t,
            (Self::Cast(a), Self::Cast(b)) => a == b,
            (Self::Narrow(a), Self::Narrow(b)) => a == b,
            (Self::Subscript, Self::Subscript) => true,
            (Self::Slice(a), Self::Slice(b)) => a == b,
            (Self::Assignment(a), Self::Assignment(b)) => a == b,
            (Self::Row(a), Self::Row(b)) => a == b,
            (Self::Field(a), Self::Field(b)) => a == b,
            (Self::AllNull(a), Self::AllNull(b)) => a == b,
            _ => false,
        }
    }
}

fn width(ty: Type) -> Option<u8> {
    match ty.base {
        _ if ty.array => None,
        Base::Int2 => Some(2),
        Base::Int4 => Some(4),
        Base::Int8 => Some(8),
        _ => None,
    }
}

impl ScalarFn {
    pub fn new(resolved: Resolved) -> Self {
        let Resolved { function, args, result } = resolved;
        Self(Arc::new(Scalar::Function { function, args, result }))
    }

    /// A function that takes an array for its last arguments; it was resolved with one element.
    pub fn spread(resolved: Resolved) -> Self {
        let Resolved { function, mut args, result } = resolved;
        let element = args.pop().unwrap_or(Type::TEXT);
        Self(Arc::new(Scalar::Spread { function, args, element, result }))
    }

    pub fn cast(cast: Cast) -> Self {
        Self(Arc::new(Scalar::Cast(cast)))
    }

    pub fn narrow(ty: Type) -> Self {
        Self(Arc::new(Scalar::Narrow(ty)))
    }

    pub fn subscript() -> Self {
        Self(Arc::new(Scalar::Subscript))
    }

    /// A slice; each bit of `given` is a bound that is there.
    pub fn slice(given: u16) -> Self {
        Self(Arc::new(Scalar::Slice(given)))
    }

    /// A value with another element: of the value, what the element is to be, and the subscripts.
    pub fn assignment(assignment: Assignment) -> Self {
        Self(Arc::new(Scalar::Assignment(assignment)))
    }

    /// A row of values; it is NULL where the field `key` is.
    pub fn row(form: RowForm, fields: Fields, key: Option<usize>) -> Self {
        Self(Arc::new(Scalar::Row(Box::new(Row { form, fields: Arc::new(fields), key }))))
    }

    /// The fields of the record that it makes.
    pub fn fields(&self) -> Option<&Arc<Fields>> {
        match &*self.0 {
            Scalar::Row(row) if row.form == RowForm::Record => Some(&row.fields),
            _ => None,
        }
    }

    /// A field of a record.
    pub fn field(number: usize) -> Self {
        Self(Arc::new(Scalar::Field(number)))
    }

    /// `record IS NULL`, whether all fields are, and `record IS NOT NULL`, whether none is.
    pub fn all_null(is_null: bool) -> Self {
        Self(Arc::new(Scalar::AllNull(is_null)))
    }

    /// The name for EXPLAIN.
    pub fn shown(&self, args: &[String]) -> String {
        match &*self.0 {
            Scalar::Function { function, .. } if function.is_operator() => match args {
                [one] => format!("({} {one})", function.name),
                _ => format!("({})", args.join(&format!(" {} ", function.name))),
            },
            Scalar::Function { function, .. } => format!("{}({})", function.name, args.join(", ")),
            Scalar::Spread { function, .. } => match args.split_last() {
                Some((last, [])) => format!("{}(VARIADIC {last})", function.name),
                Some((last, first)) => format!("{}({}, VARIADIC {last})", function.name, first.join(", ")),
                None => format!("{}()", function.name),
            },
            Scalar::Cast(cast) => format!("({})::{}", args.join(", "), cast.to),
            Scalar::Narrow(_) => args.join(", "),
            Scalar::Subscript => format!("{}[{}]", args[0], args[1..].join("][")),
            Scalar::Slice(_) => {
                let bounds: Vec<String> = args[1..].chunks(2).map(|bounds| bounds.join(":")).collect();
                format!("{}[{}]", args[0], bounds.join("]["))
            }
            // what is assigned is not shown
            Scalar::Assignment(_) => args.join(", "),
            Scalar::Row(row) => match row.form {
                RowForm::Record => format!("ROW({})", args.join(", ")),
                RowForm::Json => format!("row_to_json(ROW({}))", args.join(", ")),
                RowForm::JsonLines => format!("row_to_json(ROW({}), true)", args.join(", ")),
                RowForm::Jsonb => format!("to_jsonb(ROW({}))", args.join(", ")),
            },
            Scalar::Field(number) => format!("({}).f{}", args.join(", "), number + 1),
            Scalar::AllNull(true) => format!("({} IS NULL)", args.join(", ")),
            Scalar::AllNull(false) => format!("({} IS NOT NULL)", args.join(", ")),
        }
    }

    /// Whether it is written between its arguments.
    pub fn is_operator(&self) -> bool {
        matches!(&*self.0, Scalar::Function { function, .. } if function.is_operator())
    }

    /// Calls it.
    ///
    /// # Errors
    /// What it refuses.
    #[inline]
    pub fn call(&self, env: &Env, args: &[Value]) -> Result<Value> {
        self.call_within(env, args, Interrupt::never())
    }

    /// Calls it, and lets it ask whether it is still wanted.
    ///
    /// # Errors
    /// What it refuses, and the error of the interrupt.
    #[inline]
    pub fn call_within(&self, env: &Env, args: &[Value], interrupt: Interrupt<'_>) -> Result<Value> {
        match &*self.0 {
            Scalar::Function { function, args: types, result } => {
                match (function.fast, args) {
                    (Fast::Int4(code), [Value::Int4(a), Value::Int4(b)]) => {
                        return code(*a, *b).map(Value::Int4);
                    }
                    (Fast::Int8(code), [Value::Int8(a), Value::Int8(b)]) => {
                        return code(*a, *b).map(Value::Int8);
                    }
                    (Fast::Float8(code), [Value::Float8(a), Value::Float8(b)]) => {
                        return code(*a, *b).map(Value::Float8);
                    }
                    _ => {}
                }
                function.call(&Call { env, args: types, result: *result, interrupt }, args)
            }
            Scalar::Spread { function, args: types, element, result } => {
                let Some((last, first)) = args.split_last() else { return Ok(Value::Null) };
                let elements = match last {
                    Value::Array(array) => array.values(),
                    // the text is what it is without arguments
                    _ if function.name == "format" => &[],
                    _ => return Ok(Value::Null),
                };
                let values: Vec<Value> = first.iter().chain(elements).cloned().collect();
                let repeated = std::iter::repeat_n(element, elements.len());
                let types: Vec<Type> = types.iter().chain(repeated).copied().collect();
                function.call(&Call { env, args: &types, result: *result, interrupt }, &values)
            }
            Scalar::Cast(cast) => cast.apply(&args[0], env),
            Scalar::Narrow(ty) => Ok(narrow(&args[0], *ty)),
            Scalar::Subscript => Ok(subscript(args)),
            Scalar::Slice(given) => slice(args, *given),
            Scalar::Assignment(assignment) => assignment.value(args, interrupt),
            Scalar::Row(row) => row.value(env, args),
            Scalar::Field(number) => Ok(match &args[0] {
                Value::Record(record) => record.values().get(*number).cloned().unwrap_or_default(),
                _ => Value::Null,
            }),
            Scalar::AllNull(is_null) => Ok(Value::Bool(match &args[0] {
                Value::Record(record) => record.values().iter().all(|value| value.is_null() == *is_null),
                value => value.is_null() == *is_null,
            })),
        }
    }

    /// Whether it is a function that answers NULL where an argument is.
    pub fn is_strict(&self) -> bool {
        matches!(&*self.0, Scalar::Function { function, .. } if function.strict)
    }

    pub fn is_immutable(&self) -> bool {
        match &*self.0 {
            Scalar::Function { function, .. } | Scalar::Spread { function, .. } => {
                function.volatility == Volatility::Immutable
            }
            Scalar::Cast(cast) => !depends_on_session(cast.from) && !depends_on_session(cast.to),
            Scalar::Row(row) => row.form == RowForm::Record,
            _ => true,
        }
    }

    /// Whether its value is the same in all sessions, as far as PostgreSQL asks for that: how many digits a float has
    /// as text, and how a bytea is written, does not count.
    pub fn is_fixed(&self) -> bool {
        match &*self.0 {
            Scalar::Cast(cast) => !reads_settings(cast.from, cast.to),
            _ => self.is_immutable(),
        }
    }

    /// Whether it depends on the session's settings.
    pub fn is_stable(&self) -> bool {
        !self.is_immutable()
    }

    pub fn is_volatile(&self) -> bool {
        matches!(&*self.0, Scalar::Function { function, .. } if function.volatility == Volatility::Volatile)
    }

    /// Its name and the types of its arguments, if it is a function or an operator.
    pub fn signature(&self) -> Option<(&'static str, &[Type])> {
        match &*self.0 {
            Scalar::Function { function, args, .. } => Some((function.name, args)),
            _ => None,
        }
    }

    /// The exact operator of numerics that it is.
    #[inline]
    pub fn exact(&self) -> Option<Exact> {
        match &*self.0 {
            Scalar::Function { function: Function { fast: Fast::Numeric(exact), .. }, .. } => Some(*exact),
            _ => None,
        }
    }

    /// What it is of integers, if it is such a function.
    #[inline]
    pub fn integers(&self) -> Option<Integers> {
        match &*self.0 {
            Scalar::Function { function, .. } => match function.fast {
                Fast::Int4(code) => Some(Integers::Int4(code)),
                Fast::Int8(code) => Some(Integers::Int8(code)),
                _ => None,
            },
            Scalar::Cast(Cast { from: Type { base: Base::Int4, array: false, .. }, to, .. })
                if to.base == Base::Int8 && !to.array =>
            {
                Some(Integers::Widened)
            }
            _ => None,
        }
    }

    /// Whether it is a cast of an integer to a wider one.
    pub fn is_widening(&self) -> bool {
        let Scalar::Cast(cast) = &*self.0 else { return false };
        matches!((width(cast.from), width(cast.to)), (Some(from), Some(to)) if from < to)
    }
}

/// Whether a cast depends on the time zone, on how dates are written, or on how the labels of an enum type are.
fn reads_settings(from: Type, to: Type) -> bool {
    let texts = |ty: Type| ty.element().unwrap_or(ty).is_text();
    let written = |text: Type, value: Type| {
        let calendar = matches!(
            in_it(value),
            Base::Date | Base::Timestamp | Base::Timestamptz | Base::Interval | Base::Record
        );
        (texts(text) || text.base == Base::Unknown || text.array != value.array) && calendar
    };
    let labelled = |ty: Type| matches!(ty.base, Base::Enum(_));
    let zoned = |ty: Type| ty.base == Base::Timestamptz;
    zoned(from) != zoned(to)
        || labelled(from) != labelled(to)
        || written(from, to)
        || written(to, from)
        || from.is_text() && matches!(to.base, Base::Time | Base::Timetz)
        // the zone's distance from UTC is that of today
        || from.base == Base::Time && to.base == Base::Timetz
        || from.array != to.array
}

/// The type of the bounds of a range, or itself: a range is written as they are.
fn in_it(ty: Type) -> Base {
    match ty.base {
        Base::Range(range) => range.subtype().base,
        base => base,
    }
}

fn depends_on_session(ty: Type) -> bool {
    matches!(
        in_it(ty),
        Base::Date
            | Base::Time
            | Base::Timetz
            | Base::Timestamp
            | Base::Timestamptz
            | Base::Interval
            | Base::Float4
            | Base::Float8
            | Base::Bytea
            | Base::Record
    )
}

/// The value as one that a column can hold exactly, or NULL.
fn narrow(value: &Value, ty: Type) -> Value {
    let fits = |v: i64| match ty.base {
        Base::Int2 => i16::try_from(v).map(Value::Int2).unwrap_or_default(),
        Base::Int4 => i32::try_from(v).map(Value::Int4).unwrap_or_default(),
        _ => Value::Int8(v),
    };
    match value {
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => fits(value.as_i64().unwrap_or(0)),
        Value::Numeric(number) => match number.clone().to_typmod(ty) {
            Ok(rounded) if rounded == *number => Value::Numeric(rounded),
            _ => Value::Null,
        },
        other => other.clone(),
    }
}

/// The bytes of a name, zeros included.
const NAME_BYTES: usize = 64;

/// `array[i]`, `array[i][j]`; `name[i]` is a byte.
fn subscript(args: &[Value]) -> Value {
    if let (Value::Text(name), Some(number)) = (&args[0], args[1].as_i64()) {
        let number = usize::try_from(number).ok().filter(|number| *number < NAME_BYTES);
        let byte = number.map(|number| name.as_bytes().get(number).copied().unwrap_or(0));
        return byte.map_or(Value::Null, Value::Char);
    }
    let Value::Array(array) = &args[0] else { return Value::Null };
    let mut subscripts = [0; MAX_DIMENSIONS];
    for (subscript, arg) in subscripts.iter_mut().zip(&args[1..]) {
        let Some(number) = arg.as_i64().and_then(|number| i32::try_from(number).ok()) else {
            return Value::Null;
        };
        *subscript = number;
    }
    array.get(&subscripts[..args.len() - 1]).clone()
}

/// `array[1:2]`, `array[1:2][:3]`; bits of `given` say which bounds are there. The result counts from 1.
fn slice(args: &[Value], given: u16) -> Result<Value> {
    let Value::Array(array) = &args[0] else { return Ok(Value::Null) };
    let bounds = &args[1..];
    if bounds.iter().enumerate().any(|(at, bound)| given & 1 << at != 0 && bound.is_null()) {
        return Ok(Value::Null);
    }
    let dimensions = array.dimensions();
    let empty = || Ok(Value::Array(Arc::new(Array::new(array.element(), Vec::new()))));
    if bounds.len() / 2 > dimensions.len() {
        return empty();
    }
    // the first element of each dimension, from zero, and how many there are
    let mut parts = [(0usize, 0usize); MAX_DIMENSIONS];
    let mut out = Vec::with_capacity(dimensions.len());
    for (at, dimension) in dimensions.iter().enumerate() {
        let lowest = i64::from(dimension.lower);
        let highest = lowest + i64::from(dimension.len) - 1;
        let bound = |number: usize| bounds.get(number).and_then(Value::as_i64);
        let from = bound(at * 2).unwrap_or(lowest).max(lowest);
        let to = bound(at * 2 + 1).unwrap_or(highest).min(highest);
        if from > to {
            return empty();
        }
        parts[at] = ((from - lowest) as usize, (to - from + 1) as usize);
        out.push(Dimension { len: (to - from + 1) as i32, lower: 1 });
    }
    let mut values = Vec::with_capacity(out.iter().map(|dimension| dimension.len as usize).product());
    let mut offset = 0;
    cut(array.values(), dimensions, &parts, &mut offset, true, &mut values);
    Ok(Value::Array(Arc::new(Array::with_dimensions(array.element(), out, values)?)))
}

/// Copies what is within the parts; `at` is the element that a dimension begins with.
fn cut(
    values: &[Value],
    dimensions: &[Dimension],
    parts: &[(usize, usize)],
    at: &mut usize,
    within: bool,
    out: &mut Vec<Value>,
) {
    let Some((first, rest)) = dimensions.split_first() else {
        if within {
            out.push(values[*at].clone());
        }
        *at += 1;
        return;
    };
    let (from, count) = parts[0];
    for number in 0..first.len as usize {
        let inside = within && (from..from + count).contains(&number);
        cut(values, rest, &parts[1..], at, inside, out);
    }
}
