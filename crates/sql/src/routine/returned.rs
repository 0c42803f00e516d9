//! What RETURN, RETURN NEXT, RETURN QUERY and the last statement of a function in SQL hand to the caller.

use super::interpret::{Finished, Interpreter};
use super::runner::{Ran, Runner};
use super::{Returns, Slot, Wanted};
use scaledb_parse::plpgsql::{Query, Return, Sql, VariableId};
use scaledb_planner::plan::routine::Fields;
use scaledb_types::row_weight;
use scaledb_types::{Base, Context, Record, Result, SqlError, SqlState, Type, Value, find_cast};
use std::sync::Arc;

impl<'l, R: Runner> Interpreter<'l, '_, R> {
    /// The record that an expression is, as a row of these fields; `None` if it is NULL.
    fn record_as(&mut self, sql: &Sql, fields: &Fields) -> Result<Option<Vec<Value>>> {
        let record = match self.value(sql, None)? {
            Value::Record(record) => record,
            Value::Null => return Ok(None),
            _ => return Err(not_composite()),
        };
        if record.values().len() != fields.len() {
            return Err(match self.loaded.exact {
                true => wrong_record(record.values().len(), fields.len()),
                false => wrong_shape(record.values().len(), fields.len()),
            });
        }
        self.check_exact(record.each().map(|(_, ty, _)| ty), fields)?;
        let mut row = Vec::with_capacity(fields.len());
        for ((_, from, value), (_, to)) in record.each().zip(fields) {
            let value = value.clone();
            row.push(if from == *to { value } else { self.runner.convert(value, from, *to)? });
        }
        Ok(Some(row))
    }

    /// RETURN.
    pub(super) fn returns(&mut self, returned: &'l Return) -> Result<()> {
        self.returned = Some(match (&self.loaded.returns, returned) {
            (_, Return::Plain) => return Ok(()),
            // see `check::returns`
            (Returns::Nothing | Returns::Value(_, Some(_)) | Returns::Row(_, Some(_)), _) => {
                return Err(SqlError::internal("RETURN with a value"));
            }
            (Returns::Value(ty, None), _) => Finished::Value(self.returned_value(returned, *ty)?),
            (Returns::Row(fields, None), Return::Variable(variable)) => {
                let fields = fields.clone();
                Finished::Row(self.row_as(*variable, &fields)?)
            }
            (Returns::Trigger(fields), Return::Variable(_) | Return::FirstOf(_)) => {
                let fields = fields.clone().unwrap_or_default();
                let variables = match returned {
                    Return::Variable(variable) => std::slice::from_ref(variable),
                    Return::FirstOf(variables) => variables,
                    Return::Plain | Return::Value(_) => &[],
                };
                let there = variables.iter().find(|&&variable| self.frame.is_there(self.loaded, variable));
                Finished::Row(match there {
                    Some(&variable) => self.row_as(variable, &fields)?,
                    None => None,
                })
            }
            (Returns::Row(..), Return::FirstOf(_)) => return Err(not_composite()),
            (Returns::Row(fields, None), Return::Value(sql)) => {
                let fields = fields.clone();
                Finished::Row(self.record_as(sql, &fields)?)
            }
            (Returns::Trigger(fields), Return::Value(sql)) => {
                let fields = fields.clone().unwrap_or_default();
                Finished::Row(self.record_as(sql, &fields)?)
            }
        });
        Ok(())
    }

    fn returned_value(&mut self, returned: &'l Return, ty: Type) -> Result<Value> {
        match returned {
            Return::Plain => Err(SqlError::internal("RETURN without a value")),
            // nothing says of a NULL that it is a record
            Return::Value(sql) if ty.same(Type::RECORD) && sql.text.trim().eq_ignore_ascii_case("null") => {
                Ok(Value::Null)
            }
            Return::Value(sql) => self.value(sql, Some(ty)),
            Return::FirstOf(_) => Err(SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                "cannot return a row from a function that returns a value",
            )),
            Return::Variable(variable) => match self.loaded.places[*variable] {
                Slot::Value { at, ty: from, .. } => {
                    let value = self.frame.values[at].clone();
                    if from == ty { Ok(value) } else { self.runner.convert(value, from, ty) }
                }
                _ if ty.same(Type::RECORD) => match self.frame.row(self.loaded, *variable)? {
                    Some((at, fields)) => record_of(&fields, self.frame.row_values(at, &fields)),
                    None => Err(not_composite()),
                },
                _ => {
                    let what = "cannot return a row from a function that returns a value";
                    Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
                }
            },
        }
    }

    /// A row as one of these fields; `None` if all of it is NULL.
    fn row_as(&mut self, variable: VariableId, fields: &Fields) -> Result<Option<Vec<Value>>> {
        let Some((at, own)) = self.frame.row(self.loaded, variable)? else { return Err(not_composite()) };
        if own.len() != fields.len() {
            return Err(match self.loaded.exact {
                true => wrong_record(own.len(), fields.len()),
                false => wrong_shape(own.len(), fields.len()),
            });
        }
        self.check_exact(own.iter().map(|(_, ty)| *ty), fields)?;
        let mut row = Vec::with_capacity(fields.len());
        for (number, ((_, from), (_, to))) in own.iter().zip(fields).enumerate() {
            let value = self.frame.values[at + number].clone();
            row.push(if from == to { value } else { self.runner.convert(value, *from, *to)? });
        }
        Ok(Some(row))
    }

    /// The row that RETURN NEXT adds.
    pub(super) fn next_row(&mut self, returned: &'l Return) -> Result<Vec<Value>> {
        match (&self.loaded.returns, returned) {
            (Returns::Row(_, Some(places)), Return::Plain) => {
                Ok(places.iter().map(|&at| self.frame.values[at].clone()).collect())
            }
            (Returns::Value(_, Some(at)), Return::Plain) => Ok(vec![self.frame.values[*at].clone()]),
            (Returns::Value(ty, None), Return::Value(_) | Return::Variable(_)) => {
                Ok(vec![self.returned_value(returned, *ty)?])
            }
            (Returns::Row(fields, None), Return::Variable(variable)) => {
                let fields = fields.clone();
                let row = self.row_as(*variable, &fields).map_err(|error| self.wrong_next(error))?;
                Ok(row.unwrap_or_default())
            }
            (Returns::Row(fields, None), Return::Value(sql)) => {
                let fields = fields.clone();
                let row = self.record_as(sql, &fields).map_err(|error| self.wrong_next(error))?;
                Ok(row.unwrap_or_else(|| vec![Value::Null; fields.len()]))
            }
            _ => Err(not_composite()),
        }
    }

    /// As RETURN NEXT says of a record that has not the types that the caller wants.
    fn wrong_next(&self, error: SqlError) -> SqlError {
        if self.loaded.exact && error.code() == SqlState::DATATYPE_MISMATCH {
            return SqlError::new(SqlState::DATATYPE_MISMATCH, "wrong record type supplied in RETURN NEXT");
        }
        error
    }

    pub(super) fn push(&mut self, row: Box<[Value]>) -> Result<()> {
        self.runner.take(row_weight(&row))?;
        self.rows.push(row);
        Ok(())
    }

    /// RETURN QUERY.
    pub(super) fn return_query(&mut self, query: &'l Query) -> Result<()> {
        let (mut rows, mut fields) = self.rows_of(query)?;
        if self.packs(&fields) {
            for row in &mut rows {
                *row = Box::new([record_of(&fields, std::mem::take(row).into_vec())?]);
            }
            fields = Arc::new(vec![(String::new(), Type::RECORD)]);
        }
        let wanted: Vec<Type> = match &self.loaded.returns {
            Returns::Value(ty, _) => vec![*ty],
            Returns::Row(fields, _) => fields.iter().map(|(_, ty)| *ty).collect(),
            Returns::Nothing | Returns::Trigger(_) => return Err(not_composite()),
        };
        if fields.len() != wanted.len() {
            return Err(wrong_shape(fields.len(), wanted.len()));
        }
        // a body in SQL is looser than one in PL/pgSQL
        let strict = !self.loaded.is_sql;
        let becomes = |from: Type, to: Type| {
            from.base == Base::Unknown || from.same(to) || find_cast(from, to, Context::Assignment).is_some()
        };
        if self.loaded.exact
            && !strict
            && !fields.iter().zip(&wanted).all(|((_, from), to)| becomes(*from, *to))
        {
            let what = "return type mismatch in function declared to return record";
            return Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
        }
        for (number, ((_, from), to)) in fields.iter().zip(&wanted).enumerate() {
            let alike = from.plain().same(to.plain()) && from.domain == to.domain;
            if strict && !alike && from.base != Base::Unknown {
                let what = "structure of query does not match function result type";
                let detail = format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    from.sql_name(),
                    to.sql_name(),
                    number + 1
                );
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what).detail(detail));
            }
        }
        let found = !rows.is_empty();
        let count = rows.len() as u64;
        for mut row in rows {
            for ((value, (_, from)), to) in row.iter_mut().zip(&*fields).zip(&wanted) {
                if from != to && (!value.is_null() || to.domain.is_some()) {
                    *value = self.runner.convert(std::mem::take(value), *from, *to)?;
                }
            }
            self.push(row)?;
        }
        self.note_rows(count, found);
        Ok(())
    }

    /// The result of a function in SQL: the first row of its last statement.
    pub(super) fn return_first(&mut self, sql: &'l Sql) -> Result<()> {
        let planned = self.planned(sql, Wanted::Statement)?;
        let held = &planned.held;
        let Ran { rows, .. } = self.at_current(held, |call| call.runner.run(held, &call.frame.values, 1))?;
        let mut row = rows.into_iter().next().map(<[Value]>::into_vec);
        let mut fields = planned.fields.clone();
        if self.packs(&fields) {
            if let Some(values) = row.take() {
                row = Some(vec![record_of(&fields, values)?]);
            }
            fields = Arc::new(vec![(String::new(), Type::RECORD)]);
        }
        let exact = self.loaded.exact;
        let mismatch = || {
            let what = match exact {
                true => "return type mismatch in function declared to return record",
                false => "return type mismatch in function declared to return another type",
            };
            SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what)
                .detail("Final statement must return exactly the columns that are declared.")
        };
        let wanted: Vec<Type> = match &self.loaded.returns {
            Returns::Value(ty, _) => vec![*ty],
            Returns::Row(fields, _) => fields.iter().map(|(_, ty)| *ty).collect(),
            Returns::Nothing | Returns::Trigger(_) => return Ok(()),
        };
        let becomes = |from: Type, to: Type| {
            from.base == Base::Unknown || from.same(to) || find_cast(from, to, Context::Assignment).is_some()
        };
        let fits =
            !self.loaded.exact || fields.iter().zip(&wanted).all(|((_, from), to)| becomes(*from, *to));
        if fields.len() != wanted.len() || !fits {
            return Err(mismatch());
        }
        let mut converted = None;
        if let Some(row) = row {
            let mut values = Vec::with_capacity(row.len());
            for ((value, (_, from)), to) in row.into_iter().zip(&*fields).zip(&wanted) {
                values.push(if from == to || value.is_null() && to.domain.is_none() {
                    value
                } else {
                    self.runner.convert(value, *from, *to)?
                });
            }
            converted = Some(values);
        }
        self.returned = Some(match &self.loaded.returns {
            Returns::Value(..) => {
                Finished::Value(converted.and_then(|mut row| row.pop()).unwrap_or_default())
            }
            _ => Finished::Row(converted),
        });
        Ok(())
    }

    /// Whether rows of these fields become records: nobody has said what columns there are.
    fn packs(&self, fields: &Fields) -> bool {
        let record = matches!(self.loaded.returns, Returns::Value(ty, None) if ty.same(Type::RECORD));
        record && self.loaded.exact && !matches!(fields[..], [(_, ty)] if ty.same(Type::RECORD))
    }

    /// 42804 for a row that has not the very types that the caller wants.
    fn check_exact(&self, own: impl Iterator<Item = Type>, fields: &Fields) -> Result<()> {
        if !self.loaded.exact {
            return Ok(());
        }
        for (number, (from, (_, to))) in (1..).zip(own.zip(fields)) {
            if from.plain() != to.plain() && from.base != Base::Unknown {
                let what = "returned record type does not match expected record type";
                let detail = format!(
                    "Returned type {} does not match expected type {} in column {number}.",
                    from.sql_name(),
                    to.sql_name()
                );
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what).detail(detail));
            }
        }
        Ok(())
    }
}

/// 42804 for what is no row.
#[cold]
fn not_composite() -> SqlError {
    let what = "cannot return non-composite value from function returning composite type";
    SqlError::new(SqlState::DATATYPE_MISMATCH, what)
}

/// A record of these fields.
fn record_of(fields: &Fields, values: Vec<Value>) -> Result<Value> {
    let (names, types) = fields.iter().cloned().unzip();
    let fields = Arc::new(scaledb_types::Fields { names, types });
    Ok(Value::Record(Arc::new(Record::new(fields, values)?)))
}

/// 42804 for a record of another number of columns.
#[cold]
fn wrong_record(returned: usize, expected: usize) -> SqlError {
    let what = "returned record type does not match expected record type";
    SqlError::new(SqlState::DATATYPE_MISMATCH, what).detail(format!(
        "Number of returned columns ({returned}) does not match expected column count ({expected})."
    ))
}

/// 42804 for a row of another number of columns.
#[cold]
fn wrong_shape(returned: usize, expected: usize) -> SqlError {
    let what = "structure of query does not match function result type";
    SqlError::new(SqlState::DATATYPE_MISMATCH, what).detail(format!(
        "Number of returned columns ({returned}) does not match expected column count ({expected})."
    ))
}
