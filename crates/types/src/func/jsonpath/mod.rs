//! What paths find in jsonb: `@?`, `@@` and the functions `jsonb_path_..`.

mod compare;
mod evaluate;
mod item;
mod object_id;
mod predicate;
mod steps;

use super::{Call, Interrupt, Registry};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::value::Value;
use evaluate::{Evaluation, Fail};
pub(in crate::func) use item::Datetime;
use item::Item;
use std::ops::ControlFlow;

/// A call: of which value, and by which path.
struct Question<'a> {
    json: &'a Json,
    path: &'a JsonPath,
    /// Operators have none, and take variables for null.
    vars: Option<&'a Json>,
    /// Errors of the path are none of the statement.
    silent: bool,
    /// What has a zone may be compared with what has none.
    zoned: bool,
}

/// The variables of a call that gives none.
static NO_VARS: Json = Json::Object(Vec::new());

impl<'a> Question<'a> {
    /// The question of a function's arguments; None if one of them is NULL.
    fn of(args: &'a [Value], zoned: bool) -> Result<Option<Self>> {
        let given = |at: usize| args.get(at).filter(|value| !value.is_null());
        if args.iter().any(Value::is_null) {
            return Ok(None);
        }
        let (Some(Value::Jsonb(json)), Some(Value::Jsonpath(path))) = (given(0), given(1)) else {
            return Err(super::args::arity());
        };
        let vars = match given(2) {
            Some(Value::Jsonb(vars)) => vars.as_ref(),
            _ => &NO_VARS,
        };
        let silent = given(3).is_some_and(Value::is_true);
        Ok(Some(Self { json, path, vars: Some(vars), silent, zoned }))
    }

    fn evaluation(&self, env: &'a Env, interrupt: Interrupt<'a>) -> Result<Evaluation<'a>> {
        if self.vars.is_some_and(|vars| !matches!(vars, Json::Object(_))) {
            let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(SqlError::invalid_parameter("\"vars\" argument is not an object").detail(detail));
        }
        Ok(Evaluation::new(self.path.lax, self.json, self.vars, self.zoned, env, interrupt))
    }

    /// All items; those before an error if that is none of the statement.
    fn items(&self, evaluation: &mut Evaluation<'a>) -> Result<Vec<Item<'a>>> {
        let mut items = Vec::new();
        let scope = evaluation.outermost(!self.silent);
        match evaluation.path(&self.path.path, &scope, Some(&mut items)) {
            Err(Fail::Hard(error)) => Err(error),
            Err(Fail::Soft(error)) if !self.silent => Err(error),
            _ => Ok(items),
        }
    }

    /// Whether there is an item; None if there is an error instead, which is none of the statement.
    fn exists(&self, evaluation: &mut Evaluation<'a>) -> Result<Option<bool>> {
        let scope = evaluation.outermost(!self.silent);
        let found = if self.path.lax {
            evaluation.path(&self.path.path, &scope, None)
        } else {
            // in strict mode there may be an error behind the first item
            let mut items = Vec::new();
            evaluation.path(&self.path.path, &scope, Some(&mut items)).map(|_| !items.is_empty())
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Fail::Soft(_)) if self.silent => Ok(None),
            Err(Fail::Soft(error) | Fail::Hard(error)) => Err(error),
        }
    }

    /// The only item as a truth value.
    fn is_match(&self, evaluation: &mut Evaluation<'a>) -> Result<Value> {
        match self.items(evaluation)?.as_slice() {
            [item] if item.as_bool().is_some() => Ok(item.as_bool().into()),
            [item] if item.is_null() => Ok(Value::Null),
            _ if self.silent => Ok(Value::Null),
            _ => {
                let what = "single boolean result is expected";
                Err(SqlError::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, what))
            }
        }
    }
}

/// What a function answers.
type Answer = for<'a> fn(&Question<'a>, &mut Evaluation<'a>) -> Result<Value>;

const EXISTS: Answer = |question, evaluation| Ok(question.exists(evaluation)?.into());
const MATCH: Answer = |question, evaluation| question.is_match(evaluation);
const ARRAY: Answer = |question, evaluation| {
    let items = question.items(evaluation)?;
    let mut elements = Vec::new();
    for item in items {
        let element = item.to_json();
        evaluation.hold_json(&element)?;
        elements.push(element);
    }
    Ok(Value::jsonb(Json::Array(elements)))
};
const FIRST: Answer = |question, evaluation| {
    let items = question.items(evaluation)?;
    Ok(items.first().map_or(Value::Null, |item| Value::jsonb(item.to_json())))
};

fn answer(call: &Call<'_>, args: &[Value], zoned: bool, answer: Answer) -> Result<Value> {
    let Some(question) = Question::of(args, zoned)? else { return Ok(Value::Null) };
    let mut evaluation = question.evaluation(call.env, call.interrupt)?;
    answer(&question, &mut evaluation)
}

/// An operator, which is silent.
fn operate(call: &Call<'_>, args: &[Value], answer: Answer) -> Result<Value> {
    let Some(question) = Question::of(args, false)? else { return Ok(Value::Null) };
    let question = Question { vars: None, silent: true, ..question };
    let mut evaluation = question.evaluation(call.env, call.interrupt)?;
    answer(&question, &mut evaluation)
}

/// Hands the items of `jsonb_path_query` to `next` until that breaks.
///
/// # Errors
///
/// Those of the path, and those of `next`.
pub fn path_rows(
    env: &Env,
    args: &[Value],
    zoned: bool,
    interrupt: Interrupt<'_>,
    next: &mut dyn FnMut(Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let Some(question) = Question::of(args, zoned)? else { return Ok(ControlFlow::Continue(())) };
    let mut evaluation = question.evaluation(env, interrupt)?;
    for item in question.items(&mut evaluation)? {
        if next(Value::jsonb(item.to_json()))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

pub(super) fn register(r: &mut Registry) {
    for signature in ["@?(jsonb,jsonpath) bool", "jsonb_path_exists_opr(jsonb,jsonpath) bool"] {
        r.add(signature, |call, args| operate(call, args, EXISTS));
    }
    for signature in ["@@(jsonb,jsonpath) bool", "jsonb_path_match_opr(jsonb,jsonpath) bool"] {
        r.add(signature, |call, args| operate(call, args, MATCH));
    }
    macro_rules! function {
        ($name:literal, $result:literal, $answer:ident) => {
            for signature in [
                concat!($name, "(jsonb,jsonpath) ", $result),
                concat!($name, "(jsonb,jsonpath,jsonb) ", $result),
                concat!($name, "(jsonb,jsonpath,jsonb,bool) ", $result),
            ] {
                r.add(signature, |call, args| answer(call, args, false, $answer));
            }
            for signature in [
                concat!($name, "_tz(jsonb,jsonpath) ", $result),
                concat!($name, "_tz(jsonb,jsonpath,jsonb) ", $result),
                concat!($name, "_tz(jsonb,jsonpath,jsonb,bool) ", $result),
            ] {
                r.stable(signature, |call, args| answer(call, args, true, $answer));
            }
        };
    }
    function!("jsonb_path_exists", "bool", EXISTS);
    function!("jsonb_path_match", "bool", MATCH);
    function!("jsonb_path_query_array", "jsonb", ARRAY);
    function!("jsonb_path_query_first", "jsonb", FIRST);
}
