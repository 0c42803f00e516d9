//! Assignment to elements of columns: `SET a[1] = 5`, `SET j['a'] = '1'`, `INSERT INTO t (a[1:2])`.

use super::access::check_dimensions;
use super::{Binder, Typed};
use crate::functions::{Assignment, ScalarFn};
use crate::plan::expr::Expr;
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type};
use sqlparser::ast::{AccessExpr, Subscript};

/// An element of a column.
pub(super) struct Element {
    function: ScalarFn,
    subscripts: Vec<Expr>,
    /// The type of its value.
    takes: Type,
}

impl Binder<'_> {
    /// The element of a column of this type that stands in the list of what gets values.
    ///
    /// # Errors
    /// 42804 if the type has no elements, or for a field of one.
    pub(super) fn element(&mut self, ty: Type, name: &str, chain: &[AccessExpr]) -> Result<Element> {
        let ty = ty.without_domain();
        let subscripts = chain.iter().map(|access| match access {
            AccessExpr::Subscript(subscript) => Ok(subscript),
            AccessExpr::Dot(field) => {
                let ty = ty.element().unwrap_or(ty).sql_name();
                let what = format!(
                    "cannot assign to field \"{field}\" of column \"{name}\" because its type {ty} is not a composite type"
                );
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
            }
        });
        let subscripts = subscripts.collect::<Result<Vec<&Subscript>>>()?;
        if ty.base == Base::Jsonb && !ty.array {
            let (steps, array) = self.path_steps(&subscripts)?;
            let subscripts = steps.into_iter().map(|step| step.expr).collect();
            let function = ScalarFn::assignment(Assignment::Path { array });
            return Ok(Element { function, subscripts, takes: ty });
        }
        let element = ty.element().ok_or_else(|| {
            let what =
                format!("cannot subscript type {} because it does not support subscripting", ty.sql_name());
            SqlError::new(SqlState::DATATYPE_MISMATCH, what)
        })?;
        check_dimensions(&subscripts)?;
        let (subscripts, given) = self.bounds(&subscripts)?;
        let (assignment, takes) = match given {
            Some(given) => (Assignment::Slice { element: element.plain(), given }, ty),
            None => (Assignment::Element { element: element.plain() }, element),
        };
        Ok(Element { function: ScalarFn::assignment(assignment), subscripts, takes })
    }

    /// A column of which elements were set, as a whole: a domain over arrays, say, looks at what it has become.
    ///
    /// # Errors
    /// What is wrong with what the domain demands.
    pub(super) fn of_parts(&mut self, column: Expr, ty: Type) -> Result<Expr> {
        match ty.as_domain() {
            Some(_) => Ok(self.coerce(Typed::new(column, ty.value_type()), ty, Context::Assignment)?.expr),
            None => Ok(column),
        }
    }

    /// A value as one of an element of a column.
    ///
    /// # Errors
    /// 42804.
    pub(super) fn element_value(&mut self, element: &Element, name: &str, value: Typed) -> Result<Expr> {
        let (from, to) = (value.ty, element.takes);
        self.assign(value, to, name).map_err(|error| match error.code() {
            SqlState::DATATYPE_MISMATCH => {
                let (to, from) = (to.sql_name(), from.sql_name());
                let what = format!(
                    "subscripted assignment to \"{name}\" requires type {to} but expression is of type {from}"
                );
                SqlError::new(SqlState::DATATYPE_MISMATCH, what)
                    .hint("You will need to rewrite or cast the expression.")
            }
            _ => error,
        })
    }

    /// A column with another value in an element of it.
    ///
    /// # Errors
    /// 42804.
    pub(super) fn with_element(
        &mut self,
        column: Expr,
        name: &str,
        element: Element,
        value: Typed,
    ) -> Result<Expr> {
        let value = self.element_value(&element, name, value)?;
        Ok(element.put(column, value))
    }
}

impl Element {
    /// A column with a value in the element.
    pub(super) fn put(self, column: Expr, value: Expr) -> Expr {
        let args = [column, value].into_iter().chain(self.subscripts).collect();
        Expr::Call(Box::new((self.function, args)))
    }
}
