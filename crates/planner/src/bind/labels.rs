//! The names that columns of results have without an alias.

use super::names::fold;
use scaledb_parse::parts_of_row;
use sqlparser::ast::{self, Expr as Ast, Query};
use std::collections::HashMap;

/// The names of the first columns of subqueries, by where these stand in memory.
pub type FirstNames = HashMap<usize, String>;

/// The name that a column of a result has without an alias.
pub fn name_of(ast: &Ast, first: &FirstNames) -> String {
    own_name(ast, first).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// What a subquery is known by as long as its text is there.
pub(super) fn address(query: &Query) -> usize {
    std::ptr::from_ref(query).addr()
}

/// The name that an expression gives its column, and whether that is stronger than the type of a cast around it.
fn own_name(ast: &Ast, first: &FirstNames) -> Option<(String, bool)> {
    let ty = |ty: &ast::DataType| super::names::name_of_type(ty).map(|name| (name, false));
    let strong = |name: &str| Some((name.to_owned(), true));
    match ast {
        Ast::Identifier(ident) => Some((fold(ident), true)),
        Ast::QualifiedWildcard(name, _) => {
            name.0.last().and_then(|part| part.as_ident()).map(|name| (fold(name), true))
        }
        Ast::CompoundIdentifier(parts) => parts.last().map(|part| (fold(part), true)),
        Ast::Function(function) => {
            function.name.0.last().and_then(|part| part.as_ident()).map(|name| (fold(name), true))
        }
        Ast::Cast { expr, data_type, .. } => match own_name(expr, first) {
            Some((name, true)) => Some((name, true)),
            weak => ty(data_type).or(weak),
        },
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => own_name(inner, first),
        Ast::CompoundFieldAccess { root, access_chain } => {
            let mut fields = access_chain.iter().rev().filter_map(|access| match access {
                ast::AccessExpr::Dot(Ast::Identifier(name)) => Some((fold(name), true)),
                _ => None,
            });
            fields.next().or_else(|| own_name(root, first))
        }
        Ast::Case { else_result, .. } => match else_result.as_deref().and_then(|ast| own_name(ast, first)) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        Ast::Extract { .. } => strong("extract"),
        Ast::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Ast::Position { .. } => strong("position"),
        Ast::Trim { trim_where, .. } => strong(match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Ast::Overlay { .. } => strong("overlay"),
        // it is a call of a function of this name
        Ast::BinaryOp { op: ast::BinaryOperator::Overlaps, .. } => strong("overlaps"),
        Ast::Ceil { .. } => strong("ceil"),
        Ast::Floor { .. } => strong("floor"),
        Ast::AtTimeZone { .. } => strong("timezone"),
        Ast::Array(_) => strong("array"),
        _ if parts_of_row(ast).is_some() => strong("row"),
        Ast::Exists { negated: false, .. } => strong("exists"),
        Ast::Interval(_) => Some(("interval".to_owned(), false)),
        Ast::TypedString(typed) => ty(&typed.data_type),
        Ast::Subquery(query) => first.get(&address(query)).map(|name| (name.clone(), true)),
        _ => None,
    }
}
