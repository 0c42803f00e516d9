//! Functions as plans hold them: those of values, of the session, aggregates, and those that return sets.

use crate::plan::expr::Expr;
use scaledb_types::func::{Call, Fast, Resolved, Volatility};
use scaledb_types::{Array, Base, Cast, Env, Function, Result, SqlError, Type, Value};
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
    Slice,
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { function: f, args: a, .. }, Self::Function { function: g, args: b, .. }) => {
                std::ptr::eq(*f, *g) && a == b
            }
            (Self::Cast(a), Self::Cast(b)) => a == b,
            (Self::Narrow(a), Self::Narrow(b)) => a == b,
            (Self::Subscript, Self::Subscript) | (Self::Slice, Self::Slice) => true,
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

    pub(crate) fn subscript(_element: Type) -> Self {
        Self(Arc::new(Scalar::Subscript))
    }

    pub(crate) fn slice(_ty: Type) -> Self {
        Self(Arc::new(Scalar::Slice))
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
            Scalar::Subscript | Scalar::Slice => format!("{}[{}]", args[0], args[1..].join(":")),
        }
    }

    /// Calls it.
    ///
    /// # Errors
    /// What it refuses.
    #[inline]
    pub(crate) fn call(&self, env: &Env, args: &[Value]) -> Result<Value> {
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
                function.call(&Call { env, args: types, result: *result }, args)
            }
            Scalar::Cast(cast) => cast.apply(&args[0], env),
            Scalar::Narrow(ty) => Ok(narrow(&args[0], *ty)),
            Scalar::Subscript => Ok(subscript(&args[0], &args[1])),
            Scalar::Slice => slice(args),
        }
    }

    pub(crate) fn is_immutable(&self) -> bool {
        match &*self.0 {
            Scalar::Function { function, .. } => function.volatility == Volatility::Immutable,
            Scalar::Cast(cast) => !depends_on_session(cast.from) && !depends_on_session(cast.to),
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

fn subscript(array: &Value, index: &Value) -> Value {
    let (Value::Array(array), Some(index)) = (array, index.as_i64()) else { return Value::Null };
    let [dimension] = array.dimensions() else { return Value::Null };
    let at = index - i64::from(dimension.lower);
    usize::try_from(at).ok().and_then(|at| array.values().get(at)).cloned().unwrap_or_default()
}

fn slice(args: &[Value]) -> Result<Value> {
    let Value::Array(array) = &args[0] else { return Ok(Value::Null) };
    let [dimension] = array.dimensions() else {
        return Ok(Value::Array(Arc::new(Array::new(array.element(), Vec::new()))));
    };
    let lower = i64::from(dimension.lower);
    let from = args[1].as_i64().unwrap_or(lower).max(lower) - lower;
    let to = args[2].as_i64().unwrap_or(i64::MAX - 1).saturating_sub(lower).saturating_add(1);
    let to = to.clamp(0, array.values().len() as i64);
    let values = if from < to { array.values()[from as usize..to as usize].to_vec() } else { Vec::new() };
    Ok(Value::Array(Arc::new(Array::new(array.element(), values))))
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

/// A call of one.
#[derive(Clone, Debug)]
pub(crate) struct SetCall {
    pub(crate) function: SetFn,
    args: Vec<Expr>,
}

impl SetCall {
    pub(crate) fn new(function: SetFn, args: Vec<Expr>) -> Self {
        Self { function, args }
    }

    pub(crate) fn args(&self) -> &[Expr] {
        &self.args
    }

    /// Whether the two are the same call.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.function == other.function
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a.same(b))
    }

    /// The call with other arguments.
    ///
    /// # Errors
    /// Those of `f`.
    pub(crate) fn map_args(self, f: &mut dyn FnMut(Expr) -> Result<Expr>) -> Result<Self> {
        let args = self.args.into_iter().map(f).collect::<Result<_>>()?;
        Ok(Self { function: self.function, args })
    }

    /// The name for EXPLAIN.
    pub(crate) fn name(&self) -> &'static str {
        match self.function {
            SetFn::Series(..) => "generate_series",
            SetFn::Unnest => "unnest",
            SetFn::Subscripts => "generate_subscripts",
            SetFn::Expand => "_pg_expandarray",
            SetFn::Keywords => "pg_get_keywords",
            SetFn::One => "function",
        }
    }
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
                let second = add.call(env, &[args[0].clone(), step.clone()])?;
                let up = match second.cmp(&args[0]) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => {
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
                        // the series ends where the type does
                        Err(_) => break,
                    }
                }
            }
        }
        done
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

    pub(crate) fn name(&self) -> &'static str {
        self.aggregate.name()
    }

    pub(crate) fn result(&self) -> Type {
        self.result
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
        self.inner.add(&Call { env, args: &function.args, result: function.result }, args)?;
        let keeps = function.aggregate.name().ends_with("_agg");
        Ok(if keeps { args.iter().map(crate::exec::weight).sum() } else { 0 })
    }

    /// The result.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn finish(self, env: &Env) -> Result<Value> {
        let function = &self.function;
        self.inner.finish(&Call { env, args: &function.args, result: function.result })
    }
}
