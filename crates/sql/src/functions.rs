//! Functions as plans hold them: those of values, of the session, aggregates, and those that return sets.

use scaledb_types::array::MAX_DIMENSIONS;
use scaledb_types::func::{Call, Fast, Interrupt, Resolved, Volatility};
use scaledb_types::ordered_set::OrderedSet;
use scaledb_types::{Array, Base, Cast, Dimension, Env, Function, Interval, Result, SqlError, Type, Value};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A function of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScalarFn(Arc<Scalar>);

#[derive(Debug)]
enum Scalar {
    Function {
        function: &'static Function,
        args: Vec<Type>,
        result: Type,
    },
    Cast(Cast),
    /// To a type that may not hold the value: NULL then.
    Narrow(Type),
    /// An element of an array.
    Subscript,
    /// A part of an array.
    Slice(u16),
    /// A row of values.
    Row(Box<Row>),
}

/// How a row is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    Record,
    Json,
    Jsonb,
}

#[derive(Debug, PartialEq)]
struct Row {
    form: RowForm,
    names: Vec<String>,
    types: Vec<Type>,
    /// The row is not there if this field is NULL.
    key: Option<usize>,
}

impl Row {
    fn value(&self, env: &Env, fields: &[Value]) -> Result<Value> {
        if self.key.is_some_and(|key| fields[key].is_null()) {
            return Ok(Value::Null);
        }
        match self.form {
            RowForm::Record => Ok(scaledb_types::to_record(env, &self.types, fields)),
            RowForm::Json => Ok(scaledb_types::row_to_json(env, &self.names, &self.types, fields)),
            RowForm::Jsonb => scaledb_types::row_to_jsonb(env, &self.names, &self.types, fields),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { function: f, args: a, .. }, Self::Function { function: g, args: b, .. }) => {
                std::ptr::eq(*f, *g) && a == b
            }
            (Self::Cast(a), Self::Cast(b)) => a == b,
            (Self::Narrow(a), Self::Narrow(b)) => a == b,
            (Self::Subscript, Self::Subscript) => true,
            (Self::Slice(a), Self::Slice(b)) => a == b,
            (Self::Row(a), Self::Row(b)) => a == b,
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
    pub(crate) fn new(resolved: Resolved) -> Self {
        let Resolved { function, args, result } = resolved;
        Self(Arc::new(Scalar::Function { function, args, result }))
    }

    pub(crate) fn cast(cast: Cast) -> Self {
        Self(Arc::new(Scalar::Cast(cast)))
    }

    pub(crate) fn narrow(ty: Type) -> Self {
        Self(Arc::new(Scalar::Narrow(ty)))
    }

    pub(crate) fn subscript() -> Self {
        Self(Arc::new(Scalar::Subscript))
    }

    /// A slice; each bit of `given` is a bound that is there.
    pub(crate) fn slice(given: u16) -> Self {
        Self(Arc::new(Scalar::Slice(given)))
    }

    /// A row of values; it is NULL where the field `key` is.
    pub(crate) fn row(form: RowForm, names: Vec<String>, types: Vec<Type>, key: Option<usize>) -> Self {
        Self(Arc::new(Scalar::Row(Box::new(Row { form, names, types, key }))))
    }

    /// Whether it makes a row, and not its JSON.
    pub(crate) fn makes_row(&self) -> bool {
        matches!(&*self.0, Scalar::Row(row) if row.form == RowForm::Record)
    }

    /// The name for EXPLAIN.
    pub(crate) fn shown(&self, args: &[String]) -> String {
        match &*self.0 {
            Scalar::Function { function, .. } if function.is_operator() => match args {
                [one] => format!("({} {one})", function.name),
                _ => format!("({})", args.join(&format!(" {} ", function.name))),
            },
            Scalar::Function { function, .. } => format!("{}({})", function.name, args.join(", ")),
            Scalar::Cast(cast) => format!("({})::{}", args.join(", "), cast.to),
            Scalar::Narrow(_) => args.join(", "),
            Scalar::Subscript => format!("{}[{}]", args[0], args[1..].join("][")),
            Scalar::Slice(_) => {
                let bounds: Vec<String> = args[1..].chunks(2).map(|bounds| bounds.join(":")).collect();
                format!("{}[{}]", args[0], bounds.join("]["))
            }
            Scalar::Row(row) => match row.form {
                RowForm::Record => format!("ROW({})", args.join(", ")),
                RowForm::Json => format!("row_to_json(ROW({}))", args.join(", ")),
                RowForm::Jsonb => format!("to_jsonb(ROW({}))", args.join(", ")),
            },
        }
    }

    /// Whether it is written between its arguments.
    pub(crate) fn is_operator(&self) -> bool {
        matches!(&*self.0, Scalar::Function { function, .. } if function.is_operator())
    }

    /// Calls it.
    ///
    /// # Errors
    /// What it refuses.
    #[inline]
    pub(crate) fn call(&self, env: &Env, args: &[Value]) -> Result<Value> {
        self.call_within(env, args, Interrupt::never())
    }

    /// Calls it, and lets it ask whether it is still wanted.
    ///
    /// # Errors
    /// What it refuses, and the error of the interrupt.
    #[inline]
    pub(crate) fn call_within(&self, env: &Env, args: &[Value], interrupt: Interrupt<'_>) -> Result<Value> {
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
            Scalar::Cast(cast) => cast.apply(&args[0], env),
            Scalar::Narrow(ty) => Ok(narrow(&args[0], *ty)),
            Scalar::Subscript => Ok(subscript(args)),
            Scalar::Slice(given) => slice(args, *given),
            Scalar::Row(row) => row.value(env, args),
        }
    }

