//! EXCLUDE constraints: no two rows may have equal values in some columns and ranges that overlap in another.
//!
//! Behind one stands an ordered index of the compared columns, the range last. As ranges of rows that agree in the
//! other columns do not overlap, a new one can only meet its neighbours there, so that checking a row takes a look to
//! each side, whatever the number of rows; see `exec::exclusion`.

use super::super::Session;
use scaledb_catalog::{ExclusionDesc, IndexDesc, KeyColumn, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::exclude::Exclusion;
use scaledb_types::{KeyForm, Result, SqlError, SqlState, Type};
use sqlparser::ast::{Ident, OrderByExpr, OrderByOptions};

impl<E: Engine> Session<E> {
    /// Gives a table an EXCLUDE constraint.
    ///
    /// # Errors
    /// 0A000 for comparisons other than `=`, and one `&&` of ranges; those of an index on the columns.
    pub(super) fn exclusion(
        &mut self,
        desc: &mut TableDesc,
        name: Option<&Ident>,
        exclusion: &Exclusion<'_>,
    ) -> Result<()> {
        self.check_may_create_in(&desc.schema)?;
        match exclusion.method {
            "gist" | "spgist" | "btree" | "hash" => {}
            method @ ("gin" | "brin") => {
                let what = format!("access method \"{method}\" does not support exclusion constraints");
                return Err(SqlError::unsupported(what));
            }
            method => {
                let what = format!("access method \"{method}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            }
        }
        let (mut equal, mut overlap, mut all) = (Vec::new(), None, Vec::new());
        for &(expr, operator) in &exclusion.elements {
            let options = OrderByOptions { asc: None, nulls_first: None };
            let element = OrderByExpr { expr: expr.clone(), options, with_fill: None };
            let column = self.index_column(desc, &element, exclusion.predicate)?;
            if all.iter().any(|known: &KeyColumn| known.attnum == column.attnum) {
                let what = "an exclusion constraint with a column or an expression twice is not supported";
                return Err(SqlError::unsupported(what));
            }
            all.push(column);
            let ty = self.type_of_column(desc, column)?;
            match operator {
                "=" if ty.key_form() == KeyForm::None => {
                    let what = format!("values of type {} have no order", ty.sql_name());
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
                }
                "=" => equal.push(column),
                "&&" if ty.as_range().is_none() => {
                    let what =
                        format!("an exclusion constraint on && of type {} is not supported", ty.sql_name());
                    return Err(SqlError::unsupported(what));
                }
                "&&" if overlap.is_none() && matches!(exclusion.method, "gist" | "spgist") => {
                    overlap = Some(column);
                }
                "&&" if overlap.is_none() => {
                    let what =
                        format!("operator &&({0},{0}) is not a member of operator family", ty.sql_name());
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                        .hint("Declare the constraint with USING gist."));
                }
                _ => {
                    let what = "exclusion constraints compare by =, and one column of ranges by &&";
                    return Err(SqlError::unsupported(what));
                }
            }
        }
        let names = desc.key_names(&all);
        let mut parts = vec![desc.name.as_str()];
        parts.extend(names.iter().map(String::as_str));
        let name = self.constraint_name(desc, name, &parts, "excl")?;
        let predicate =
            exclusion.predicate.map(|condition| self.index_predicate(desc, condition)).transpose()?;
        desc.indexes.push(IndexDesc {
            oid: self.state.new_oid(&desc.schema),
            name,
            columns: equal.into_iter().chain(overlap).collect(),
            unique: false,
            constraint: true,
            primary: false,
            deferrable: exclusion.deferrable,
            engine: String::new(),
            predicate,
            nulls_not_distinct: false,
            exclusion: Some(ExclusionDesc {
                method: exclusion.method.to_owned(),
                overlaps: overlap.is_some(),
            }),
        });
        Ok(())
    }

    /// Looks at whether EXCLUDE constraints can compare their columns, some of which have got another type.
    ///
    /// # Errors
    /// 42883.
    pub(super) fn check_exclusions(&self, desc: &TableDesc) -> Result<()> {
        for index in &desc.indexes {
            let Some(exclusion) = &index.exclusion else { continue };
            for (number, &column) in index.columns.iter().enumerate() {
                let ty = self.type_of_column(desc, column)?;
                let overlaps = exclusion.overlaps && number + 1 == index.columns.len();
                let (compares, operator) = match overlaps {
                    true => (ty.as_range().is_some(), "&&"),
                    false => (ty.key_form() != KeyForm::None, "="),
                };
                if !compares {
                    let what = format!("operator does not exist: {0} {operator} {0}", ty.sql_name());
                    return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what)
                        .hint(format!("Drop the constraint \"{}\" first.", index.name)));
                }
            }
        }
        Ok(())
    }

    fn type_of_column(&self, desc: &TableDesc, column: KeyColumn) -> Result<Type> {
        let column = desc.columns.iter().find(|own| own.attnum == column.attnum);
        let column = column.ok_or_else(|| SqlError::internal("an index of no column"))?;
        scaledb_planner::plan::column_type(&self.state.catalog, column)
    }
}
