//! `t.*` and `(f(x)).*` where several values may stand: in a select list, in a row constructor, in VALUES. They are the
//! columns there. Anywhere else `t.*` is the whole row: see `whole_row`.

use super::names::split;
use super::scope::{ScopeColumn, Shown};
use super::{Binder, Output, Typed};
use scaledb_parse::marked;
use scaledb_types::Result;
use sqlparser::ast::{Expr as Ast, ObjectName, Spanned as _};

impl Binder<'_> {
    /// The columns that `t.*` means: of a table in scope, or of a variable.
    ///
    /// # Errors
    /// 42P01 if there is no such table.
    pub(super) fn star(&mut self, object: &ObjectName) -> Result<Vec<Output>> {
        let (schema, name) = split(object)?;
        let mut scopes = self.scopes.iter().enumerate().rev();
        let found = scopes.find_map(|(level, scope)| {
            let named = |schema_of: &Option<String>| schema.is_none() || *schema_of == schema;
            let mut tables = scope.tables.iter();
            let table = tables.find(|table| table.name == name && named(&table.schema));
            let columns = table.map(|table| table.columns.iter().map(ScopeColumn::shown).collect());
            let mut aliases = scope.aliases.iter().filter(|_| schema.is_none());
            let alias = || aliases.find(|alias| alias.name == name).map(|alias| alias.columns.clone());
            Some((level, columns.or_else(alias)?))
        });
        let Some((level, shown)): Option<(_, Vec<Shown>)> = found else {
            if schema.is_none()
                && let Some(fields) = self.row_variable(&name)?
            {
                let output = |(name, typed): (String, Typed)| Output {
                    name,
                    expr: typed.expr,
                    ty: typed.ty,
                    origin: (0, 0),
                };
                return Ok(fields.into_iter().map(output).collect());
            }
            return Err(self.missing_table(&name));
        };
        self.note_star(object.span(), Some(&name), &shown);
        let mut output = Vec::with_capacity(shown.len());
        for Shown { name: column, expr, ty, origin } in shown {
            if self.is_later(origin) {
                continue;
            }
            let Typed { expr, ty, .. } = self.refer(level, expr, ty, &name)?;
            output.push(Output { name: column, expr, ty, origin });
        }
        Ok(output)
    }

    /// The values that a part of a row constructor means, if it is a star.
    ///
    /// # Errors
    /// As [`Binder::star`]; 42809 for the fields of what is no row.
    pub(super) fn star_in_row(&mut self, part: &Ast) -> Result<Option<Vec<Typed>>> {
        if let Ast::QualifiedWildcard(object, _) = part {
            let columns = self.star(object)?.into_iter();
            return Ok(Some(columns.map(|column| Typed::new(column.expr, column.ty)).collect()));
        }
        let Some(record) = marked::all_fields(part) else { return Ok(None) };
        let record = self.expr(&record)?;
        let fields = self.fields_of_record(&record)?;
        Ok(Some(fields.into_iter().map(|(_, field)| field).collect()))
    }

    /// The values of a row constructor, or of a row of VALUES.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub(super) fn row_parts(&mut self, parts: &[Ast]) -> Result<Vec<Typed>> {
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            match self.star_in_row(part)? {
                Some(fields) => values.extend(fields),
                None => values.push(self.expr(part)?),
            }
        }
        Ok(values)
    }

    /// Whether a column of a table is newer than the view whose query is bound: its stars do not mean that one.
    pub(super) fn is_later(&self, (table, number): (u32, i16)) -> bool {
        self.known_columns.iter().any(|(known, end)| *known == table && number >= *end)
    }
}

/// Whether a part of a row constructor stands for several values.
pub(super) fn is_star(part: &Ast) -> bool {
    matches!(part, Ast::QualifiedWildcard(..)) || marked::all_fields(part).is_some()
}
