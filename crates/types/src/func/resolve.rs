//! Which function a call means: PostgreSQL's rules for overloads.
//!
//! 1. A candidate whose parameters are the arguments' types wins.
//! 2. Else those remain to which all arguments have implicit casts; literals of unknown type fit everything.
//! 3. Of these, the ones with the most exact types; then with the most exact or preferred types.
//! 4. Unknown literals take the category that the candidates agree on, or text if one takes it; preferred types win.
//! 5. Unknown literals take the type that all other arguments share.

use super::{Function, Param, functions_named};
use crate::cast::{Context, find_cast};
use crate::error::{Result, SqlError, SqlState};
use crate::ty::{Base, Category, Type};

/// A call that was resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// The type that each argument has to be cast to.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

/// The parameter of an argument, variadic ones repeated.
fn param_at(function: &Function, at: usize) -> Param {
    let last = function.params.len().saturating_sub(1);
    function.params[at.min(last)]
}

fn takes(function: &Function, count: usize) -> bool {
    if function.variadic { count >= function.params.len() } else { count == function.params.len() }
}

/// Whether an argument may be given for a parameter without a cast being written.
fn accepts(param: Param, arg: Type) -> bool {
    match param {
        Param::Type(ty) => ty.same(arg) || is_unknown(arg) || find_cast(arg, ty, Context::Implicit).is_some(),
        Param::AnyElement | Param::AnyCompatible | Param::Any => true,
        Param::AnyNonArray | Param::AnyCompatibleNonArray => !arg.array,
        Param::AnyEnum => arg.as_enum().is_some() || is_unknown(arg),
        Param::AnyRange => arg.as_range().is_some() || is_unknown(arg),
        Param::AnyArray | Param::AnyCompatibleArray => arg.element().is_some() || is_unknown(arg),
    }
}

fn is_unknown(ty: Type) -> bool {
    ty.base == Base::Unknown
}

fn is_exact(param: Param, arg: Type) -> bool {
    matches!(param, Param::Type(ty) if ty.same(arg))
}

/// The category of a parameter; pseudo types have one of their own.
fn category(param: Param) -> (Category, bool) {
    match param {
        Param::Type(ty) => (ty.category(), ty.is_preferred()),
        _ => (Category::Pseudo, false),
    }
}

/// Keeps the candidates with the highest score.
fn keep_best(candidates: &mut Vec<&'static Function>, score: impl Fn(&Function) -> usize) {
    let best = candidates.iter().map(|f| score(f)).max().unwrap_or(0);
    candidates.retain(|f| score(f) == best);
}

