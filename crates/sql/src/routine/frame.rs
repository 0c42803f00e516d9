//! The variables of a call.

use super::names::unassigned;
use super::runner::Runner;
use super::{Assigned, Loaded, Slot};
use scaledb_parse::plpgsql::VariableId;
use scaledb_planner::plan::routine::Fields;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// The variables of a call.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) values: Vec<Value>,
    pub(super) records: Vec<Assigned>,
}

impl Frame {
    pub(super) fn new(loaded: &Loaded, arguments: Vec<Value>) -> Self {
        let mut values = if loaded.widths.is_empty() { arguments } else { spread(loaded, arguments) };
        values.resize(loaded.width, Value::Null);
        Self { values, records: vec![None; loaded.records] }
    }

    /// Where the fields of a row are.
    ///
    /// # Errors
    /// 55000 for a record that has none yet.
    pub(super) fn row(&self, loaded: &Loaded, variable: VariableId) -> Result<Option<(usize, Arc<Fields>)>> {
        match &loaded.places[variable] {
            Slot::Value { .. } => Ok(None),
            Slot::Row { at, fields, .. } => Ok(Some((*at, fields.clone()))),
            Slot::Record(number) => {
                let assigned = self.records[*number].clone();
                assigned.map(Some).ok_or_else(|| unassigned(&loaded.program.variables[variable].name))
            }
        }
    }

    /// Whether a row is one, and not NULL.
    pub(super) fn is_there(&self, loaded: &Loaded, variable: VariableId) -> bool {
        match &loaded.places[variable] {
            Slot::Value { .. } => true,
            Slot::Row { is_there, .. } => is_there.is_none_or(|at| self.values[at].is_true()),
            Slot::Record(number) => self.records[*number].is_some(),
        }
    }

    /// The values of a row.
    pub(super) fn row_values(&self, at: usize, fields: &Fields) -> Vec<Value> {
        self.values[at..at + fields.len()].to_vec()
    }

    /// Gives a record these fields; they are where they were if they are the same.
    fn shape(&mut self, number: usize, fields: &Arc<Fields>) -> usize {
        if let Some((at, own)) = &self.records[number]
            && (Arc::ptr_eq(own, fields) || own == fields)
        {
            return *at;
        }
        let at = self.values.len();
        self.values.resize(at + fields.len(), Value::Null);
        self.records[number] = Some((at, fields.clone()));
        at
    }

    /// Assigns a value to a variable that is none of rows, or to a field.
    pub(super) fn set<R: Runner>(
        &mut self,
        runner: &mut R,
        loaded: &Loaded,
        variable: VariableId,
        value: Value,
        from: Type,
    ) -> Result<()> {
        let Slot::Value { at, ty, not_null } = loaded.places[variable] else {
            return Err(no_row(&loaded.program.variables[variable].name));
        };
        let value = if from == ty { value } else { runner.convert(value, from, ty)? };
        if not_null && value.is_null() {
            return Err(refuses_null(&loaded.program.variables[variable].name));
        }
        self.values[at] = value;
        Ok(())
    }

    /// Makes a variable that is one of rows NULL.
    ///
    /// # Errors
    /// 55000 for a record that has no fields yet.
    pub(super) fn clear_row<R: Runner>(
        &mut self,
        runner: &mut R,
        loaded: &Loaded,
        variable: VariableId,
    ) -> Result<()> {
        let fields = self.row(loaded, variable)?.map(|(_, fields)| fields).unwrap_or_default();
        self.set_row(runner, loaded, variable, None, &fields)?;
        if let Slot::Row { is_there: Some(at), .. } = loaded.places[variable] {
            self.values[at] = Value::Bool(false);
        }
        Ok(())
    }

    /// Assigns a row to a variable that is one of rows. None is a row of NULLs.
    ///
    /// # Errors
    /// 42804 if it has other fields than the variable.
    pub(super) fn set_row<R: Runner>(
        &mut self,
        runner: &mut R,
        loaded: &Loaded,
        variable: VariableId,
        row: Option<&[Value]>,
        fields: &Arc<Fields>,
    ) -> Result<()> {
        match &loaded.places[variable] {
            Slot::Value { .. } => Err(SqlError::internal("a row for a variable that is none")),
            Slot::Record(number) => {
                let at = self.shape(*number, fields);
                for offset in 0..fields.len() {
                    self.values[at + offset] = row.map_or(Value::Null, |row| row[offset].clone());
                }
                Ok(())
            }
            Slot::Row { at, fields: own, is_there } => {
                if let Some(is_there) = is_there {
                    self.values[*is_there] = Value::Bool(true);
                }
                let Some(row) = row else {
                    self.values[*at..*at + own.len()].fill(Value::Null);
                    return Ok(());
                };
                let mut values = Vec::with_capacity(own.len());
                // what is missing is NULL, and what is more is dropped, as in PostgreSQL
                for (offset, (_, ty)) in own.iter().enumerate() {
                    values.push(match (row.get(offset), fields.get(offset)) {
                        (Some(value), Some((_, from))) if from == ty => value.clone(),
                        (Some(value), Some((_, from))) => runner.convert(value.clone(), *from, *ty)?,
                        _ => Value::Null,
                    });
                }
                for (offset, value) in values.into_iter().enumerate() {
                    self.values[*at + offset] = value;
                }
                Ok(())
            }
        }
    }

    /// Where a field of a row is, and its type.
    ///
    /// # Errors
    /// 42703, 55000.
    pub(super) fn field(&self, loaded: &Loaded, variable: VariableId, field: &str) -> Result<(usize, Type)> {
        let name = &loaded.program.variables[variable].name;
        let Some((at, fields)) = self.row(loaded, variable)? else {
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, format!("\"{name}\" is not a row")));
        };
        let found = fields.iter().position(|(known, _)| known == field);
        let found = found.ok_or_else(|| {
            let what = format!("record \"{name}\" has no field \"{field}\"");
            SqlError::new(SqlState::UNDEFINED_COLUMN, what)
        })?;
        Ok((at + found, fields[found].1))
    }
}

/// Arguments with the fields of rows side by side; a row that is NULL has NULLs.
fn spread(loaded: &Loaded, arguments: Vec<Value>) -> Vec<Value> {
    let mut values = Vec::with_capacity(loaded.width);
    for (argument, width) in arguments.into_iter().zip(&loaded.widths) {
        match (argument, width) {
            (argument, None) => values.push(argument),
            (Value::Record(record), Some(width)) if record.values().len() == *width => {
                values.extend_from_slice(record.values());
            }
            (_, Some(width)) => values.extend(std::iter::repeat_n(Value::Null, *width)),
        }
    }
    values
}

/// 22004 for NULL.
#[cold]
pub(super) fn refuses_null(name: &str) -> SqlError {
    let what = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what)
}

/// 42804 for a value that is no row.
#[cold]
pub(super) fn no_row(name: &str) -> SqlError {
    let what = format!("cannot assign non-composite value to a record variable \"{name}\"");
    SqlError::new(SqlState::DATATYPE_MISMATCH, what)
}
