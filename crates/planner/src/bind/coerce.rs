//! Values become those of another type, as far as the context allows.

use super::expr::{is_named, is_reg};
use super::{Binder, Typed};
use crate::functions::ScalarFn;
use crate::plan::expr::Expr;
use scaledb_types::cast::{Context, find_cast, no_cast};
use scaledb_types::func::{common_type, resolve_operator};
use scaledb_types::{Base, Category, Env, Result, SqlError, SqlState, Type, Value, calendar, weight};

/// From winter to summer, and to another time of day: microseconds.
const LATER: i64 = 200 * calendar::DAY_MICROS + 26_115_123_457;

impl Binder<'_> {
    /// Whether a literal means something else at another time, as `now` and `today` do, and a time of day in a zone
    /// that has summer time.
    fn is_momentary(&self, text: &str, ty: Type, value: &Value) -> bool {
        let category = ty.element().unwrap_or(ty).category();
        let has_words = || text.bytes().any(|b| b.is_ascii_alphabetic());
        if !matches!(category, Category::DateTime | Category::Range) || !has_words() {
            return false;
        }
        let later = Env { transaction_time: self.env.transaction_time + LATER, ..self.env.clone() };
        let same = |other: Value| Expr::Const(other).same(&Expr::Const(value.clone()));
        !Value::parse(text, ty, &later).is_ok_and(same)
    }

    /// Makes an expression one of a type.
    ///
    /// # Errors
    /// 42804 or 42846 if there is no such cast in the context; 22P02 for a literal that is no such value.
    pub fn coerce(&mut self, typed: Typed, to: Type, context: Context) -> Result<Typed> {
        if to.domain.is_some() {
            // what is one of the domain was looked at, with what it demands now
            self.depend_on(to);
            return if typed.ty == to { Ok(typed) } else { self.coerce_to_domain(typed, to, context) };
        }
        let explicit = context == Context::Explicit;
        if typed.ty.base == Base::Unknown && !typed.ty.array {
            match typed.expr {
                Expr::Const(Value::Null) => return Ok(Typed::new(typed.expr, to)),
                Expr::Const(Value::Text(text)) if to.base != Base::Unknown => {
                    if is_named(to) && !text.starts_with(|c: char| c.is_ascii_digit()) {
                        return self.session_cast(Typed::constant(Value::Text(text), Type::TEXT), to);
                    }
                    // the fields of an interval's type say what a number without a unit is; not in arrays
                    let modified = if to.base == Base::Interval { !to.array } else { !explicit };
                    let read_as = if modified { to } else { to.plain() };
                    let value = Value::parse(&text, read_as, self.env).map_err(|error| {
                        // it may be one but for its length, which PostgreSQL finds when it is stored
                        let fits = read_as != to.plain() && Value::parse(&text, to.plain(), self.env).is_ok();
                        if fits { error } else { self.beginning_at(typed.start, error) }
                    })?;
                    self.momentary |= self.is_momentary(&text, read_as, &value);
                    let value = scaledb_types::cast::apply_typmod(value, to, explicit)?;
                    return Ok(Typed::constant(value, to));
                }
                Expr::Param(number) => {
                    // a literal in its place would be read by the fields of the type, a client's value is not
                    self.wants_values |= to.base == Base::Interval && !to.array && to.typmod != -1;
                    let plain = if to.base == Base::Unknown { Type::TEXT } else { to.plain() };
                    let ty = match to.base {
                        Base::Unknown => *self.params[number].get_or_insert(plain),
                        _ => self.decide_parameter(number, plain)?,
                    };
                    if ty.domain.is_some() {
                        let typed = self.parameter_of_domain(number, ty)?;
                        return self.coerce(typed, to, context);
                    }
                    return self.coerce(Typed::new(Expr::Param(number), ty), to, context);
                }
                _ => {}
            }
        }
        // what is of a domain is of its base
        let from = typed.ty;
        let typed = Typed { ty: typed.ty.value_type(), ..typed };
        if typed.ty == to {
            return Ok(typed);
        }
        if is_reg(to) && typed.ty.is_text() && explicit || is_reg(typed.ty) && to.is_text() {
            return self.session_cast(typed, to);
        }
        let Some(cast) = find_cast(typed.ty, to, context) else {
            return Err(no_cast(from, to));
        };
        let is_string = |ty: Type| ty.category() == Category::String || ty.array && is_string_array(ty);
        if typed.ty.array && is_named(typed.ty) && is_string(to)
            || to.array && is_named(to) && is_string(typed.ty)
        {
            return self.session_cast(typed, to);
        }
        if cast.is_noop() {
            return Ok(Typed::new(typed.expr, to));
        }
        let function = ScalarFn::cast(cast);
        if let Expr::Const(value) = &typed.expr {
            // dates and times depend on the session's zone
            if !function.is_stable()
                // one that fails does so where it is evaluated, if it is
                && let Ok(result) = function.call(self.env, std::slice::from_ref(value))
                && self.is_worth_keeping(&result, to, std::slice::from_ref(value))
            {
                return Ok(Typed::constant(result, to));
            }
        }
        Ok(Typed::new(Expr::Call(Box::new((function, vec![typed.expr]))), to))
    }

    /// An expression that is used again: a parameter has the type by now that its first use has given it.
    pub(super) fn as_known(&self, typed: &Typed) -> Typed {
        match typed.expr {
            Expr::Param(number) if typed.ty.base == Base::Unknown => {
                Typed::new(Expr::Param(number), self.params[number].unwrap_or(typed.ty))
            }
            _ => typed.clone(),
        }
    }

    /// Whether a plan may keep a value instead of the constants that it is made of. Plans are cached by their number:
    /// a short text must not become a large one.
    pub(super) fn is_worth_keeping(&self, value: &Value, ty: Type, of: &[Value]) -> bool {
        const SMALL: usize = 1_024;
        let bytes = match value {
            // how many digits it has is not known otherwise
            Value::Numeric(_) => value.to_text(ty, self.env).map_or(0, |text| text.len()),
            value => weight(value),
        };
        bytes <= SMALL + of.iter().map(weight).sum::<usize>()
    }

    /// Assigns an expression to a column.
    ///
    /// # Errors
    /// 42804.
    pub fn assign(&mut self, typed: Typed, to: Type, column: &str) -> Result<Expr> {
        let (from, start) = (typed.ty, typed.start);
        match self.coerce(typed, to, Context::Assignment) {
            Ok(typed) => Ok(typed.expr),
            Err(error) if error.code() == SqlState::CANNOT_COERCE => {
                Err(self.beginning_at(start, not_of_column(column, to, from)))
            }
            Err(error) => Err(error),
        }
    }

    /// Says what type a parameter has, if nothing has said it before: the type that it has.
    ///
    /// # Errors
    /// 42P08 if it has another one.
    pub(super) fn decide_parameter(&mut self, number: usize, to: Type) -> Result<Type> {
        let ty = *self.params[number].get_or_insert(to);
        if ty != to {
            let what = format!("inconsistent types deduced for parameter ${}", number + 1);
            let detail = format!("{} versus {}", ty.sql_name(), to.sql_name());
            return Err(SqlError::new(SqlState::AMBIGUOUS_PARAMETER, what).detail(detail));
        }
        Ok(ty)
    }

    /// Converts expressions to their common type.
    pub fn unify(&mut self, list: Vec<Typed>, what: &str) -> Result<(Vec<Expr>, Type)> {
        let ty = common_of(&list, what)?;
        let mut exprs = Vec::with_capacity(list.len());
        for typed in list {
            exprs.push(self.coerce(typed, ty, Context::Implicit)?.expr);
        }
        Ok((exprs, ty))
    }

    /// Converts the operands of a comparison to the type that the operator compares: blanks at the end of a
    /// `varchar` do not count beside a `char`.
    pub fn operands(&mut self, name: &str, left: Typed, right: Typed, what: &str) -> Result<(Expr, Expr)> {
        let ty = compared_as(name, left.ty, right.ty, what)?;
        let left = self.coerce(left, ty, Context::Implicit)?.expr;
        let right = self.coerce(right, ty, Context::Implicit)?.expr;
        Ok((left, right))
    }
}

