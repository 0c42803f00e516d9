//! What steps do with items.

use super::evaluate::{Base, Evaluation, Fail, Found, Items, Scope, soft};
use super::item::{Datetime, Item, Pair, View};
use crate::error::{SqlError, SqlState};
use crate::float::parse_f64;
use crate::func::todate;
use crate::json::Json;
use crate::jsonpath::{LAST, Method, Path, Step, Subscript};
use crate::numeric::Numeric;
use crate::value::Text;
use std::rc::Rc;

/// What one step makes of an item.
enum After<'a> {
    /// One item, and the steps behind go on with it.
    Item(Item<'a>, Scope<'a>),
    /// All is done, the steps behind as well.
    Done(bool),
}

/// What a step finds in an item: the elements or the values of the members.
enum Children<'a> {
    Elements(std::slice::Iter<'a, Json>),
    Members(std::slice::Iter<'a, (Text, Json)>),
    Pair(std::array::IntoIter<(&'static str, Item<'a>), 3>),
}

impl<'a> Iterator for Children<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        match self {
            Self::Elements(elements) => elements.next().map(Item::Json),
            Self::Members(members) => members.next().map(|(_, value)| Item::Json(value)),
            Self::Pair(members) => members.next().map(|(_, value)| value),
        }
    }
}

/// What is in an array or an object; None if it is neither.
fn children<'a>(item: &Item<'a>) -> Option<Children<'a>> {
    Some(match item.view() {
        View::Array(elements) => Children::Elements(elements.iter()),
        View::Object(members) => Children::Members(members.iter()),
        View::Pair(pair) => Children::Pair(pair.members().into_iter()),
        _ => return None,
    })
}

/// The member of a key.
fn member<'a>(item: &Item<'a>, key: &str) -> Option<Item<'a>> {
    match item {
        Item::Json(json) => json.get(key).map(Item::Json),
        Item::Pair(pair) => pair.members().into_iter().find(|(name, _)| *name == key).map(|(_, value)| value),
        _ => None,
    }
}

/// Levels of `.**` that are wanted.
#[derive(Clone, Copy)]
struct Levels {
    first: u32,
    last: u32,
}

impl Levels {
    fn has(self, level: u32, item: &Item<'_>) -> bool {
        level >= self.first || (self.first == LAST && self.last == LAST && !item.is_container())
    }
}

impl<'a> Evaluation<'a> {
    /// Does steps with an item. With `unwrap` the first of them is done with the elements of an array instead, where it
    /// means nothing for arrays.
    pub(super) fn steps(
        &mut self,
        mut steps: &'a [Step],
        mut item: Item<'a>,
        mut scope: Scope<'a>,
        mut unwrap: bool,
        mut found: Items<'_, 'a>,
    ) -> Found {
        while let Some((step, rest)) = steps.split_first() {
            self.tick()?;
            // what of arrays is done with their elements
            let of_elements = !matches!(
                step,
                Step::AnyElement
                    | Step::Elements(_)
                    | Step::Any(..)
                    | Step::Method(Method::Type | Method::Size)
            );
            if unwrap
                && of_elements
                && let Some(elements) = item.elements()
            {
                let children = Children::Elements(elements.iter());
                return self.each(steps, children, &scope, false, found);
            }
            match self.step(step, rest, item, scope, found.as_deref_mut())? {
                After::Item(next, then) => (item, scope) = (next, then),
                After::Done(any) => return Ok(any),
            }
            (steps, unwrap) = (rest, self.lax);
        }
        if let Some(found) = found {
            self.hold()?;
            found.push(item);
        }
        Ok(true)
    }

    /// Does steps with items one after the other.
    fn each(
        &mut self,
        steps: &'a [Step],
        items: Children<'a>,
        scope: &Scope<'a>,
        unwrap: bool,
        mut found: Items<'_, 'a>,
    ) -> Found {
        self.deeper(|evaluation| {
            let mut any = false;
            for item in items {
                any = evaluation.steps(steps, item, scope.clone(), unwrap, found.as_deref_mut())?;
                if any && found.is_none() {
                    break;
                }
            }
            Ok(any)
        })
    }

