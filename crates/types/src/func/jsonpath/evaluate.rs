//! A path at work: where its items come from, and what bounds the work.

use super::item::{Item, Pair};
use super::object_id::{Places, address, places};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::func::Interrupt;
use crate::json::Json;
use crate::jsonpath::{Arithmetic, Head, Path, Sign};
use crate::numeric::Numeric;
use std::collections::HashMap;
use std::rc::Rc;

/// Why there is no answer.
pub(super) enum Fail {
    /// An error that predicates take for unknown, and that a silent call does not show.
    Soft(SqlError),
    /// An error of the statement in any case.
    Hard(SqlError),
}

/// Whether an item was found, where that is all that is asked.
pub(super) type Found = std::result::Result<bool, Fail>;

/// Takes the items that are found; without one the first of them ends the search.
pub(super) type Items<'i, 'a> = Option<&'i mut Vec<Item<'a>>>;

/// What the steps before have left to those behind them.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    /// `@`
    pub(super) current: Item<'a>,
    /// How many elements the array of the innermost subscript has.
    pub(super) size: Option<i64>,
    /// What is not there is no error.
    pub(super) lenient: bool,
    /// An error ends the statement: it is in no predicate, and the call is not silent.
    pub(super) throws: bool,
    pub(super) base: Base<'a>,
}

/// What objects are told apart in by `.keyvalue()`, and its number.
#[derive(Clone)]
pub(super) enum Base<'a> {
    Json(&'a Json, i64),
    Pair(Rc<Pair<'a>>, i64),
}

/// The evaluation of one path for one value.
pub(super) struct Evaluation<'a> {
    pub(super) lax: bool,
    /// What has a zone may be compared with what has none.
    pub(super) zoned: bool,
    pub(super) env: &'a Env,
    root: &'a Json,
    vars: Option<&'a Json>,
    interrupt: Interrupt<'a>,
    /// The number of the next pair that `.keyvalue()` makes.
    pub(super) next_pair: i64,
    /// Where the objects of values lie, as far as somebody has asked.
    places: HashMap<usize, Places>,
    steps: u32,
    depth: usize,
    /// Bytes of what is kept.
    held: usize,
}

/// How often it is asked whether the answer is still wanted.
const STEPS_BETWEEN_CHECKS: u32 = 256;

/// How deep evaluation goes: less than [`crate::jsonpath::MAX_DEPTH`] for an expression, and further where steps find
/// several items each.
const MAX_RECURSION: usize = 4_000;

/// Stack that is left at least before it is made larger, and by how much it is.
const RED_ZONE: usize = 64 << 10;
const STACK: usize = 1 << 20;