enum Choice {
    One(&'static Function),
    None,
    Several,
}

/// Steps 1 to 5 of the module's description.
fn choose(mut candidates: Vec<&'static Function>, args: &[Type]) -> Choice {
    let exact = |f: &Function| args.iter().enumerate().all(|(i, arg)| is_exact(param_at(f, i), *arg));
    if let Some(function) = candidates.iter().find(|f| exact(f)) {
        return Choice::One(function);
    }
    candidates.retain(|f| args.iter().enumerate().all(|(i, arg)| accepts(param_at(f, i), *arg)));
    candidates.retain(|f| specialize(f, args).is_some());
    let done = |candidates: &[&'static Function]| match candidates {
        [] => Some(Choice::None),
        [one] => Some(Choice::One(one)),
        _ => None,
    };
    if let Some(choice) = done(&candidates) {
        return choice;
    }
    let known = || args.iter().enumerate().filter(|(_, arg)| !is_unknown(**arg));
    keep_best(&mut candidates, |f| known().filter(|(i, arg)| is_exact(param_at(f, *i), **arg)).count());
    if let Some(choice) = done(&candidates) {
        return choice;
    }
    keep_best(&mut candidates, |f| {
        known()
            .filter(|(i, arg)| {
                let param = param_at(f, *i);
                let (category, preferred) = category(param);
                is_exact(param, **arg) || (preferred && category == arg.category())
            })
            .count()
    });
    if let Some(choice) = done(&candidates) {
        return choice;
    }
    if known().count() == args.len() {
        return Choice::Several;
    }
    by_category(&mut candidates, args);
    if let Some(choice) = done(&candidates) {
        return choice;
    }
    // step 5
    let mut types = known().map(|(_, arg)| *arg);
    if let Some(first) = types.next()
        && types.all(|ty| ty.same(first))
    {
        let all: Vec<Type> = args.iter().map(|arg| if is_unknown(*arg) { first } else { *arg }).collect();
        let assumed = |f: &Function| {
            all.iter().enumerate().all(|(i, arg)| accepts(param_at(f, i), *arg))
                && specialize(f, &all).is_some()
        };
        let fits: Vec<_> = candidates.iter().filter(|f| assumed(f)).collect();
        if let [one] = fits[..] {
            return Choice::One(one);
        }
    }
    Choice::Several
}

/// Step 4.
fn by_category(candidates: &mut Vec<&'static Function>, args: &[Type]) {
    let mut wanted: Vec<Option<(Category, bool)>> = vec![None; args.len()];
    for (i, _) in args.iter().enumerate().filter(|(_, arg)| is_unknown(**arg)) {
        let mut slot: Option<(Category, bool)> = None;
        let mut conflict = false;
        for function in candidates.iter() {
            let (category, preferred) = category(param_at(function, i));
            slot = match slot {
                None => Some((category, preferred)),
                Some((has, preferred_before)) if has == category => {
                    Some((has, preferred_before || preferred))
                }
                Some(_) if category == Category::String => Some((category, preferred)),
                Some(has) => {
                    conflict = true;
                    Some(has)
                }
            };
        }
        if conflict && slot.is_none_or(|(category, _)| category != Category::String) {
            return;
        }
        wanted[i] = slot;
    }
    let fits = |f: &Function| {
        wanted.iter().enumerate().all(|(i, slot)| match slot {
            None => true,
            Some((category_wanted, preferred_wanted)) => {
                let (category, preferred) = category(param_at(f, i));
                category == *category_wanted && (preferred || !preferred_wanted)
            }
        })
    };
    if candidates.iter().any(|f| fits(f)) {
        candidates.retain(|f| fits(f));
    }
}

/// The types that arguments are cast to, and that of the result; None if polymorphic parameters disagree.
fn specialize(function: &Function, args: &[Type]) -> Option<(Vec<Type>, Type)> {
    let element = element_type(function, args)?;
    let range = range_type(function, args)?;
    let compatible = compatible_type(function, args)?;
    let array = |ty: Option<Type>| ty.and_then(Type::to_array);
    let resolve = |param: Param, arg: Option<Type>| {
        Some(match param {
            Param::Type(ty) => match arg {
                // a modifier does not matter to a function, except that `char(n)` is shown with its blanks
                Some(arg) if arg.same(ty) => arg,
                _ => ty,
            },
            Param::AnyElement | Param::AnyNonArray | Param::AnyEnum => element?,
            Param::AnyRange => range?,
            Param::AnyArray => match arg {
                Some(arg) if arg.element().is_some() => arg,
                _ => array(element)?,
            },
            Param::AnyCompatible | Param::AnyCompatibleNonArray => compatible?,
            Param::AnyCompatibleArray => array(compatible)?,
            Param::Any => match arg? {
                arg if is_unknown(arg) => Type::TEXT,
                arg => arg,
            },
        })
    };
    let types: Option<Vec<_>> =
        args.iter().enumerate().map(|(i, arg)| resolve(param_at(function, i), Some(*arg))).collect();
    let result = match function.result {
        Param::Type(ty) => ty,
        other => resolve(other, None)?,
    };
    Some((types?, result))
}

/// What `anyelement` means in a call. The outer None says that the arguments disagree.
fn element_type(function: &Function, args: &[Type]) -> Option<Option<Type>> {
    let mut element: Option<Type> = None;
    let mut used = false;
    for (i, arg) in args.iter().enumerate() {
        let found = match param_at(function, i) {
            Param::AnyElement | Param::AnyNonArray | Param::AnyEnum => *arg,
            Param::AnyArray => arg.element().unwrap_or(*arg),
            Param::AnyRange => arg.as_range().map_or(*arg, |range| range.subtype()),
            _ => continue,
        };
        used = true;
        if is_unknown(found) {
            continue;
        }
        match element {
            Some(before) if !before.same(found) => return None,
            Some(before) if before != found => element = Some(found.plain()),
            _ => element = Some(found),
        }
    }
    // only literals: nothing says what they are
    match element {
        None if used => None,
        _ => Some(element.map(Type::of_result)),
    }
}

/// What `anyrange` means in a call. The outer None says that the arguments disagree, or are literals only.
fn range_type(function: &Function, args: &[Type]) -> Option<Option<Type>> {
    let of_ranges = |(i, _): &(usize, &Type)| param_at(function, *i) == Param::AnyRange;
    let mut ranges = args.iter().enumerate().filter(of_ranges).map(|(_, arg)| *arg).peekable();
    if ranges.peek().is_none() {
        return Some(None);
    }
    let mut known = ranges.filter(|arg| !is_unknown(*arg));
    let first = known.next()?;
    known.all(|arg| arg.same(first)).then_some(Some(first.plain()))
}

/// What `anycompatible` means in a call. The outer None says that there is no common type.
fn compatible_type(function: &Function, args: &[Type]) -> Option<Option<Type>> {
    let mut types = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        match param_at(function, i) {
            Param::AnyCompatible | Param::AnyCompatibleNonArray => types.push(*arg),
            Param::AnyCompatibleArray => types.push(arg.element().unwrap_or(*arg)),
            _ => {}
        }
    }
    if types.is_empty() {
        return Some(None);
    }
    common_type(&types, "anycompatible").ok().map(|ty| Some(ty.of_result()))
}

