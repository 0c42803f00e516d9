//! `nextval` and its like: the values of sequences that a session has taken.

use super::SessionState;
use scaledb_catalog::{ObjectKind, Privileges, Relation, SequenceDesc};
use scaledb_engine::Engine;
use scaledb_planner::bind::names::is_temporary;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The value of each sequence, and the sequence that the last one of all was of.
type TakenLast = (HashMap<u32, i64>, Option<u32>);

impl<E: Engine> SessionState<E> {
    /// The sequence of an oid; the transaction depends on it.
    pub(super) fn sequence_desc(&self, value: &Value) -> Result<Option<Arc<scaledb_catalog::SequenceDesc>>> {
        let Value::Oid(oid) = value else { return Ok(None) };
        match self.catalog.get(*oid) {
            Some(Relation::Sequence(desc)) => {
                self.used.note(*oid);
                Ok(Some(desc.clone()))
            }
            Some(other) => {
                let what = format!("\"{}\" is not a sequence", other.name());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
            None => {
                let what = format!("relation with OID {oid} does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    fn is_of_identity(&self, desc: &SequenceDesc) -> bool {
        let column = desc.owned_by.and_then(|(table, attnum)| {
            let table = self.catalog.table(table)?;
            table.columns.get(table.position(attnum)?)
        });
        column.is_some_and(|column| column.identity.is_some())
    }

    /// The values that the session has taken last.
    pub(in crate::session) fn taken_last(&self) -> TakenLast {
        (self.currents.borrow().clone(), self.last.get())
    }

    /// Goes back to values that the session has taken before.
    pub(in crate::session) fn take_back_to(&self, (currents, last): TakenLast) {
        *self.currents.borrow_mut() = currents;
        self.last.set(last);
    }

    /// Forgets what values the session has taken.
    pub(crate) fn forget_sequences(&self) {
        self.currents.borrow_mut().clear();
        self.last.set(None);
    }

    /// A call of a function of sequences.
    pub(super) fn sequence_call(&self, name: &str, args: &[Value]) -> Result<Value> {
        self.looked.set(true);
        if name == "lastval" {
            // somebody may have dropped it since
            let last = self.last.get().filter(|oid| self.catalog.get(*oid).is_some());
            if let Some(oid) = last {
                let any = Privileges::USAGE.and(Privileges::SELECT);
                self.check_any_privilege(ObjectKind::Sequence, oid, any)?;
            }
            let current = last.and_then(|oid| self.currents.borrow().get(&oid).copied());
            return current.map(Value::Int8).ok_or_else(|| {
                SqlError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "lastval is not yet defined in this session",
                )
            });
        }
        let Some(desc) = args.first().map_or(Ok(None), |arg| self.sequence_desc(arg))? else {
            return Ok(Value::Null);
        };
        if self.is_read_only() && name != "currval" && !is_temporary(&desc.schema) {
            let what = format!("cannot execute {name}() in a read-only transaction");
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        let any = match name {
            "nextval" => Privileges::USAGE.and(Privileges::UPDATE),
            "currval" => Privileges::USAGE.and(Privileges::SELECT),
            _ => Privileges::UPDATE,
        };
        // whoever inserts a row takes the value of its identity column
        if !(name == "nextval" && self.is_of_identity(&desc)) {
            self.check_any_privilege(ObjectKind::Sequence, desc.oid, any)?;
        }
        match name {
            "nextval" => {
                // behind a restart others get the same values, too
                let taken_before = self.drawn.borrow().next(desc.value_id());
                let value = taken_before.map_or_else(|| self.shared.next_value(&desc), Ok)?;
                self.drawn.borrow_mut().add(desc.value_id(), value);
                self.currents.borrow_mut().insert(desc.oid, value);
                self.last.set(Some(desc.oid));
                Ok(Value::Int8(value))
            }
            "currval" => {
                self.currents.borrow().get(&desc.oid).map(|value| Value::Int8(*value)).ok_or_else(|| {
                    let what =
                        format!("currval of sequence \"{}\" is not yet defined in this session", desc.name);
                    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
                })
            }
            _ => {
                let Some(value) = args.get(1).and_then(Value::as_i64) else { return Ok(Value::Null) };
                let called = args.get(2).is_none_or(Value::is_true);
                self.acted.set(true);
                self.shared.set_value(&desc, value, called)?;
                if called {
                    self.currents.borrow_mut().insert(desc.oid, value);
                }
                Ok(Value::Int8(value))
            }
        }
    }
}
