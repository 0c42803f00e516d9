//! Evaluates expressions as a binder and an executor would.

use crate::parser::{Expr, Parser};
use scaledb_types::func::Interrupt;
use scaledb_types::{
    Array, Base, Call, Context, Env, Result, SqlError, Type, Value, common_type, find_cast, no_cast,
    resolve_aggregate, resolve_call,
};
use std::sync::Arc;

/// A value and its type.
type Typed = (Type, Value);

/// The value of an expression, or of `aggregate(x, ...) from unnest(array) x`.
pub(crate) fn evaluate(source: &str, env: &Env) -> Result<Typed> {
    if let Some((call, rest)) = source.split_once(" from unnest(") {
        return aggregate(call, rest.strip_suffix(") x").expect("x"), env);
    }
    eval(&Parser::new(source).finish(), env)
}

/// The value as another type.
fn coerce((from, value): Typed, to: Type, context: Context, env: &Env) -> Result<Value> {
    if from.base == Base::Unknown {
        return match value {
            Value::Null => Ok(Value::Null),
            // a literal is read without the modifier, which then applies as in a cast; but `interval '5' year` needs it
            Value::Text(text) => {
                let read = if to.base == Base::Interval { to } else { to.plain() };
                let value = Value::parse(&text, read, env)?;
                scaledb_types::apply_typmod(value, to, context == Context::Explicit)
            }
            other => panic!("{other:?} of unknown type"),
        };
    }
    find_cast(from, to, context).ok_or_else(|| no_cast(from, to))?.apply(&value, env)
}

fn call(name: &str, args: Vec<Typed>, env: &Env) -> Result<Typed> {
    let types: Vec<Type> = args.iter().map(|(ty, _)| *ty).collect();
    let resolved = resolve_call(name, &types)?;
    let values: Vec<Value> = args
        .into_iter()
        .zip(&resolved.args)
        .map(|(arg, to)| coerce(arg, *to, Context::Implicit, env))
        .collect::<Result<_>>()?;
    let call = Call { env, args: &resolved.args, result: resolved.result, interrupt: Interrupt::never() };
    let value = resolved.function.call(&call, &values)?;
    assert!(value.fits(resolved.result), "{name}: {value:?} is no {}", resolved.result);
    Ok((resolved.result, value))
}

fn number(text: &str) -> Result<Typed> {
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        if let Ok(v) = text.parse::<i32>() {
            return Ok((Type::INT4, v.into()));
        }
        if let Ok(v) = text.parse::<i64>() {
            return Ok((Type::INT8, v.into()));
        }
    }
    Ok((Type::NUMERIC, Value::Numeric(text.parse()?)))
}

fn common(what: &str, args: Vec<Typed>, env: &Env) -> Result<(Type, Vec<Value>)> {
    let types: Vec<Type> = args.iter().map(|(ty, _)| *ty).collect();
    let ty = common_type(&types, what)?;
    let values =
        args.into_iter().map(|arg| coerce(arg, ty, Context::Implicit, env)).collect::<Result<_>>()?;
    Ok((ty, values))
}

fn bool_of(expr: &Expr, env: &Env) -> Result<Option<bool>> {
    let value = coerce(eval(expr, env)?, Type::BOOL, Context::Implicit, env)?;
    Ok(value.as_bool())
}

/// The literal of a number with any signs before it.
fn negated(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Number(text) => Some(text.clone()),
        Expr::Call(name, args) if name == "-" && args.len() == 1 => {
            let text = negated(&args[0])?;
            Some(text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned))
        }
        _ => None,
    }
}