/// The types of arguments, as messages show them.
pub fn quote_types(args: &[Type]) -> String {
    args.iter().map(|arg| arg.sql_name()).collect::<Vec<_>>().join(", ")
}

/// The function of a name, for arguments of these types.
///
/// # Errors
///
/// 42883 if there is none, 42725 if several fit equally well.
pub fn resolve_function(name: &str, args: &[Type]) -> Result<Resolved> {
    choose_named(name, functions_named(name).iter(), args)
}

/// As [`resolve_function`], among the signatures of aggregates.
pub(crate) fn choose_aggregate(
    name: &str,
    signatures: impl Iterator<Item = &'static Function>,
    args: &[Type],
) -> Result<Resolved> {
    choose_named(name, signatures, args)
}

fn choose_named(
    name: &str,
    candidates: impl Iterator<Item = &'static Function>,
    given: &[Type],
) -> Result<Resolved> {
    let own: Vec<Type> = given.iter().map(|ty| ty.value_type()).collect();
    let args = own.as_slice();
    let candidates: Vec<_> = candidates.filter(|f| takes(f, args.len())).collect();
    // polymorphic functions of nothing but literals
    let is_open = |f: &Function| {
        let polymorphic = |i: usize| !matches!(param_at(f, i), Param::Type(_));
        f.params.iter().any(|p| matches!(p, Param::AnyElement | Param::AnyNonArray | Param::AnyArray))
            && args.iter().enumerate().all(|(i, arg)| accepts(param_at(f, i), *arg))
            && specialize(f, args).is_none()
            && args.iter().enumerate().all(|(i, arg)| !polymorphic(i) || is_unknown(*arg))
    };
    let open = candidates.iter().filter(|f| is_open(f)).count();
    let shown = || format!("function {name}({})", quote_types(given));
    // PostgreSQL has the one for addresses, too, and the other for numbers of transactions: nothing says which of them
    // a literal is
    if matches!(name, "trunc" | "age") && args.len() == 1 && is_unknown(args[0]) {
        return Err(several(&shown()));
    }
    match choose(candidates, args) {
        Choice::One(function) => {
            let mut resolved = finish(function, args).ok_or_else(|| undefined(shown(), "function"))?;
            // what takes anything takes domains as what they are
            for (at, given) in given.iter().enumerate() {
                if given.domain.is_some() && param_at(function, at) == Param::Any {
                    resolved.args[at] = *given;
                }
            }
            Ok(resolved)
        }
        Choice::None if open == 1 => {
            let message = "could not determine polymorphic type because input has type unknown";
            Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
        }
        Choice::None if open == 0 => Err(undefined(shown(), "function")),
        Choice::None | Choice::Several => Err(several(&shown())),
    }
}

/// 42725 for a call that several functions fit.
fn several(call: &str) -> SqlError {
    let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    SqlError::new(SqlState::AMBIGUOUS_FUNCTION, format!("{call} is not unique")).hint(hint)
}

/// 42725: several functions of this name take these arguments equally well.
#[cold]
pub fn ambiguous_function(name: &str, args: &[Type]) -> SqlError {
    several(&format!("function {name}({})", quote_types(args)))
}

/// Whether a function of the name takes just one argument of this very type.
pub fn has_exactly(name: &str, arg: Type) -> bool {
    functions_named(name).iter().any(|f| takes(f, 1) && is_exact(param_at(f, 0), arg))
}

/// 42883: there is no function of this name for these arguments.
#[cold]
pub fn missing_function(name: &str, args: &[Type]) -> SqlError {
    undefined(format!("function {name}({})", quote_types(args)), "function")
}

fn finish(function: &'static Function, args: &[Type]) -> Option<Resolved> {
    let (args, result) = specialize(function, args)?;
    Some(Resolved { function, args, result })
}

fn undefined(what: String, kind: &str) -> SqlError {
    let hint = format!(
        "No {kind} matches the given name and argument types. You might need to add explicit type casts."
    );
    SqlError::new(SqlState::UNDEFINED_FUNCTION, format!("{what} does not exist")).hint(hint)
}

