//! Calls whose last argument is an array with the others: `format('%s, %s', VARIADIC ARRAY['a', 'b'])`.

use super::function::plain_arg;
use super::{Binder, Typed, unsupported};
use scaledb_parse::VARIADIC;
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{Expr as Ast, FunctionArg, FunctionArgExpr};

/// The array of a VARIADIC argument.
fn spread(arg: &FunctionArg) -> Option<&Ast> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Prefixed { prefix, value })) => {
            (prefix.quote_style.is_none() && prefix.value == VARIADIC).then_some(&**value)
        }
        _ => None,
    }
}

/// The elements of an array that is written with its elements, which are no arrays.
fn written(array: &Ast) -> Option<&[Ast]> {
    match array {
        Ast::Nested(inner) => written(inner),
        Ast::Array(array) if array.named => {
            let nested = array.elem.iter().any(|element| matches!(element, Ast::Array(_)));
            (!nested && !array.elem.is_empty()).then_some(&array.elem[..])
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// A call with VARIADIC; `None` if it is none.
    ///
    /// # Errors
    /// 42804 for what is no array; 42883 for a function that takes no number of arguments; 0A000 where the elements
    /// must be written in the call.
    pub(super) fn variadic_call(&mut self, name: &str, list: &[FunctionArg]) -> Result<Option<Typed>> {
        let Some((last, others)) = list.split_last() else { return Ok(None) };
        let Some(array) = spread(last) else { return Ok(None) };
        let mut args = Vec::with_capacity(others.len());
        for arg in others {
            args.push(self.expr(plain_arg(arg)?)?);
        }
        let takes_any = matches!(
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
        );
        let path = matches!(
            name,
            "json_extract_path" | "json_extract_path_text" | "jsonb_extract_path" | "jsonb_extract_path_text"
        );
        let all = self.expr(array)?;
        let unknown = all.ty.base == Base::Unknown && !all.ty.array;
        // the array stands for all arguments that may be many
        let before = usize::from(path || matches!(name, "concat_ws" | "format"));
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
        if let (Some(elements), Some(ty)) = (written(array), all.ty.element()) {
            for element in elements {
                let element = self.expr(element)?;
                let ty = if path { Type::TEXT } else { ty };
                args.push(self.coerce(element, ty, Context::Implicit)?);
            }
            return self.call_typed(name, args).map(Some);
        }
        let array_of = |ty: Type| ty.to_array().ok_or_else(|| unsupported("an array of this type"));
        let texts = array_of(Type::TEXT)?;
        let all = if unknown { self.coerce(all, texts, Context::Implicit)? } else { all };
        let text = |text: &str| Typed::constant(Value::text(text), Type::TEXT);
        let called = match name {
            "concat" => self.call_typed("array_to_string", vec![all, text("")])?,
            "concat_ws" => {
                args.insert(0, all);
                self.call_typed("array_to_string", args)?
            }
            "num_nulls" | "num_nonnulls" => {
                let element = Typed::constant(Value::Null, all.ty.element().unwrap_or(Type::TEXT));
                let nulls = self.call_typed("array_positions", vec![all.clone(), element])?;
                let nulls = self.call_typed("cardinality", vec![nulls])?;
                if name == "num_nulls" {
                    return Ok(Some(nulls));
                }
                let whole = self.call_typed("cardinality", vec![all])?;
                self.operator("-", Some(whole), nulls)?
            }
            "jsonb_build_array" => self.call_typed("to_jsonb", vec![all])?,
            _ if path => {
                let sign = if name.ends_with("_text") { "#>>" } else { "#>" };
                let all = self.coerce(all, texts, Context::Implicit)?;
                let of = if name.starts_with("jsonb") { Type::JSONB } else { Type::JSON };
                let Some(doc) = args.pop() else { return Err(SqlError::internal("no document")) };
                let doc = self.coerce(doc, of, Context::Implicit)?;
                self.operator(sign, Some(doc), all)?
            }
            _ => {
                let what = format!(
                    "VARIADIC of an array that is not written with its elements, in a call of {name},"
                );
                return Err(unsupported(what));
            }
        };
        Ok(Some(called))
    }
}