fn eval(expr: &Expr, env: &Env) -> Result<Typed> {
    let boolean = |v: Option<bool>| Ok((Type::BOOL, v.into()));
    match expr {
        Expr::Null => Ok((Type::UNKNOWN, Value::Null)),
        Expr::Bool(v) => boolean(Some(*v)),
        Expr::Number(text) => number(text),
        Expr::Text(text) => Ok((Type::UNKNOWN, Value::text(text))),
        // an empty or nested array takes the type of its cast
        Expr::Cast(value, ty) => {
            let ty = Type::parse(ty)?;
            if let (Expr::Array(parts), true) = (value.as_ref(), ty.array) {
                let value = array_as(parts, ty, env)?;
                return Ok((ty, value));
            }
            Ok((ty, coerce(eval(value, env)?, ty, Context::Explicit, env)?))
        }
        Expr::Call(name, args) => {
            // a negative number is one literal
            if let Some(text) = negated(expr) {
                return number(&text);
            }
            let args = args.iter().map(|arg| eval(arg, env)).collect::<Result<_>>()?;
            call(name, args, env)
        }
        Expr::Array(parts) => {
            if parts.is_empty() {
                let message = "cannot determine type of empty array";
                return Err(SqlError::new(scaledb_types::SqlState::INDETERMINATE_DATATYPE, message));
            }
            let parts: Vec<Typed> = parts.iter().map(|part| eval(part, env)).collect::<Result<_>>()?;
            let (element, values) = common("ARRAY", parts, env)?;
            if let Some(inner) = element.element().filter(|_| element.array) {
                return Ok((element, Value::Array(Arc::new(Array::nested(inner, &values)?))));
            }
            let ty = element.to_array().ok_or_else(|| SqlError::internal("no array"))?;
            Ok((ty, Value::Array(Arc::new(Array::new(element, values)))))
        }
        Expr::Subscript(array, subscripts) => {
            let (ty, array) = eval(array, env)?;
            let mut at = Vec::new();
            for subscript in subscripts {
                match coerce(eval(subscript, env)?, Type::INT4, Context::Assignment, env)? {
                    Value::Int4(v) => at.push(v),
                    _ => return Ok((ty.element().unwrap(), Value::Null)),
                }
            }
            let value = match &array {
                Value::Array(array) => array.get(&at).clone(),
                _ => Value::Null,
            };
            Ok((ty.element().expect("an array"), value))
        }
        Expr::And(a, b) => boolean(match (bool_of(a, env)?, bool_of(b, env)?) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }),
        Expr::Or(a, b) => boolean(match (bool_of(a, env)?, bool_of(b, env)?) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }),
        Expr::Not(a) => boolean(bool_of(a, env)?.map(|v| !v)),
        Expr::IsNull(a) => boolean(Some(eval(a, env)?.1.is_null())),
        Expr::Distinct(a, b) => {
            let (a, b) = (eval(a, env)?, eval(b, env)?);
            if a.1.is_null() || b.1.is_null() {
                return boolean(Some(a.1.is_null() != b.1.is_null()));
            }
            let (_, value) = call("<>", vec![a, b], env)?;
            boolean(value.as_bool())
        }
        Expr::Common("COALESCE", args) => {
            let args = args.iter().map(|arg| eval(arg, env)).collect::<Result<_>>()?;
            let (ty, values) = common("COALESCE", args, env)?;
            Ok((ty, values.into_iter().find(|v| !v.is_null()).unwrap_or_default()))
        }
        Expr::Common(what, args) => {
            let args = args.iter().map(|arg| eval(arg, env)).collect::<Result<_>>()?;
            let (ty, values) = common(what, args, env)?;
            let args: Vec<Typed> = values.into_iter().map(|value| (ty, value)).collect();
            call(&what.to_lowercase(), args, env)
        }
        Expr::NullIf(a, b) => {
            let (a, b) = (eval(a, env)?, eval(b, env)?);
            let (_, equal) = call("=", vec![a.clone(), b], env)?;
            Ok(if equal.is_true() { (a.0, Value::Null) } else { a })
        }
    }
}

/// `ARRAY[...]::type[]`: the elements are cast one by one.
fn array_as(parts: &[Expr], ty: Type, env: &Env) -> Result<Value> {
    let element = ty.element().unwrap();
    if parts.iter().any(|part| matches!(part, Expr::Array(_))) {
        let parts = parts.iter().map(|part| match part {
            Expr::Array(inner) => array_as(inner, ty, env),
            other => coerce(eval(other, env)?, ty, Context::Explicit, env),
        });
        let parts: Vec<Value> = parts.collect::<Result<_>>()?;
        return Ok(Value::Array(Arc::new(Array::nested(element, &parts)?)));
    }
    let values = parts.iter().map(|part| coerce(eval(part, env)?, element, Context::Explicit, env));
    Ok(Value::Array(Arc::new(Array::new(element, values.collect::<Result<_>>()?))))
}

fn aggregate(source: &str, array: &str, env: &Env) -> Result<Typed> {
    let (name, args) = source.split_once('(').expect("a call");
    let args: Vec<&str> =
        args.strip_suffix(')').expect("a call").splitn(2, ", ").filter(|a| !a.is_empty()).collect();
    let (array_type, array) = eval(&Parser::new(array).finish(), env)?;
    let Value::Array(array) = array else { panic!("no array") };
    let element = array_type.element().unwrap();
    let star = args == ["*"];
    let typed = |value: &Value| -> Result<Vec<Typed>> {
        let arg = |arg: &&str| match *arg {
            "x" => Ok((element, value.clone())),
            literal => eval(&Parser::new(literal).finish(), env),
        };
        if star { Ok(Vec::new()) } else { args.iter().map(arg).collect() }
    };
    let types: Vec<Type> = typed(&Value::Null)?.into_iter().map(|(ty, _)| ty).collect();
    let resolved = resolve_aggregate(name, &types)?;
    let call = Call { env, args: &resolved.args, result: resolved.result, interrupt: Interrupt::never() };
    let mut accumulator = resolved.aggregate.start();
    for value in array.values() {
        let values = typed(value)?.into_iter().zip(&resolved.args);
        let values: Vec<Value> =
            values.map(|(arg, to)| coerce(arg, *to, Context::Implicit, env)).collect::<Result<_>>()?;
        accumulator.add(&call, &values)?;
    }
    Ok((resolved.result, accumulator.finish(&call)?))
}
