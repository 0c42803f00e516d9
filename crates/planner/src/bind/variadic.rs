//! Calls whose last argument is an array with the others: `format('%s, %s', VARIADIC ARRAY['a', 'b'])`.

use super::function::plain_arg;
use super::{Binder, Typed};
use crate::functions::ScalarFn;
use crate::plan::expr::Expr;
use scaledb_parse::VARIADIC;
use scaledb_types::func::resolve_function;
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type};
use sqlparser::ast::{Expr as Ast, FunctionArg, FunctionArgExpr};

/// The array of a VARIADIC argument.
pub(super) fn spread(arg: &FunctionArg) -> Option<&Ast> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Prefixed { prefix, value })) => {
            (prefix.quote_style.is_none() && prefix.value == VARIADIC).then_some(&**value)
        }
        _ => None,
    }
}

/// Whether a function of the system takes any number of arguments of any types.
pub(super) fn takes_any(name: &str) -> bool {
    matches!(
        name,
        "concat"
            | "concat_ws"
            | "format"
            | "num_nulls"
            | "num_nonnulls"
            | "json_build_array"
            | "jsonb_build_array"
            | "json_build_object"
            | "jsonb_build_object"
    )
}

/// Whether the first argument of such a function is a text.
pub(super) fn begins_with_text(name: &str) -> bool {
    matches!(name, "concat_ws" | "format")
}

impl Binder<'_> {
    /// A call with VARIADIC; `None` if it is none.
    ///
    /// # Errors
    /// 42804 for what is no array; 42883 for a function that takes no number of arguments.
    pub(super) fn variadic_call(&mut self, name: &str, list: &[FunctionArg]) -> Result<Option<Typed>> {
        let Some((last, others)) = list.split_last() else { return Ok(None) };
        let Some(array) = spread(last) else { return Ok(None) };
        let mut args = Vec::with_capacity(others.len());
        for arg in others {
            args.push(self.expr(plain_arg(arg)?)?);
        }
        let takes_any = takes_any(name);
        let path = matches!(
            name,
            "json_extract_path" | "json_extract_path_text" | "jsonb_extract_path" | "jsonb_extract_path_text"
        );
        let all = self.expr(array)?;
        let unknown = all.ty.base == Base::Unknown && !all.ty.array;
        // the array stands for all arguments that may be many
        let before = usize::from(path || begins_with_text(name));
        if !takes_any && !path || args.len() != before {
            let types: Vec<Type> = args.iter().map(|arg| arg.ty).chain([all.ty]).collect();
            return Err(scaledb_types::func::missing_function(name, &types));
        }
        if !all.ty.array && (takes_any || !unknown) {
            if takes_any {
                let what = "VARIADIC argument must be an array";
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
            }
            let types: Vec<Type> = args.iter().map(|arg| arg.ty).chain([all.ty]).collect();
            return Err(scaledb_types::func::missing_function(name, &types));
        }
        if takes_any {
            let mut given = args.into_iter().chain([all]).collect();
            if !name.starts_with("num_") {
                given = self.printed(given)?;
            }
            let element = |ty: Type| ty.element().unwrap_or(Type::TEXT);
            let types: Vec<Type> = given.iter().map(|arg| arg.ty).collect();
            let types: Vec<Type> = types
                .iter()
                .enumerate()
                .map(|(at, ty)| if at == before { element(*ty) } else { *ty })
                .collect();
            let resolved = resolve_function(name, &types)?;
            let mut exprs = Vec::with_capacity(given.len());
            for (at, arg) in given.into_iter().enumerate() {
                let to = if at == before { arg.ty } else { resolved.args[at] };
                exprs.push(self.coerce(arg, to, Context::Implicit)?.expr);
            }
            let result = resolved.result;
            return Ok(Some(Typed::new(Expr::Call(Box::new((ScalarFn::spread(resolved), exprs))), result)));
        }
        let texts = Type::array_of(Base::Text);
        let all = self.coerce(all, texts, Context::Implicit)?;
        let sign = if name.ends_with("_text") { "#>>" } else { "#>" };
        let of = if name.starts_with("jsonb") { Type::JSONB } else { Type::JSON };
        let Some(doc) = args.pop() else { return Err(SqlError::internal("no document")) };
        let doc = self.coerce(doc, of, Context::Implicit)?;
        self.operator(sign, Some(doc), all).map(Some)
    }
}
