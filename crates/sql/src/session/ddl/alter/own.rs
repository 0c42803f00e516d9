//! ALTER TABLE: forms that the parser does not know, and the order of the others.

use super::super::super::Session;
use super::super::position;
use super::super::spread::{check_parameters, name_of};
use super::constraint::no_constraint;
use scaledb_catalog::{Identity, Relation, SequenceDesc, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::alter_table::Own;
use scaledb_planner::bind::names::fold;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, DataType, Expr, Ident};
use std::sync::Arc;

/// A column, its new type, and what computes its values.
pub(super) type Retype<'a> = (&'a Ident, &'a DataType, Option<&'a Expr>);

/// What changes the type of a column.
pub(super) fn retypes(operation: &AlterTableOperation) -> Option<Retype<'_>> {
    match operation {
        AlterTableOperation::AlterColumn {
            column_name,
            op: AlterColumnOperation::SetDataType { data_type, using, .. },
        } => Some((column_name, data_type, using.as_ref())),
        _ => None,
    }
}

/// The operations in the order in which they are done: that of the statement, but that a column which USING names is
/// dropped behind it.
pub(super) fn in_order(operations: &[AlterTableOperation]) -> Vec<&AlterTableOperation> {
    let usings: Vec<String> =
        operations.iter().filter_map(retypes).filter_map(|(.., using)| Some(using?.to_string())).collect();
    let drops_used = |operation: &&AlterTableOperation| match operation {
        AlterTableOperation::DropColumn { column_names, .. } => {
            column_names.iter().any(|name| usings.iter().any(|using| names(using, &fold(name))))
        }
        _ => false,
    };
    let (later, mut first): (Vec<_>, Vec<_>) = operations.iter().partition(drops_used);
    first.extend(later);
    first
}

/// Whether a text has a name in it.
fn names(text: &str, name: &str) -> bool {
    use scaledb_parse::lex::{Lexer, name_of};
    Lexer::new(text).any(|token| name_of(token, text).is_some_and(|known| known == name))
}

impl<E: Engine> Session<E> {
    /// # Errors
    /// 42703, 42704, 42809, 55000, 22023; 0A000 for what there is not.
    pub(super) fn alter_own(&mut self, mut desc: TableDesc, own: &Own) -> Result<()> {
        match own {
            Own::DropIdentity { column, if_exists } => {
                let name = fold(column);
                let at = position(&desc, &name)?;
                let Some(sequence) = self.identity_of(&desc, at) else {
                    if !if_exists {
                        return Err(no_identity(&desc, &name));
                    }
                    let what = format!("{}, skipping", no_identity(&desc, &name).message());
                    self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                    return Ok(());
                };
                desc.columns[at].identity = None;
                desc.columns[at].default = None;
                self.put(Relation::Table(Arc::new(desc)))?;
                self.remove(sequence.oid)
            }
            Own::Identity { column, always, options } => {
                let name = fold(column);
                let at = position(&desc, &name)?;
                let sequence = self.identity_of(&desc, at).ok_or_else(|| no_identity(&desc, &name))?;
                if let Some(always) = always {
                    desc.columns[at].identity =
                        Some(if *always { Identity::Always } else { Identity::ByDefault });
                    self.put(Relation::Table(Arc::new(desc)))?;
                }
                if *options == Default::default() { Ok(()) } else { self.change_sequence(&sequence, options) }
            }
            Own::Constraint { name, deferrable, deferred } => {
                let name = fold(name);
                let oid = desc.oid;
                let Some(key) = desc.foreign_keys.iter_mut().find(|key| key.name == name) else {
                    if !desc.has_constraint(&name) {
                        return Err(no_constraint(&desc, &name));
                    }
                    let what = format!(
                        "constraint \"{name}\" of relation \"{}\" is not a foreign key constraint",
                        desc.name
                    );
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
                };
                (key.deferrable, key.deferred) = (*deferrable, *deferred);
                let to = key.table;
                self.put(Relation::Table(Arc::new(desc)))?;
                if to == oid { Ok(()) } else { self.renew(to) }
            }
            Own::Storage { column, index, parameters } => {
                match column {
                    Some(column) => {
                        position(&desc, &fold(column))?;
                        check_parameters(&["n_distinct", "n_distinct_inherited"], parameters)?;
                    }
                    None => check_parameters(&[], parameters)?,
                }
                let Some(name) = index.as_ref().map(fold) else {
                    return if column.is_none() { self.keep_parameters(desc, parameters) } else { Ok(()) };
                };
                let primary = desc.primary_key.as_ref().is_some_and(|key| key.name == name);
                if primary || desc.indexes.iter().any(|index| index.name == name) {
                    return Ok(());
                }
                let what = format!("index \"{name}\" for table \"{}\" does not exist", desc.name);
                Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
            }
            Own::Absent(words) => Err(SqlError::unsupported(format!("{words} not supported"))),
        }
    }

    /// SET and RESET of storage parameters: they are kept as they were said, but for those of what PostgreSQL keeps
    /// beside a table (`toast.`).
    fn keep_parameters(&mut self, mut desc: TableDesc, parameters: &[String]) -> Result<()> {
        if parameters.is_empty() {
            return Ok(());
        }
        for parameter in parameters.iter().filter(|parameter| !name_of(parameter).contains('.')) {
            desc.parameters.retain(|known| name_of(known) != name_of(parameter));
            if parameter.contains('=') {
                desc.parameters.push(parameter.clone());
            }
        }
        self.put(Relation::Table(Arc::new(desc)))
    }

    /// The sequence of an identity column.
    fn identity_of(&self, desc: &TableDesc, at: usize) -> Option<Arc<SequenceDesc>> {
        let column = &desc.columns[at];
        column.identity?;
        self.state.catalog.relations().find_map(|relation| match relation {
            Relation::Sequence(sequence) if sequence.owned_by == Some((desc.oid, column.attnum)) => {
                Some(sequence.clone())
            }
            _ => None,
        })
    }
}

/// 55000.
fn no_identity(desc: &TableDesc, name: &str) -> SqlError {
    let what = format!("column \"{name}\" of relation \"{}\" is not an identity column", desc.name);
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
}
