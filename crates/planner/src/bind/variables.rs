//! Variables of a routine in the pieces of SQL of its body.

use super::names::Naming;
use super::{Binder, Typed};
use crate::plan::expr::Expr;
use scaledb_parse::plpgsql::NameConflicts;
use scaledb_types::{Result, SqlError, SqlState, Type};

/// A variable: which parameter of the plan it is, and its type.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub at: usize,
    pub ty: Type,
}

impl Variable {
    pub(super) fn typed(self) -> Typed {
        Typed::new(Expr::Param(self.at), self.ty)
    }
}

/// A variable that is a row.
#[derive(Clone, Debug)]
pub struct RowVariable {
    pub fields: Vec<(String, Variable)>,
    /// What says whether the row is there; it always is if there is nothing that says so.
    pub is_there: Option<Variable>,
}

/// The variables that a piece of SQL sees.
pub trait Variables {
    /// The variable of a name, or the field of one; the qualifier is a label, or the variable of the field.
    ///
    /// # Errors
    /// 42703 for a field that a row does not have; 55000 for a field of a record that has none yet.
    fn variable(&self, qualifier: Option<&str>, name: &str) -> Result<Option<Variable>>;
    /// The field of a row that is declared in the block, or is a parameter of the function, of this label.
    ///
    /// # Errors
    /// As [`Variables::variable`].
    fn field(&self, label: &str, row: &str, name: &str) -> Result<Option<Variable>>;
    /// The fields of the row that a name means.
    ///
    /// # Errors
    /// 55000.
    fn row(&self, name: &str) -> Result<Option<RowVariable>>;
    /// What a name means that is a column's, too.
    fn conflicts(&self) -> NameConflicts;
    /// How many parameters have numbers.
    fn arguments(&self) -> usize;
}

impl Binder<'_> {
    /// Variables are seen by what the routine says, not by what the catalog has kept.
    pub(super) fn visible_variables(&self) -> Option<&dyn Variables> {
        self.variables.filter(|_| matches!(self.naming, Naming::Statement))
    }

    /// The variable of a name that is no column's.
    ///
    /// # Errors
    /// As [`Variables::variable`].
    pub(super) fn variable(&self, qualifier: Option<&str>, name: &str) -> Result<Option<Typed>> {
        let Some(variables) = self.visible_variables() else { return Ok(None) };
        Ok(variables.variable(qualifier, name)?.map(Variable::typed))
    }

    /// The field of a row behind a label.
    ///
    /// # Errors
    /// As [`Variables::variable`].
    pub(super) fn labelled(&self, label: &str, row: &str, name: &str) -> Result<Option<Typed>> {
        let Some(variables) = self.visible_variables() else { return Ok(None) };
        Ok(variables.field(label, row, name)?.map(Variable::typed))
    }

    /// The variable that a name means although it is a column's, too.
    ///
    /// # Errors
    /// 42702.
    pub(super) fn variable_before_column(&self, name: &str) -> Result<Option<Typed>> {
        let Some(variables) = self.visible_variables() else { return Ok(None) };
        if variables.conflicts() == NameConflicts::Column {
            return Ok(None);
        }
        let Some(variable) = variables.variable(None, name)? else { return Ok(None) };
        if variables.conflicts() == NameConflicts::Variable {
            return Ok(Some(variable.typed()));
        }
        let what = format!("column reference \"{name}\" is ambiguous");
        Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what)
            .detail("It could refer to either a PL/pgSQL variable or a table column."))
    }

    /// The fields of the row that a name means, if it is a variable's.
    ///
    /// # Errors
    /// As [`Variables::row`].
    pub fn row_variable(&self, name: &str) -> Result<Option<Vec<(String, Typed)>>> {
        let row = self.visible_row(name)?;
        Ok(row.map(|row| row.fields.into_iter().map(|(name, variable)| (name, variable.typed())).collect()))
    }

    /// The row that a name means, if it is a variable's.
    ///
    /// # Errors
    /// As [`Variables::row`].
    pub(super) fn visible_row(&self, name: &str) -> Result<Option<RowVariable>> {
        self.visible_variables().map_or(Ok(None), |variables| variables.row(name))
    }

    /// Whether there is a parameter of a number, counted from 1.
    pub(super) fn has_parameter(&self, number: usize) -> bool {
        self.variables.is_none_or(|variables| number <= variables.arguments())
    }
}
