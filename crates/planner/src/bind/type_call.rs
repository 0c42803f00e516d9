//! Calls of what is no function: of a type, as `int4('101')` is a cast, and of a field, as `a(t)` is `t.a`.

use super::{Binder, Typed};
use crate::plan::expr::Expr;
use scaledb_types::cast::{Context, find_cast};
use scaledb_types::func::{ambiguous_function, has_exactly, missing_function};
use scaledb_types::{Base, Category, Result, SqlError, SqlState, Type};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{AccessExpr, Expr as Ast, FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart};

/// Functions of PostgreSQL with the name of a type that take several types, none of which a parameter can be said to be
/// meant for.
const OF_SEVERAL: [&str; 10] =
    ["bool", "float4", "float8", "int2", "int4", "int8", "money", "numeric", "time", "timestamptz"];

/// What a parameter becomes that such a function of PostgreSQL is called with.
fn parameter_of(name: &str) -> Option<Type> {
    Some(match name {
        "char" | "regclass" => Type::TEXT,
        "cidr" => Type::INET,
        "date" | "timestamp" | "timetz" => Type::TIMESTAMPTZ,
        "interval" => Type::of(Base::Time),
        "macaddr" => Type::of(Base::Macaddr8),
        "macaddr8" => Type::of(Base::Macaddr),
        "oid" => Type::INT8,
        _ => return None,
    })
}

impl Binder<'_> {
    /// The type whose name a function has.
    fn type_called(&mut self, name: &str) -> Option<Type> {
        let known = Type::by_typname(name).or_else(|| self.own_type_named(name))?;
        (known.base != Base::Unknown && known.category() != Category::Pseudo).then_some(known)
    }

    /// A call with one argument of a function that has the name of a type: a cast if the argument is a literal, or
    /// becomes the type without a function, unless a function takes just this. `None` for all other calls.
    ///
    /// # Errors
    /// Those of the cast; 42725 for a parameter that several types can be meant for.
    pub(super) fn type_call(&mut self, name: &str, args: &[Typed]) -> Result<Option<Typed>> {
        let [arg] = args else { return Ok(None) };
        let Some(ty) = self.type_called(name) else { return Ok(None) };
        if arg.ty.base == Base::Unknown && !arg.ty.array {
            if matches!(arg.expr, Expr::Const(_)) || ty.category() == Category::String && name != "char" {
                return self.coerce(arg.clone(), ty, Context::Explicit).map(Some);
            }
            if OF_SEVERAL.contains(&name) {
                return Err(ambiguous_function(name, &[arg.ty]));
            }
            let Some(parameter) = parameter_of(name) else { return Err(missing_function(name, &[arg.ty])) };
            let given = self.coerce(arg.clone(), parameter, Context::Implicit)?;
            return self.coerce(given, ty, Context::Explicit).map(Some);
        }
        if has_exactly(name, arg.ty.value_type()) {
            return Ok(None);
        }
        // a row is no text, though it is printed as one
        let cast = find_cast(arg.ty, ty, Context::Explicit).filter(|cast| cast.needs_no_code());
        match cast {
            Some(_) if arg.ty.base != Base::Record => {
                self.coerce(arg.clone(), ty, Context::Explicit).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A call of what no function is called, if the name is that of a type: there are functions for the casts that need
    /// one.
    ///
    /// # Errors
    /// `missing` if there is no such cast, and those of the cast.
    pub(super) fn cast_called(
        &mut self,
        name: &str,
        mut args: Vec<Typed>,
        missing: SqlError,
    ) -> Result<Typed> {
        let Some(ty) = self.type_called(name).filter(|_| args.len() == 1) else { return Err(missing) };
        let of_system = ty.domain.is_none() && !ty.array && !matches!(ty.base, Base::Enum(_));
        let Some(arg) = args.pop().filter(|arg| arg.ty.base != Base::Record && of_system) else {
            return Err(missing);
        };
        self.coerce(arg, ty, Context::Explicit).map_err(|own| match own.code() {
            SqlState::CANNOT_COERCE => missing,
            _ => own,
        })
    }

    /// The field of a row that a call names: `a(t)` is `t.a` where no function takes the row. `None` if there is none.
    pub(super) fn field_called(&mut self, name: &ObjectName, list: &[FunctionArg]) -> Option<Typed> {
        let ([ObjectNamePart::Identifier(field)], [FunctionArg::Unnamed(arg)]) = (&name.0[..], list) else {
            return None;
        };
        let row = match arg {
            FunctionArgExpr::Expr(row) => Ast::Nested(Box::new(row.clone())),
            FunctionArgExpr::QualifiedWildcard(table) => {
                Ast::QualifiedWildcard(table.clone(), AttachedToken::empty())
            }
            _ => return None,
        };
        self.accesses(&row, &[AccessExpr::Dot(Ast::Identifier(field.clone()))]).ok()
    }
}
