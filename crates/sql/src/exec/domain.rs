//! What domains demand of values.

use super::Exec;
use scaledb_engine::Worker;
use scaledb_planner::plan::domain::Domain;
use scaledb_types::{Result, Value};

impl<W: Worker> Exec<'_, W> {
    /// A value that becomes one of a domain, or an array of values that do.
    ///
    /// # Errors
    /// 23502 and 23514, and what the conditions refuse.
    pub(super) fn domain(&mut self, domain: &Domain) -> Result<Value> {
        let value = self.eval(&domain.input)?;
        if !domain.elements {
            return self.of_domain(domain, value);
        }
        if let Value::Array(array) = &value {
            for element in array.values() {
                self.of_domain(domain, element.clone())?;
            }
        }
        Ok(value)
    }

    fn of_domain(&mut self, domain: &Domain, value: Value) -> Result<Value> {
        if domain.not_null && value.is_null() {
            return Err(domain.refuses_null());
        }
        if domain.checks.is_empty() {
            return Ok(value);
        }
        let slot = domain.slot;
        // expressions over one row run in a frame that is as long as the row
        if self.frame.len() <= slot {
            self.frame.resize(slot + 1, Value::Null);
        }
        self.frame[slot] = value;
        let mut result = Ok(());
        for check in domain.checks.iter() {
            result = match self.eval(&check.condition) {
                // what is NULL is not violated
                Ok(Value::Bool(false)) => Err(domain.violated(check)),
                Ok(_) => continue,
                Err(error) => Err(error),
            };
            break;
        }
        let value = std::mem::replace(&mut self.frame[slot], Value::Null);
        result.map(|()| value)
    }
}
