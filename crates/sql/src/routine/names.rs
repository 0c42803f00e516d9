//! Names of variables in pieces of SQL.

use super::{Assigned, Loaded, Slot};
use scaledb_parse::plpgsql::{NameConflicts, ScopeId, VariableId};
use scaledb_planner::bind::variables::{RowVariable, Variable, Variables};
use scaledb_types::{Result, SqlError, SqlState, Type};
use std::cell::RefCell;

/// The variables that a piece of SQL sees.
pub(crate) struct Names<'n> {
    loaded: &'n Loaded,
    records: &'n [Assigned],
    scope: ScopeId,
    visible: usize,
    /// The records that it reads.
    used: RefCell<Vec<usize>>,
}

impl<'n> Names<'n> {
    pub(crate) fn new(loaded: &'n Loaded, records: &'n [Assigned], scope: ScopeId, visible: usize) -> Self {
        Self { loaded, records, scope, visible, used: RefCell::default() }
    }

    /// The records that were read, and what they were.
    pub(crate) fn records(&self) -> Vec<(usize, Assigned)> {
        self.used.borrow().iter().map(|&number| (number, self.records[number].clone())).collect()
    }

    /// The variable of a name; behind a label, if one is given.
    fn lookup(&self, label: Option<&str>, name: &str) -> Option<VariableId> {
        let scopes = &self.loaded.program.scopes;
        let (mut id, mut visible) = (Some(self.scope), self.visible);
        while let Some(scope) = id.and_then(|id| scopes.get(id)) {
            let fits = label.is_none_or(|label| scope.label.as_deref() == Some(label));
            let names = &scope.names[..visible.min(scope.names.len())];
            let found = names.iter().rev().find(|(known, _)| known == name);
            if let (true, Some((_, found))) = (fits, found) {
                return Some(*found);
            }
            (id, visible) = (scope.outer, usize::MAX);
        }
        None
    }

    /// The fields of a row that is a variable.
    fn fields(&self, variable: VariableId, name: &str) -> Result<Option<RowVariable>> {
        let mut there = None;
        let (at, fields) = match &self.loaded.places[variable] {
            Slot::Value { .. } => return Ok(None),
            Slot::Row { at, fields, is_there } => {
                there = is_there.map(|at| Variable { at, ty: Type::BOOL });
                (*at, fields.clone())
            }
            Slot::Record(number) => {
                self.used.borrow_mut().push(*number);
                self.records[*number].clone().ok_or_else(|| unassigned(name))?
            }
        };
        let each = fields.iter().enumerate();
        let each = each.map(|(number, (name, ty))| (name.clone(), Variable { at: at + number, ty: *ty }));
        Ok(Some(RowVariable { fields: each.collect(), is_there: there }))
    }
}

impl Names<'_> {
    /// The field of a record; behind a label, if one is given.
    fn field_of(&self, label: Option<&str>, record: &str, name: &str) -> Result<Option<Variable>> {
        let Some(variable) = self.lookup(label, record) else { return Ok(None) };
        let Some(fields) = self.fields(variable, record)? else { return Ok(None) };
        match fields.fields.into_iter().find(|(known, _)| known == name) {
            Some((_, found)) => Ok(Some(found)),
            None => {
                let what = format!("record \"{record}\" has no field \"{name}\"");
                Err(SqlError::new(SqlState::UNDEFINED_COLUMN, what))
            }
        }
    }
}

impl Variables for Names<'_> {
    fn variable(&self, qualifier: Option<&str>, name: &str) -> Result<Option<Variable>> {
        if let Some(variable) = self.lookup(qualifier, name) {
            if let Slot::Value { at, ty, .. } = self.loaded.places[variable] {
                return Ok(Some(Variable { at, ty }));
            }
            return Ok(None);
        }
        qualifier.map_or(Ok(None), |record| self.field_of(None, record, name))
    }

    fn field(&self, label: &str, row: &str, name: &str) -> Result<Option<Variable>> {
        self.field_of(Some(label), row, name)
    }

    fn row(&self, name: &str) -> Result<Option<RowVariable>> {
        match self.lookup(None, name) {
            Some(variable) => self.fields(variable, name),
            None => Ok(None),
        }
    }

    fn conflicts(&self) -> NameConflicts {
        self.loaded.conflicts.unwrap_or(self.loaded.strictness.conflicts)
    }

    fn arguments(&self) -> usize {
        // behind a row the places are not those of the numbers
        self.loaded.widths.iter().position(Option::is_some).unwrap_or(self.loaded.arguments)
    }
}

/// 55000 for a record without fields.
#[cold]
pub(super) fn unassigned(name: &str) -> SqlError {
    let what = format!("record \"{name}\" is not assigned yet");
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
        .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}