/// Operators of JSON that ranges, geometry and arrays have as well.
const OF_MANY_TYPES: [&str; 4] = ["@>", "<@", "&&", "?|"];

/// The operator of a name, for operands of these types; without a left one it is a prefix operator.
///
/// # Errors
///
/// 42883 if there is none, 42725 if several fit equally well.
pub fn resolve_operator(name: &str, left: Option<Type>, right: Type) -> Result<Resolved> {
    let name = if name == "!=" { "<>" } else { name };
    let args: Vec<Type> = left.into_iter().chain([right]).map(Type::value_type).collect();
    let candidates: Vec<_> = functions_named(name).iter().filter(|f| takes(f, args.len())).collect();
    // a literal beside a type is first tried as that type
    if let [a, b] = args[..]
        && is_unknown(a) != is_unknown(b)
    {
        let known = if is_unknown(a) { b } else { a };
        let both = [known.plain(), known.plain()];
        let exact = candidates.iter().find(|f| (0..2).all(|i| is_exact(param_at(f, i), both[i])));
        if let Some(resolved) = exact.and_then(|f| finish(f, &args)) {
            return Ok(resolved);
        }
    }
    let shown = || match left {
        Some(left) => format!("{} {name} {}", left.sql_name(), right.sql_name()),
        None => format!("{name} {}", right.sql_name()),
    };
    let several = || {
        let hint = "Could not choose a best candidate operator. You might need to add explicit type casts.";
        let message = format!("operator is not unique: {}", shown());
        SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message).hint(hint)
    };
    // PostgreSQL has these for types that are not here, too: nothing says which of them literals are
    if OF_MANY_TYPES.contains(&name) && args.len() == 2 && args.iter().all(|arg| is_unknown(*arg)) {
        return Err(several());
    }
    let none = || {
        let hint = "No operator matches the given name and argument types. You might need to add explicit type casts.";
        let message = format!("operator does not exist: {}", shown());
        SqlError::new(SqlState::UNDEFINED_FUNCTION, message).hint(hint)
    };
    match choose(candidates, &args) {
        Choice::One(function) => finish(function, &args).ok_or_else(none),
        Choice::None => Err(none()),
        Choice::Several => Err(several()),
    }
}

/// A function call by its name, or an operator if the name is one: for tests and tools.
///
/// # Errors
///
/// As [`resolve_function`] and [`resolve_operator`].
pub fn resolve_call(name: &str, args: &[Type]) -> Result<Resolved> {
    match (name.starts_with(|c: char| c.is_alphabetic() || c == '_'), args) {
        (false, [right]) => resolve_operator(name, None, *right),
        (false, [left, right]) => resolve_operator(name, Some(*left), *right),
        _ => resolve_function(name, args),
    }
}

/// The type that the branches of CASE, COALESCE, GREATEST, LEAST, UNION, VALUES, IN and ARRAY have in common.
/// `what` names the construct in messages.
///
/// # Errors
///
/// 42804 if they have none.
pub fn common_type(types: &[Type], what: &str) -> Result<Type> {
    let Some(first) = types.first() else { return Ok(Type::TEXT) };
    if types.iter().all(|ty| ty == first) && !is_unknown(*first) {
        return Ok(*first);
    }
    // what is not the same domain is what the domains are over
    let types: Vec<Type> = types.iter().map(|ty| ty.value_type()).collect();
    let mut chosen: Option<Type> = None;
    for ty in types.iter().filter(|ty| !is_unknown(**ty)) {
        let ty = ty.plain();
        let Some(before) = chosen else {
            chosen = Some(ty);
            continue;
        };
        if ty.same(before) {
            continue;
        }
        if ty.category() != before.category() {
            let message =
                format!("{what} types {} and {} cannot be matched", before.sql_name(), ty.sql_name());
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let up = find_cast(before, ty, Context::Implicit).is_some();
        let down = find_cast(ty, before, Context::Implicit).is_some();
        if !before.is_preferred() && up && !down {
            chosen = Some(ty);
        }
    }
    let Some(chosen) = chosen else { return Ok(Type::TEXT) };
    for ty in types.iter().filter(|ty| !is_unknown(**ty)) {
        if !ty.same(chosen) && find_cast(*ty, chosen, Context::Implicit).is_none() {
            let message = format!("{what} could not convert type {} to {}", ty.sql_name(), chosen.sql_name());
            return Err(SqlError::new(SqlState::CANNOT_COERCE, message));
        }
    }
    // only types that are all the same share a modifier: a literal has none, and may be longer
    Ok(chosen)
}
