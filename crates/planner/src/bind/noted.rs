//! What names and stars in the text of a query mean, for those who print it.

use super::Binder;
use super::scope::Shown;
use crate::plan::expr::Expr;
use sqlparser::ast::{Expr as Ast, ObjectName, Spanned as _};
use sqlparser::tokenizer::Span;

/// Something in the text of a query, by the place where it begins.
#[derive(Clone, Debug)]
pub enum Noted {
    /// The name of a relation, with its oid; and whether another name follows, that the query calls it by.
    Relation(Span, u32, bool),
    /// The name of a column, with the oid of its table or view and its number; and whether it is an item of a select
    /// list without another name: what the query returns is called by it.
    Column(Span, (u32, i16), bool),
    /// A star, perhaps behind the name of a table: the columns that it means.
    Star(Span, Vec<OfStar>),
}

/// A column that a star means: the name of its table, unless USING has made it, its own, and where it comes from, with
/// the oid of a relation and its number.
#[derive(Clone, Debug)]
pub struct OfStar {
    pub table: Option<String>,
    pub name: String,
    pub origin: (u32, i16),
}

impl Binder<'_> {
    /// Notes that a name means a relation.
    pub(super) fn note_relation(&mut self, name: &ObjectName, oid: u32, has_alias: bool) {
        if let Some(noted) = &mut self.noted {
            noted.push(Noted::Relation(name.span(), oid, has_alias));
        }
    }

    /// Notes that a name means the column that was found last.
    pub(super) fn note_column(&mut self, span: Span, expr: &Expr) {
        if self.noted.is_none() {
            return;
        }
        let origin = match self.found_in_view {
            Some(of_view) => of_view,
            None if self.found_own => self.origin(expr),
            None => return,
        };
        if let Some(noted) = &mut self.noted {
            noted.push(Noted::Column(span, origin, false));
        }
    }

    /// Notes that a name is an item of a select list, if it is what was noted last.
    pub(super) fn note_item(&mut self, item: &Ast) {
        let name = match item {
            Ast::Identifier(name) => Some(name),
            Ast::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if let Some(name) = name
            && let Some(Noted::Column(span, _, is_item)) = self.noted.iter_mut().flatten().next_back()
        {
            *is_item |= *span == name.span;
        }
    }

    /// Notes which columns a star means, perhaps one behind the name of a table.
    pub(super) fn note_star(&mut self, span: Span, of: Option<&str>, shown: &[Shown]) {
        if self.noted.is_none() {
            return;
        }
        let mut columns = Vec::new();
        for column in shown {
            if self.is_later(column.origin) {
                continue;
            }
            let own = self.scope().tables.iter().find(|table| {
                let Expr::Slot(slot) = column.expr else { return false };
                table.columns.iter().any(|own| own.slot == slot && !own.merged)
            });
            let own = of.or(own.map(|table| table.name.as_str())).filter(|name| !name.is_empty());
            let own = own.map(str::to_owned);
            columns.push(OfStar { table: own, name: column.name.clone(), origin: column.origin });
        }
        if let Some(noted) = &mut self.noted {
            noted.push(Noted::Star(span, columns));
        }
    }
}
