//! What is known of the rows of tables, for the choice of plans.

use scaledb_types::Value;
use scaledb_types::calendar::DAY_MICROS;

/// Fewer rows than this are as good as so many.
pub const FEW: f64 = 100.0;

/// What is known of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Different values.
    pub distinct: f64,
    /// The share of NULLs.
    pub nulls: f64,
    /// The smallest and the largest value that were seen.
    pub ends: Option<(Value, Value)>,
}

/// What is known of a table.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: f64,
    pub columns: Vec<ColumnStatistics>,
}

impl ColumnStatistics {
    /// The share of its values below one, as far as the ends of the column tell.
    pub fn below(&self, value: &Value) -> Option<f64> {
        let (low, high) = self.ends.as_ref()?;
        let (low, high, value) = (number(low)?, number(high)?, number(value)?);
        (low < high).then(|| ((value - low) / (high - low)).clamp(0.0, 1.0))
    }
}

/// A value on a scale, if it is on one. Dates are on that of timestamps, with which they are compared.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float8(v) => v.is_finite().then_some(*v),
        Value::Date(v) => Some(f64::from(*v) * DAY_MICROS as f64),
        Value::Timestamp(v) | Value::Timestamptz(v) | Value::Time(v) => Some(*v as f64),
        other => other.as_i64().map(|v| v as f64),
    }
}

/// Whether a number of rows differs so much from the one that a plan was made for that it is worth another plan.
pub fn differs(planned: f64, rows: f64) -> bool {
    let (planned, rows) = (planned.max(FEW), rows.max(FEW));
    rows > planned * 2.0 || rows < planned / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_old_when_its_rows_have_doubled() {
        assert!(!differs(0.0, 90.0) && !differs(1_000.0, 1_900.0) && !differs(1_000.0, 600.0));
        assert!(differs(0.0, 900.0) && differs(1_000.0, 2_100.0) && differs(1_000.0, 400.0));
    }
}
