//! What names and stars in the text of a query mean, for those who print it.

use super::Binder;
use super::scope::Shown;
use crate::plan::expr::Expr;
use sqlparser::ast::{ObjectName, Spanned as _};
use sqlparser::tokenizer::Span;

/// Something in the text of a query, by the place where it begins.
#[derive(Clone, Debug)]
pub(crate) enum Noted {
    /// The name of a relation, with its oid.
    Relation(Span, u32),
    /// A star, perhaps behind the name of a table: the columns that it means, with the names of their tables. A column
    /// that USING has made has no table.
    Star(Span, Vec<(Option<String>, String)>),
}

impl Binder<'_> {
    /// Notes that a name means a relation.
    pub(super) fn note_relation(&mut self, name: &ObjectName, oid: u32) {
        if let Some(noted) = &mut self.noted {
            noted.push(Noted::Relation(name.span(), oid));
        }
    }

    /// Notes which columns a star means, perhaps one behind the name of a table.
    pub(super) fn note_star(&mut self, span: Span, of: Option<&str>, shown: &[Shown]) {
        if self.noted.is_none() {
            return;
        }
        let known = self.known_columns.clone();
        let unknown = |origin: (u32, i16)| known.iter().any(|(of, end)| *of == origin.0 && origin.1 >= *end);
        let mut columns = Vec::new();
        for column in shown.iter().filter(|column| !unknown(column.origin)) {
            let own = self.scope().tables.iter().find(|table| {
                let Expr::Slot(slot) = column.expr else { return false };
                table.columns.iter().any(|own| own.slot == slot && !own.merged)
            });
            let own = of.or(own.map(|table| table.name.as_str())).filter(|name| !name.is_empty());
            let own = own.map(str::to_owned);
            columns.push((own, column.name.clone()));
        }
        if let Some(noted) = &mut self.noted {
            noted.push(Noted::Star(span, columns));
        }
    }
}