/// 42804: drivers know it by the name of the routine, and prepare the statement again, since a parameter of it may have
/// another type by now.
#[cold]
fn not_of_column(column: &str, to: Type, from: Type) -> SqlError {
    let (to, from) = (to.sql_name(), from.sql_name());
    let what = format!("column \"{column}\" is of type {to} but expression is of type {from}");
    let mut error = SqlError::new(SqlState::DATATYPE_MISMATCH, what)
        .hint("You will need to rewrite or cast the expression.");
    error.fields_mut().routine = Some("transformAssignedExpr");
    error
}

/// Whether it is the type of arrays of texts.
fn is_string_array(ty: Type) -> bool {
    ty.element().is_some_and(|element| element.category() == Category::String)
}

/// The type that values of two types are compared as.
///
/// # Errors
/// 42883: there is no such operator.
pub(super) fn compared_as(name: &str, left: Type, right: Type, what: &str) -> Result<Type> {
    let resolved = resolve_operator(name, Some(left), right);
    match resolved {
        Ok(resolved) if resolved.args[0].same(resolved.args[1]) => Ok(resolved.args[0].plain()),
        // integers of several widths, say
        Ok(_) => common_type(&[left, right], what).map(Type::plain),
        Err(error) => Err(error),
    }
}

/// The type that expressions have in common; one that is NULL takes any.
pub(super) fn common_of<'t>(list: impl IntoIterator<Item = &'t Typed>, what: &str) -> Result<Type> {
    let is_null = |typed: &Typed| {
        typed.ty.base == Base::Unknown && !typed.ty.array && matches!(typed.expr, Expr::Const(Value::Null))
    };
    let (nulls, mut types): (Vec<&Typed>, Vec<&Typed>) = list.into_iter().partition(|typed| is_null(typed));
    if types.is_empty() {
        types = nulls.clone();
    }
    let types: Vec<Type> = types.into_iter().map(|typed| typed.ty).collect();
    let common = common_type(&types, what)?;
    // a NULL has no modifier, and so they do not have one in common; COALESCE passes it over
    Ok(match nulls.is_empty() {
        true => common,
        false if what == "COALESCE" => common.value_type(),
        false => common.of_result(),
    })
}