#[cold]
pub(super) fn soft<T>(code: SqlState, message: impl Into<String>) -> std::result::Result<T, Fail> {
    Err(Fail::Soft(SqlError::new(code, message.into())))
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        lax: bool,
        root: &'a Json,
        vars: Option<&'a Json>,
        zoned: bool,
        env: &'a Env,
        interrupt: Interrupt<'a>,
    ) -> Self {
        // 0 is the value, and 1 the variables
        let next_pair = if vars.is_some() { 2 } else { 1 };
        let (places, steps, depth, held) = (HashMap::new(), 0, 0, 0);
        Self { lax, zoned, env, root, vars, interrupt, next_pair, places, steps, depth, held }
    }

    /// Where the whole path stands.
    pub(super) fn outermost(&self, throws: bool) -> Scope<'a> {
        let base = Base::Json(self.root, 0);
        Scope { current: Item::Json(self.root), size: None, lenient: self.lax, throws, base }
    }

    /// Counts a step of the work, and asks now and then whether it is still wanted.
    pub(super) fn tick(&mut self) -> std::result::Result<(), Fail> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_BETWEEN_CHECKS) {
            self.interrupt.check().map_err(Fail::Hard)?;
        }
        Ok(())
    }

    /// Counts an item that is kept.
    pub(super) fn hold(&mut self) -> std::result::Result<(), Fail> {
        self.held += size_of::<Item<'_>>();
        self.interrupt.admit(self.held).map_err(Fail::Hard)
    }

    /// Forgets items that are kept no longer.
    pub(super) fn release(&mut self, items: usize) {
        self.held = self.held.saturating_sub(items * size_of::<Item<'_>>());
    }

    /// Counts a value that becomes a part of the answer.
    pub(super) fn hold_json(&mut self, json: &Json) -> Result<()> {
        let mut rest = vec![json];
        while let Some(json) = rest.pop() {
            self.held += size_of::<Json>();
            match json {
                Json::String(text) => self.held += text.len(),
                Json::Array(elements) => rest.extend(elements),
                Json::Object(members) => {
                    for (key, value) in members {
                        self.held += key.len() + size_of_val(key);
                        rest.push(value);
                    }
                }
                _ => {}
            }
        }
        self.interrupt.check()?;
        self.interrupt.admit(self.held)
    }

    /// Asks whether a long text is still to be searched.
    pub(super) fn check(&self) -> std::result::Result<(), Fail> {
        self.interrupt.check().map_err(Fail::Hard)
    }

    /// Goes one level deeper, with a stack that is large enough.
    pub(super) fn deeper<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> std::result::Result<T, Fail>,
    ) -> std::result::Result<T, Fail> {
        if self.depth >= MAX_RECURSION {
            let what = "stack depth limit exceeded";
            return Err(Fail::Hard(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what)));
        }
        self.depth += 1;
        let done = stacker::maybe_grow(RED_ZONE, STACK, || run(self));
        self.depth -= 1;
        done
    }

    /// The items of a path.
    pub(super) fn path(&mut self, path: &'a Path, scope: &Scope<'a>, found: Items<'_, 'a>) -> Found {
        self.deeper(|evaluation| evaluation.path_here(path, scope, found))
    }

    fn path_here(&mut self, path: &'a Path, scope: &Scope<'a>, found: Items<'_, 'a>) -> Found {
        self.tick()?;
        let mut scope = scope.clone();
        let item = match &path.head {
            Head::Null => Item::Null,
            Head::Bool(v) => Item::Bool(*v),
            Head::Number(v) => Item::Number(v.clone()),
            Head::String(v) => Item::String(v.clone()),
            Head::Variable(name) => match self.vars {
                None => Item::Null,
                Some(vars) => {
                    scope.base = Base::Json(vars, 1);
                    Item::Json(vars.get(name).ok_or_else(|| {
                        let what = format!("could not find jsonpath variable \"{name}\"");
                        Fail::Hard(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
                    })?)
                }
            },
            Head::Root => {
                scope.base = Base::Json(self.root, 0);
                Item::Json(self.root)
            }
            Head::Current => scope.current.clone(),
            Head::Last => {
                let outside = || SqlError::internal("evaluating jsonpath LAST outside of array subscript");
                let size = scope.size.ok_or_else(|| Fail::Hard(outside()))?;
                Item::Number((size - 1).into())
            }
            Head::Signed(sign, operand) => return self.signed(*sign, operand, path, &scope, found),
            Head::Binary(operator, sides) => {
                Item::Number(self.binary(*operator, &sides.0, &sides.1, &scope)?)
            }
            Head::Predicate(predicate) => match self.predicate(predicate, &scope)? {
                Some(v) => Item::Bool(v),
                None => Item::Null,
            },
        };
        self.steps(&path.steps, item, scope, self.lax, found)
    }

    /// The items of a path as an operand has them: in lax mode elements stand for arrays, if `unwrap` says so.
    pub(super) fn operand(
        &mut self,
        path: &'a Path,
        scope: &Scope<'a>,
        unwrap: bool,
    ) -> std::result::Result<Vec<Item<'a>>, Fail> {
        let mut items = Vec::new();
        self.path(path, scope, Some(&mut items))?;
        if !unwrap || !self.lax || items.iter().all(|item| item.elements().is_none()) {
            return Ok(items);
        }
        let mut unwrapped = Vec::with_capacity(items.len());
        for item in items {
            let Some(elements) = item.elements() else {
                unwrapped.push(item);
                continue;
            };
            self.release(1);
            for element in elements {
                self.tick()?;
                self.hold()?;
                unwrapped.push(Item::Json(element));
            }
        }
        Ok(unwrapped)
    }

    fn binary(
        &mut self,
        operator: Arithmetic,
        left: &'a Path,
        right: &'a Path,
        scope: &Scope<'a>,
    ) -> std::result::Result<Numeric, Fail> {
        let left = self.operand(left, scope, true)?;
        let right = self.operand(right, scope, true)?;
        self.release(left.len() + right.len());
        let single = |items: &[Item<'_>], side: &str| match items {
            [item] if let Some(number) = item.as_number() => Ok(number.clone()),
            _ => {
                let symbol = operator.symbol();
                let what =
                    format!("{side} operand of jsonpath operator {symbol} is not a single numeric value");
                soft(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, what)
            }
        };
        let (a, b) = (single(&left, "left")?, single(&right, "right")?);
        let done = match operator {
            Arithmetic::Add => a.add(&b),
            Arithmetic::Sub => a.sub(&b),
            Arithmetic::Mul => a.mul(&b),
            Arithmetic::Div => a.div(&b),
            Arithmetic::Mod => a.rem(&b),
        };
        done.map_err(Fail::Soft)
    }

    /// A sign before each of the numbers of an operand.
    fn signed(
        &mut self,
        sign: Sign,
        operand: &'a Path,
        path: &'a Path,
        scope: &Scope<'a>,
        mut found: Items<'_, 'a>,
    ) -> Found {
        let items = self.operand(operand, scope, true)?;
        self.release(items.len());
        let only_whether = found.is_none() && path.steps.is_empty();
        let mut any = false;
        for item in items {
            let number = match item.as_number() {
                Some(_) if only_whether => return Ok(true),
                Some(number) => number,
                None if only_whether => continue,
                None => {
                    let symbol = sign.symbol();
                    let what = format!("operand of unary jsonpath operator {symbol} is not a numeric value");
                    return soft(SqlState::SQL_JSON_NUMBER_NOT_FOUND, what);
                }
            };
            let number = if sign == Sign::Minus { number.neg() } else { number.clone() };
            let item = Item::Number(number);
            any |= self.steps(&path.steps, item, scope.clone(), self.lax, found.as_deref_mut())?;
            if any && found.is_none() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// What tells an object apart from all others.
    pub(super) fn object_id(&mut self, item: &Item<'a>, base: &Base<'a>) -> i64 {
        const PER_BASE: i64 = 10_000_000_000;
        let (number, whole, start) = match base {
            Base::Json(json, number) => (*number, Some(*json), 0),
            Base::Pair(pair, number) => (*number, pair.document(), pair.place_of_value()),
        };
        let place = match (item, whole) {
            (Item::Json(json), Some(whole)) => {
                let known = self.places.entry(address(whole)).or_insert_with(|| places(whole));
                start + known.get(&address(json)).copied().unwrap_or(0)
            }
            _ => 0,
        };
        number * PER_BASE + place
    }
}
