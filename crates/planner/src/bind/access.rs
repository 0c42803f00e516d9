//! Elements of arrays and jsonb, and fields of rows.

use super::names::fold;
use super::{Binder, Typed, unsupported};
use crate::functions::ScalarFn;
use crate::plan::expr::Expr;
use scaledb_types::cast::{Context, find_cast};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{AccessExpr, Expr as Ast, Subscript};

impl Binder<'_> {
    /// `t.c[1]`, `(f(x)).c`: elements of arrays and fields of rows.
    pub(super) fn accesses(&mut self, root: &Ast, chain: &[AccessExpr]) -> Result<Typed> {
        let mut chain = chain.iter().peekable();
        let mut value = match root {
            // the name of a column goes on behind the first word
            Ast::Identifier(first) => {
                let mut parts = vec![first.clone()];
                while let Some(AccessExpr::Dot(Ast::Identifier(part))) = chain.peek() {
                    parts.push(part.clone());
                    chain.next();
                }
                if parts.len() == 1 { self.identifier(first)? } else { self.compound(&parts)? }
            }
            other => match (self.row_fields(other)?, chain.peek()) {
                (Some(fields), Some(AccessExpr::Dot(Ast::Identifier(name)))) => {
                    chain.next();
                    let name = fold(name);
                    let field = fields.into_iter().find(|(field, _)| *field == name);
                    field.map(|(_, field)| field).ok_or_else(|| {
                        let what = format!("column \"{name}\" not found in data type record");
                        SqlError::new(SqlState::UNDEFINED_COLUMN, what)
                    })?
                }
                _ => self.expr(other)?,
            },
        };
        while let Some(access) = chain.next() {
            value = match access {
                AccessExpr::Subscript(first) => {
                    let mut subscripts = vec![first];
                    while let Some(AccessExpr::Subscript(next)) = chain.peek() {
                        subscripts.push(next);
                        chain.next();
                    }
                    self.subscripts(value, &subscripts)?
                }
                AccessExpr::Dot(Ast::Identifier(name)) => self.field(&value, &fold(name))?,
                AccessExpr::Dot(_) => return Err(unsupported("this field of a composite value")),
            };
        }
        Ok(value)
    }

    /// All fields of a row.
    ///
    /// # Errors
    /// 42809 for what is no row, 0A000 for one whose fields are not known.
    pub(super) fn fields_of_record(&mut self, value: &Typed) -> Result<Vec<(String, Typed)>> {
        let Some(fields) = self.fields_of(&value.expr).filter(|_| value.ty == Type::RECORD) else {
            return Err(if value.ty == Type::RECORD {
                unsupported("the fields of this composite value")
            } else {
                let what = format!("type {} is not composite", value.ty.sql_name());
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
            });
        };
        let composite = matches!(&value.expr, Expr::Slot(slot) if self.composites.contains_key(slot));
        let mut all = Vec::with_capacity(fields.names.len());
        for (number, name) in fields.names.iter().enumerate() {
            let field = if composite {
                self.field(value, name)?
            } else {
                let call = Expr::Call(Box::new((ScalarFn::field(number), vec![value.expr.clone()])));
                Typed::new(call, fields.types[number])
            };
            all.push((name.clone(), field));
        }
        Ok(all)
    }

    /// A field of a row.
    fn field(&mut self, value: &Typed, name: &str) -> Result<Typed> {
        let row = match value.expr {
            Expr::Slot(slot) => self.composites.get(&slot),
            _ => None,
        };
        let Some(row) = row else {
            if let Some(fields) = self.fields_of(&value.expr).filter(|_| value.ty == Type::RECORD) {
                let number = fields.position(name).ok_or_else(|| no_field(name))?;
                let call = Expr::Call(Box::new((ScalarFn::field(number), vec![value.expr.clone()])));
                return Ok(Typed::new(call, fields.types[number]));
            }
            return Err(if value.ty.base == Base::Record {
                unsupported("a field of this composite value")
            } else {
                let what = format!(
                    "column notation .{name} applied to type {}, which is not a composite type",
                    value.ty.sql_name()
                );
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
            });
        };
        let found = row.iter().find(|(field, ..)| *field == name);
        let Some((_, slot, ty)) = found else { return Err(no_field(name)) };
        let (slot, ty) = (*slot, *ty);
        self.used[slot] = true;
        // queries inside of the row's read what they read of it
        if let Expr::Slot(row) = value.expr {
            for scope in self.scopes.iter_mut().filter(|scope| scope.outer.contains(&row)) {
                if !scope.outer.contains(&slot) {
                    scope.outer.push(slot);
                }
            }
        }
        Ok(Typed::new(Expr::Slot(slot), ty))
    }

    /// All subscripts that stand behind a value: one slice among them makes slices of all.
    fn subscripts(&mut self, value: Typed, subscripts: &[&Subscript]) -> Result<Typed> {
        if value.ty.base == Base::Jsonb && !value.ty.array {
            return self.json_subscripts(value, subscripts);
        }
        let ty = value.ty;
        // a name has 64 bytes, from 0, whatever is in it
        let bytes = matches!((ty.base, subscripts), (Base::Name, [Subscript::Index { .. }]));
        let bytes = (bytes && !ty.array).then_some(Type::CHAR);
        let element = ty.element().or(bytes).ok_or_else(|| {
            let what =
                format!("cannot subscript type {} because it does not support subscripting", ty.sql_name());
            SqlError::new(SqlState::DATATYPE_MISMATCH, what)
        })?;
        check_dimensions(subscripts)?;
        let (bounds, given) = self.bounds(subscripts)?;
        let args = std::iter::once(value.expr).chain(bounds).collect();
        Ok(match given {
            Some(given) => {
                // a part of a domain over arrays is none of the domain, and one of an int2vector or oidvector an array
                let whole = ty.without_domain();
                let ty = if whole.array { whole } else { element.to_array().unwrap_or(whole) };
                Typed::new(Expr::Call(Box::new((ScalarFn::slice(given), args))), ty)
            }
            None => Typed::new(Expr::Call(Box::new((ScalarFn::subscript(), args))), element),
        })
    }

    /// The numbers of subscripts; of slices two each, and which bounds are there: one that is left out is another thing
    /// than NULL.
    pub(super) fn bounds(&mut self, subscripts: &[&Subscript]) -> Result<(Vec<Expr>, Option<u16>)> {
        let slices = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
        let mut args = Vec::new();
        let mut given = 0u16;
        for subscript in subscripts {
            match subscript {
                Subscript::Index { index } if !slices => args.push(self.subscript_number(index)?),
                Subscript::Index { index } => {
                    given |= 3 << args.len();
                    args.push(Expr::Const(Value::Int4(1)));
                    args.push(self.subscript_number(index)?);
                }
                Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                    for bound in [lower_bound, upper_bound] {
                        given |= u16::from(bound.is_some()) << args.len();
                        args.push(match bound {
                            Some(bound) => self.subscript_number(bound)?,
                            None => Expr::Const(Value::Null),
                        });
                    }
                }
                Subscript::Slice { .. } => return Err(unsupported("a slice with a step")),
            }
        }
        Ok((args, slices.then_some(given)))
    }

    fn subscript_number(&mut self, ast: &Ast) -> Result<Expr> {
        let typed = self.expr(ast)?;
        if find_cast(typed.ty, Type::INT4, Context::Assignment).is_none() {
            let what = "array subscript must have type integer";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        Ok(self.coerce(typed, Type::INT4, Context::Assignment)?.expr)
    }

    /// Subscripts of jsonb are a path: keys, and integers that are numbers of elements.
    fn json_subscripts(&mut self, value: Typed, subscripts: &[&Subscript]) -> Result<Typed> {
        let mut args = vec![value];
        args.extend(self.path_steps(subscripts)?.0);
        self.call_typed("jsonb_extract_path", args)
    }

    /// The steps of a path of jsonb as texts, and whether the first is the number of an element.
    pub(super) fn path_steps(&mut self, subscripts: &[&Subscript]) -> Result<(Vec<Typed>, bool)> {
        let (mut args, mut array) = (Vec::with_capacity(subscripts.len()), false);
        for subscript in subscripts {
            let Subscript::Index { index } = subscript else {
                let what = "jsonb subscript does not support slices";
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
            };
            let typed = self.expr(index)?;
            args.push(match typed.ty.base {
                Base::Unknown => self.coerce(typed, Type::TEXT, Context::Implicit)?,
                _ if find_cast(typed.ty, Type::INT4, Context::Implicit).is_some() => {
                    array |= args.is_empty();
                    let number = self.coerce(typed, Type::INT4, Context::Implicit)?;
                    self.coerce(number, Type::TEXT, Context::Explicit)?
                }
                _ if find_cast(typed.ty, Type::TEXT, Context::Implicit).is_some() => {
                    self.coerce(typed, Type::TEXT, Context::Implicit)?
                }
                _ => {
                    let what = format!("subscript type {} is not supported", typed.ty.sql_name());
                    let hint = "jsonb subscript must be coercible to either integer or text.";
                    return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what).hint(hint));
                }
            });
        }
        Ok((args, array))
    }
}

/// Refuses more subscripts than an array has dimensions.
///
/// # Errors
/// 54000.
pub(super) fn check_dimensions(subscripts: &[&Subscript]) -> Result<()> {
    let (count, most) = (subscripts.len(), scaledb_types::array::MAX_DIMENSIONS);
    if count > most {
        let what = format!("number of array dimensions ({count}) exceeds the maximum allowed ({most})");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what));
    }
    Ok(())
}

/// 42703 for a field that a record does not have.
fn no_field(name: &str) -> SqlError {
    let what = format!("could not identify column \"{name}\" in record data type");
    SqlError::new(SqlState::UNDEFINED_COLUMN, what)
}