    fn step(
        &mut self,
        step: &'a Step,
        rest: &'a [Step],
        item: Item<'a>,
        scope: Scope<'a>,
        found: Items<'_, 'a>,
    ) -> Result<After<'a>, Fail> {
        Ok(match step {
            Step::Key(key) => match member(&item, key) {
                Some(value) => After::Item(value, scope),
                None if scope.lenient => After::Done(false),
                None => {
                    let what = match item.view() {
                        View::Object(_) | View::Pair(_) => {
                            format!("JSON object does not contain key \"{key}\"")
                        }
                        _ => "jsonpath member accessor can only be applied to an object".to_owned(),
                    };
                    return soft(SqlState::SQL_JSON_MEMBER_NOT_FOUND, what);
                }
            },
            Step::AnyKey => match children(&item) {
                Some(children) if item.elements().is_none() => {
                    After::Done(self.each(rest, children, &scope, self.lax, found)?)
                }
                _ if scope.lenient => After::Done(false),
                _ => {
                    let what = "jsonpath wildcard member accessor can only be applied to an object";
                    return soft(SqlState::SQL_JSON_OBJECT_NOT_FOUND, what);
                }
            },
            Step::AnyElement => match item.elements() {
                Some(elements) => {
                    let children = Children::Elements(elements.iter());
                    After::Done(self.each(rest, children, &scope, self.lax, found)?)
                }
                None if self.lax => After::Item(item, scope),
                None if scope.lenient => After::Done(false),
                None => {
                    let what = "jsonpath wildcard array accessor can only be applied to an array";
                    return soft(SqlState::SQL_JSON_ARRAY_NOT_FOUND, what);
                }
            },
            Step::Elements(subscripts) => {
                return self.elements(subscripts, rest, item, scope, found);
            }
            Step::Any(first, last) => {
                let levels = Levels { first: *first, last: *last };
                After::Done(self.any(levels, rest, item, &scope, found)?)
            }
            Step::Filter(predicate) => {
                let inside = Scope { current: item.clone(), ..scope.clone() };
                match self.predicate(predicate, &inside)? {
                    Some(true) => After::Item(item, scope),
                    _ => After::Done(false),
                }
            }
            Step::Method(Method::KeyValue) => After::Done(self.key_value(rest, &item, &scope, found)?),
            Step::Method(Method::Size) => match item.elements() {
                Some(elements) => After::Item(Item::Number((elements.len() as i64).into()), scope),
                None if self.lax => After::Item(Item::Number(1_i64.into()), scope),
                None if scope.lenient => After::Done(false),
                None => {
                    let what = "jsonpath item method .size() can only be applied to an array";
                    return soft(SqlState::SQL_JSON_ARRAY_NOT_FOUND, what);
                }
            },
            Step::Method(method) => After::Item(computed(*method, item)?, scope),
            Step::Datetime(template) => After::Item(self.datetime(&item, template.as_deref())?, scope),
        })
    }

    /// `[1, 3 to last]`
    fn elements(
        &mut self,
        subscripts: &'a [Subscript],
        rest: &'a [Step],
        item: Item<'a>,
        scope: Scope<'a>,
        mut found: Items<'_, 'a>,
    ) -> Result<After<'a>, Fail> {
        let elements = item.elements();
        if elements.is_none() && !self.lax {
            if scope.lenient {
                return Ok(After::Done(false));
            }
            let what = "jsonpath array accessor can only be applied to an array";
            return soft(SqlState::SQL_JSON_ARRAY_NOT_FOUND, what);
        }
        // a scalar is an array of one
        let size = elements.map_or(1, |elements| elements.len() as i64);
        let inside = Scope { size: Some(size), ..scope };
        let at = |index: i64| match elements {
            Some(elements) => {
                usize::try_from(index).ok().and_then(|index| elements.get(index)).map(Item::Json)
            }
            None => Some(item.clone()),
        };
        let mut any = false;
        for subscript in subscripts {
            let from = self.index(&subscript.from, &inside)?;
            let to = match &subscript.to {
                Some(to) => self.index(to, &inside)?,
                None => from,
            };
            if !inside.lenient && (from < 0 || from > to || to >= size) {
                let what = "jsonpath array subscript is out of bounds";
                return soft(SqlState::INVALID_SQL_JSON_SUBSCRIPT, what);
            }
            let (from, to) = (from.max(0), to.min(size - 1));
            any = false;
            if let ([_], true) = (subscripts, from == to)
                && let Some(element) = at(from)
            {
                return Ok(After::Item(element, inside));
            }
            for index in from..=to {
                let Some(element) = at(index) else { continue };
                let scope = inside.clone();
                any = self.deeper(|evaluation| {
                    evaluation.steps(rest, element, scope, evaluation.lax, found.as_deref_mut())
                })?;
                if any && found.is_none() {
                    return Ok(After::Done(true));
                }
            }
        }
        Ok(After::Done(any))
    }

    /// The number of an element.
    fn index(&mut self, path: &'a Path, scope: &Scope<'a>) -> Result<i64, Fail> {
        let items = self.operand(path, scope, false)?;
        self.release(items.len());
        let [item] = items.as_slice() else { return not_one_number() };
        let Some(number) = item.as_number() else { return not_one_number() };
        let whole = number.trunc(0).to_int("integer").ok();
        match whole.filter(|whole| i32::try_from(*whole).is_ok()) {
            Some(whole) => Ok(whole),
            None => {
                let what = "jsonpath array subscript is out of integer range";
                soft(SqlState::INVALID_SQL_JSON_SUBSCRIPT, what)
            }
        }
    }

    /// `.**`: the item itself, what is in it, what is in that, and so on.
    fn any(
        &mut self,
        levels: Levels,
        rest: &'a [Step],
        item: Item<'a>,
        scope: &Scope<'a>,
        mut found: Items<'_, 'a>,
    ) -> Found {
        let inside = Scope { lenient: true, ..scope.clone() };
        let mut itself = Ok(false);
        if levels.first == 0 {
            let (item, scope, items) = (item.clone(), inside.clone(), found.as_deref_mut());
            itself = self.deeper(|evaluation| evaluation.steps(rest, item, scope, evaluation.lax, items));
            if let Ok(true) = itself
                && found.is_none()
            {
                return itself;
            }
        }
        match (itself, children(&item)) {
            (Err(Fail::Hard(error)), _) => Err(Fail::Hard(error)),
            // an error that ends nothing does not hide what is further down, either
            (Err(error), Some(_)) if scope.throws => Err(error),
            (_, Some(children)) => self.descend(levels, 1, rest, children, &inside, found),
            (itself, None) => itself,
        }
    }

    fn descend(
        &mut self,
        levels: Levels,
        level: u32,
        rest: &'a [Step],
        items: Children<'a>,
        scope: &Scope<'a>,
        mut found: Items<'_, 'a>,
    ) -> Found {
        if level > levels.last {
            return Ok(false);
        }
        self.deeper(|evaluation| {
            let mut any = false;
            for item in items {
                evaluation.tick()?;
                if levels.has(level, &item) {
                    let (item, lax) = (item.clone(), evaluation.lax);
                    any = evaluation.steps(rest, item, scope.clone(), lax, found.as_deref_mut())?;
                    if any && found.is_none() {
                        break;
                    }
                }
                if level < levels.last
                    && let Some(children) = children(&item)
                {
                    let items = found.as_deref_mut();
                    any = evaluation.descend(levels, level + 1, rest, children, scope, items)?;
                    if any && found.is_none() {
                        break;
                    }
                }
            }
            Ok(any)
        })
    }

    fn key_value(
        &mut self,
        rest: &'a [Step],
        item: &Item<'a>,
        scope: &Scope<'a>,
        mut found: Items<'_, 'a>,
    ) -> Found {
        let members: Vec<(Text, Item<'a>)> = match item.view() {
            View::Object(members) => {
                members.iter().map(|(key, value)| (key.clone(), Item::Json(value))).collect()
            }
            View::Pair(pair) => pair.members().into_iter().map(|(key, value)| (key.into(), value)).collect(),
            _ => {
                let what = "jsonpath item method .keyvalue() can only be applied to an object";
                return soft(SqlState::SQL_JSON_OBJECT_NOT_FOUND, what);
            }
        };
        let id: Numeric = self.object_id(item, &scope.base).into();
        let mut any = false;
        for (key, value) in members {
            let pair = Rc::new(Pair { id: id.clone(), key, value });
            let base = Base::Pair(Rc::clone(&pair), self.next_pair);
            self.next_pair += 1;
            let (scope, items) = (Scope { base, ..scope.clone() }, found.as_deref_mut());
            any = self.deeper(|evaluation| {
                evaluation.steps(rest, Item::Pair(pair), scope, evaluation.lax, items)
            })?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    /// A date or a time of a text.
    fn datetime(&mut self, item: &Item<'a>, template: Option<&str>) -> Result<Item<'a>, Fail> {
        let Some(text) = item.as_str() else {
            let what = "jsonpath item method .datetime() can only be applied to a string";
            return soft(SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, what);
        };
        let Some(template) = template else {
            for format in FORMATS {
                self.tick()?;
                if let Ok(found) = todate::parse_datetime(text, format) {
                    return Ok(Item::Datetime(found));
                }
            }
            let what = format!("datetime format is not recognized: \"{text}\"");
            let error = SqlError::new(SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, what);
            let hint = "Use a datetime template argument to specify the input data format.";
            return Err(Fail::Soft(error.hint(hint)));
        };
        todate::check_template(template).map_err(Fail::Hard)?;
        let found: Datetime = todate::parse_datetime(text, template).map_err(Fail::Soft)?;
        Ok(Item::Datetime(found))
    }
}

/// What texts are tried as that say nothing of their form.
const FORMATS: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

#[cold]
fn not_one_number<T>() -> Result<T, Fail> {
    soft(SqlState::INVALID_SQL_JSON_SUBSCRIPT, "jsonpath array subscript is not a single numeric value")
}

/// What a method makes of one item.
fn computed<'a>(method: Method, item: Item<'a>) -> Result<Item<'a>, Fail> {
    let name = method.name();
    let of_number = |compute: &dyn Fn(&Numeric) -> crate::error::Result<Numeric>| match item.as_number() {
        Some(number) => Ok(Item::Number(compute(number).map_err(Fail::Soft)?)),
        None => {
            let what = format!("jsonpath item method .{name}() can only be applied to a numeric value");
            soft(SqlState::NON_NUMERIC_SQL_JSON_ITEM, what)
        }
    };
    match method {
        Method::Type => Ok(Item::String(item.type_name().into())),
        Method::Abs => of_number(&|number| Ok(number.abs())),
        Method::Floor => of_number(&Numeric::floor),
        Method::Ceiling => of_number(&Numeric::ceil),
        Method::Double => double(item),
        Method::KeyValue | Method::Size => {
            Err(Fail::Hard(SqlError::internal("a method that needs more than the item")))
        }
    }
}

/// A number that a double can be near to, or that a text is.
fn double<'a>(item: Item<'a>) -> Result<Item<'a>, Fail> {
    let finite = |text: &str| parse_f64(text).ok().filter(|v| v.is_finite());
    match item.view() {
        View::Number(number) => {
            let mut text = Vec::new();
            number.write_text(&mut text);
            if finite(&String::from_utf8_lossy(&text)).is_none() {
                let what = "numeric argument of jsonpath item method .double() is out of range for type double \
                            precision";
                return soft(SqlState::NON_NUMERIC_SQL_JSON_ITEM, what);
            }
            Ok(item)
        }
        View::String(text) => match finite(text) {
            Some(v) => Ok(Item::Number(Numeric::from_f64(v))),
            None => {
                let what = "string argument of jsonpath item method .double() is not a valid representation of a \
                            double precision number";
                soft(SqlState::NON_NUMERIC_SQL_JSON_ITEM, what)
            }
        },
        _ => {
            let what = "jsonpath item method .double() can only be applied to a string or numeric value";
            soft(SqlState::NON_NUMERIC_SQL_JSON_ITEM, what)
        }
    }
}