    pub(crate) fn is_immutable(&self) -> bool {
        match &*self.0 {
            Scalar::Function { function, .. } => function.volatility == Volatility::Immutable,
            Scalar::Cast(cast) => !depends_on_session(cast.from) && !depends_on_session(cast.to),
            Scalar::Row(_) => false,
            _ => true,
        }
    }

    /// Whether it depends on the session's settings.
    pub(crate) fn is_stable(&self) -> bool {
        !self.is_immutable()
    }

    pub(crate) fn is_volatile(&self) -> bool {
        matches!(&*self.0, Scalar::Function { function, .. } if function.volatility == Volatility::Volatile)
    }

    /// Whether it is a cast of an integer to a wider one.
    pub(crate) fn is_widening(&self) -> bool {
        let Scalar::Cast(cast) = &*self.0 else { return false };
        matches!((width(cast.from), width(cast.to)), (Some(from), Some(to)) if from < to)
    }
}

fn depends_on_session(ty: Type) -> bool {
    matches!(
        ty.base,
        Base::Date
            | Base::Time
            | Base::Timestamp
            | Base::Timestamptz
            | Base::Interval
            | Base::Float4
            | Base::Float8
            | Base::Bytea
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

/// `array[i]`, `array[i][j]`.
fn subscript(args: &[Value]) -> Value {
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

/// A function of the session or the catalog.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionFn {
    pub(crate) name: &'static str,
    result: Type,
    /// For casts between names and oids: from and to.
    pub(crate) cast: Option<(Type, Type)>,
}

/// Name, parameters (unknown: anything), result.
type Signature = (&'static str, &'static [Type], Type);

const ANY: Type = Type::UNKNOWN;

#[rustfmt::skip]
const SESSION: &[Signature] = &[
    ("nextval", &[Type::REGCLASS], Type::INT8),
    ("currval", &[Type::REGCLASS], Type::INT8),
    ("lastval", &[], Type::INT8),
    ("setval", &[Type::REGCLASS, Type::INT8], Type::INT8),
    ("setval", &[Type::REGCLASS, Type::INT8, Type::BOOL], Type::INT8),
    ("pg_get_serial_sequence", &[Type::TEXT, Type::TEXT], Type::TEXT),
    ("version", &[], Type::TEXT),
    ("current_database", &[], Type::NAME),
    ("current_catalog", &[], Type::NAME),
    ("current_schema", &[], Type::NAME),
    ("current_schemas", &[Type::BOOL], Type::array_of(Base::Name)),
    ("current_user", &[], Type::NAME),
    ("session_user", &[], Type::NAME),
    ("user", &[], Type::NAME),
    ("current_role", &[], Type::NAME),
    ("current_setting", &[Type::TEXT], Type::TEXT),
    ("current_setting", &[Type::TEXT, Type::BOOL], Type::TEXT),
    ("set_config", &[Type::TEXT, Type::TEXT, Type::BOOL], Type::TEXT),
    ("pg_backend_pid", &[], Type::INT4),
    ("pg_sleep", &[Type::FLOAT8], Type::VOID),
    ("pg_cancel_backend", &[Type::INT4], Type::BOOL),
    ("pg_terminate_backend", &[Type::INT4], Type::BOOL),
    ("pg_reload_conf", &[], Type::BOOL),
    ("scaledb_stat_statements_reset", &[], Type::VOID),
    ("pg_is_in_recovery", &[], Type::BOOL),
    ("pg_postmaster_start_time", &[], Type::TIMESTAMPTZ),
    ("txid_current", &[], Type::INT8),
    ("inet_server_addr", &[], Type::TEXT),
    ("inet_server_port", &[], Type::INT4),
    ("inet_client_addr", &[], Type::TEXT),
    ("pg_advisory_lock", &[Type::INT8], Type::VOID),
    ("pg_advisory_lock", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_lock_shared", &[Type::INT8], Type::VOID),
    ("pg_advisory_lock_shared", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_xact_lock", &[Type::INT8], Type::VOID),
    ("pg_advisory_xact_lock", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_xact_lock_shared", &[Type::INT8], Type::VOID),
    ("pg_advisory_xact_lock_shared", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_try_advisory_lock", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_lock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_lock_shared", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_lock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_xact_lock", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_xact_lock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_xact_lock_shared", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_xact_lock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock", &[Type::INT8], Type::BOOL),
    ("pg_advisory_unlock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock_shared", &[Type::INT8], Type::BOOL),
    ("pg_advisory_unlock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock_all", &[], Type::VOID),
    ("pg_my_temp_schema", &[], Type::OID),
    ("pg_is_other_temp_schema", &[Type::OID], Type::BOOL),
    ("pg_table_is_visible", &[Type::OID], Type::BOOL),
    ("pg_type_is_visible", &[Type::OID], Type::BOOL),
    ("pg_function_is_visible", &[Type::OID], Type::BOOL),
    ("pg_get_userbyid", &[Type::OID], Type::NAME),
    ("pg_get_expr", &[Type::TEXT, Type::OID], Type::TEXT),
    ("pg_get_expr", &[Type::TEXT, Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_indexdef", &[Type::OID], Type::TEXT),
    ("pg_get_indexdef", &[Type::OID, Type::INT4, Type::BOOL], Type::TEXT),
    ("pg_get_constraintdef", &[Type::OID], Type::TEXT),
    ("pg_get_constraintdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_viewdef", &[Type::OID], Type::TEXT),
    ("pg_get_viewdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_statisticsobjdef_columns", &[Type::OID], Type::TEXT),
    ("pg_get_triggerdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_function_result", &[Type::OID], Type::TEXT),
    ("pg_get_function_arguments", &[Type::OID], Type::TEXT),
    ("pg_relation_is_publishable", &[Type::REGCLASS], Type::BOOL),
    ("pg_partition_ancestors", &[Type::REGCLASS], Type::REGCLASS),
    ("pg_relation_size", &[Type::REGCLASS], Type::INT8),
    ("pg_relation_size", &[Type::REGCLASS, Type::TEXT], Type::INT8),
    ("pg_total_relation_size", &[Type::REGCLASS], Type::INT8),
    ("pg_table_size", &[Type::REGCLASS], Type::INT8),
    ("pg_indexes_size", &[Type::REGCLASS], Type::INT8),
    ("getdatabaseencoding", &[], Type::NAME),
    ("pg_tablespace_location", &[Type::OID], Type::TEXT),
    ("pg_collation_is_visible", &[Type::OID], Type::BOOL),
    ("pg_database_size", &[ANY], Type::INT8),
    ("pg_encoding_to_char", &[Type::INT4], Type::NAME),
    ("pg_char_to_encoding", &[Type::TEXT], Type::INT4),
    ("obj_description", &[Type::OID], Type::TEXT),
    ("obj_description", &[Type::OID, Type::TEXT], Type::TEXT),
    ("col_description", &[Type::OID, Type::INT4], Type::TEXT),
    ("shobj_description", &[Type::OID, Type::TEXT], Type::TEXT),
    ("to_regclass", &[Type::TEXT], Type::REGCLASS),
    ("to_regtype", &[Type::TEXT], Type::REGTYPE),
    ("to_regnamespace", &[Type::TEXT], Type::REGNAMESPACE),
    ("has_table_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_table_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_schema_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_schema_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_database_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_database_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_column_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_sequence_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("pg_has_role", &[ANY, Type::TEXT], Type::BOOL),
    ("pg_has_role", &[ANY, ANY, Type::TEXT], Type::BOOL),
];

impl SessionFn {
    /// The function of a name and number of arguments, and its parameters.
    pub(crate) fn find(name: &str, args: usize) -> Option<(Self, &'static [Type])> {
        let (name, params, result) = SESSION.iter().find(|s| s.0 == name && s.1.len() == args)?;
        Some((Self { name, result: *result, cast: None }, params))
    }

    /// A cast between names and oids.
    pub(crate) fn reg_cast(from: Type, to: Type) -> Self {
        Self { name: "cast", result: to, cast: Some((from, to)) }
    }

    /// The name of what an oid means, for a result.
    pub(crate) fn name_of(ty: Type) -> Self {
        Self { name: "cast", result: ty, cast: Some((ty, Type::TEXT)) }
    }

    /// Whether it is such a name.
    pub(crate) fn is_name(&self) -> bool {
        self.cast.is_some_and(|(from, to)| from == self.result && to == Type::TEXT)
    }

    pub(crate) fn result(&self) -> Type {
        self.result
    }

    /// None reads by the worker of the statement.
    pub(crate) fn needs_worker(&self) -> bool {
        false
    }

    /// Whether it answers the same within a statement.
    pub(crate) fn is_stable(&self) -> bool {
        !matches!(
            self.name,
            "nextval"
                | "setval"
                | "set_config"
                | "currval"
                | "lastval"
                | "pg_sleep"
                | "pg_cancel_backend"
                | "pg_terminate_backend"
                | "pg_reload_conf"
                | "scaledb_stat_statements_reset"
        )
    }
}

/// A function that returns rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetFn {
    /// From, to, by: the sum, and the type.
    Series(ScalarFn, Type),
    Unnest,
    Subscripts,
    /// The elements of an array, and their numbers from 1.
    Expand,
    Keywords,
    /// One row with the value.
    One,
}

/// Whether a name is that of a function that returns a set.
pub(crate) fn returns_set(name: &str) -> bool {
    ["unnest", "generate_series", "generate_subscripts", "_pg_expandarray", "pg_get_keywords"].contains(&name)
}

impl SetFn {
    /// Hands the rows of a call to `next` until that breaks.
    ///
    /// # Errors
    /// 22023, and those of `next`.
    pub(crate) fn rows(
        &self,
        env: &Env,
        args: &[Value],
        next: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let done = Ok(ControlFlow::Continue(()));
        match self {
            Self::One => return next(args.to_vec()),
            Self::Keywords => {}
            Self::Unnest => {
                let mut arrays: Vec<&[Value]> = Vec::with_capacity(args.len());
                for arg in args {
                    arrays.push(if let Value::Array(array) = arg { array.values() } else { &[] });
                }
                let length = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
                for at in 0..length {
                    let row = arrays.iter().map(|array| array.get(at).cloned().unwrap_or_default());
                    if next(row.collect())?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Expand => {
                let Value::Array(array) = &args[0] else { return done };
                for (at, value) in array.values().iter().enumerate() {
                    let number = Value::Int4(i32::try_from(at + 1).unwrap_or(i32::MAX));
                    if next(vec![value.clone(), number])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Subscripts => {
                let (Value::Array(array), Some(number)) = (&args[0], args[1].as_i64()) else { return done };
                let number = number.checked_sub(1).and_then(|number| usize::try_from(number).ok());
                let Some(dimension) = number.and_then(|n| array.dimensions().get(n)) else { return done };
                for at in dimension.lower..dimension.lower + dimension.len {
                    if next(vec![Value::Int4(at)])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Series(add, ty) => {
                if args.iter().any(Value::is_null) {
                    return done;
                }
                let one = match ty.base {
                    Base::Int4 => Value::Int4(1),
                    Base::Int8 => Value::Int8(1),
                    _ => Value::Numeric(1i64.into()),
                };
                let step = args.get(2).unwrap_or(&one);
                for (value, what) in args.iter().zip(["start value", "stop value", "step size"]) {
                    if let Value::Numeric(number) = value
                        && !number.is_finite()
                    {
                        let is = if number.is_nan() { "NaN" } else { "infinity" };
                        return Err(SqlError::invalid_parameter(format!("{what} cannot be {is}")));
                    }
                }
                let up = match sign_of(step) {
                    Ordering::Greater => true,
                    Ordering::Less => false,
                    Ordering::Equal => {
                        return Err(SqlError::invalid_parameter("step size cannot equal zero"));
                    }
                };
                let mut at = args[0].clone();
                while if up { at <= args[1] } else { at >= args[1] } {
                    let following = add.call(env, &[at.clone(), step.clone()]);
                    if next(vec![at])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    match following {
                        Ok(following) => at = following,
                        // a series of integers ends where the type does
                        Err(_) if matches!(ty.base, Base::Int4 | Base::Int8) => break,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        done
    }
}

/// On which side of zero a step is.
fn sign_of(step: &Value) -> Ordering {
    match step {
        Value::Int4(v) => v.cmp(&0),
        Value::Int8(v) => v.cmp(&0),
        Value::Numeric(v) => v.signum().unwrap_or(0).cmp(&0),
        Value::Interval(v) => v.cmp(&Interval::default()),
        _ => Ordering::Equal,
    }
}

/// An aggregate function, for arguments of certain types.
#[derive(Clone, Debug)]
pub(crate) struct AggregateFn {
    aggregate: &'static scaledb_types::Aggregate,
    args: Arc<[Type]>,
    result: Type,
}

impl PartialEq for AggregateFn {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.aggregate, other.aggregate) && self.args == other.args
    }
}

/// Whether a name is that of an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    scaledb_types::is_aggregate(name)
}

impl AggregateFn {
    /// The aggregate of a name, and the types of its arguments.
    ///
    /// # Errors
    /// 42883.
    pub(crate) fn resolve(name: &str, args: &[Type]) -> Result<(Self, Vec<Type>)> {
        let resolved = scaledb_types::resolve_aggregate(name, args)?;
        let function = Self {
            aggregate: resolved.aggregate,
            args: resolved.args.as_slice().into(),
            result: resolved.result,
        };
        Ok((function, resolved.args))
    }

    /// 42883: there is none of these parameters, WITHIN GROUP or without.
    #[cold]
    pub(crate) fn missing(name: &str, args: &[Type]) -> SqlError {
        scaledb_types::func::missing_function(name, args)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.aggregate.name()
    }

    pub(crate) fn result(&self) -> Type {
        self.result
    }

    /// Whether it is called with WITHIN GROUP.
    pub(crate) fn is_ordered_set(&self) -> bool {
        self.aggregate.is_ordered_set()
    }

    /// Whether what has accumulated of parts of the rows merges to what accumulates of all of them.
    pub(crate) fn merges(&self) -> bool {
        self.aggregate.merges()
    }

    /// An ordered-set aggregate of so many values.
    ///
    /// # Errors
    /// What it refuses of the direct arguments.
    pub(crate) fn start_ordered(&self, direct: &[Value], count: u64) -> Result<OrderedSet> {
        self.aggregate.start_ordered(direct, count)
    }

    /// An aggregate without rows.
    pub(crate) fn start(&self) -> Accumulator {
        Accumulator { function: self.clone(), inner: self.aggregate.start() }
    }
}

/// An aggregate at work.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    function: AggregateFn,
    inner: scaledb_types::Accumulator,
}

impl Accumulator {
    /// Adds a row; the memory that it took.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn add(&mut self, env: &Env, args: &[Value]) -> Result<usize> {
        let function = &self.function;
        if function.aggregate.ignores_nulls() && args.iter().take(1).any(Value::is_null) {
            return Ok(0);
        }
        self.inner.add(
            &Call { env, args: &function.args, result: function.result, interrupt: Interrupt::never() },
            args,
        )?;
        let keeps = function.aggregate.name().ends_with("_agg");
        Ok(if keeps { args.iter().map(crate::memory::weight).sum() } else { 0 })
    }

    /// Takes in what has accumulated of rows behind those of this one, of a function that merges.
    ///
    /// # Errors
    /// 22003.
    pub(crate) fn merge(&mut self, behind: &Self) -> Result<()> {
        self.inner.merge(&behind.inner)
    }

    /// The result.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn finish(self, env: &Env) -> Result<Value> {
        let function = &self.function;
        self.inner.finish(&Call {
            env,
            args: &function.args,
            result: function.result,
            interrupt: Interrupt::never(),
        })
    }
}
