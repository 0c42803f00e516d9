//! Values with another element: what `SET a[1] = 5` makes of a column.

use scaledb_types::array::MAX_DIMENSIONS;
use scaledb_types::func::Interrupt;
use scaledb_types::func::assign::{Bounds, set_element, set_path, set_slice};
use scaledb_types::{Result, SqlError, SqlState, Type, Value};

/// What an assignment changes. Its arguments are the value, the value of the element, and the subscripts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Assignment {
    /// An element of an array.
    Element { element: Type },
    /// A slice of an array, with two bounds for each dimension; each bit of `given` is one that is there.
    Slice { element: Type, given: u16 },
    /// What a path of jsonb leads to; of NULL it makes an array, or else an object.
    Path { array: bool },
}

#[cold]
fn null(of: &str) -> SqlError {
    let what = format!("{of} subscript in assignment must not be null");
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what)
}

fn number(subscript: &Value) -> Result<i32> {
    match subscript {
        Value::Int4(number) => Ok(*number),
        _ => Err(null("array")),
    }
}

impl Assignment {
    /// The value that the assignment makes.
    ///
    /// # Errors
    /// 22004 for a subscript that is NULL; those of the assignment.
    pub(super) fn value(&self, args: &[Value], interrupt: Interrupt<'_>) -> Result<Value> {
        let [old, value, subscripts @ ..] = args else {
            return Err(SqlError::internal("an assignment without a value"));
        };
        match *self {
            Self::Element { element } => {
                let mut numbers = [0; MAX_DIMENSIONS];
                for (to, subscript) in numbers.iter_mut().zip(subscripts) {
                    *to = number(subscript)?;
                }
                let numbers = &numbers[..subscripts.len().min(MAX_DIMENSIONS)];
                set_element(old, element, numbers, value.clone(), interrupt)
            }
            Self::Slice { element, given } => {
                let bound = |at: usize| match subscripts.get(at) {
                    Some(subscript) if given & 1 << at != 0 => number(subscript).map(Some),
                    _ => Ok(None),
                };
                let pairs = (0..subscripts.len() / 2).map(|at| Ok((bound(2 * at)?, bound(2 * at + 1)?)));
                let bounds = pairs.collect::<Result<Vec<Bounds>>>()?;
                set_slice(old, element, &bounds, value, interrupt)
            }
            Self::Path { array } => {
                let steps = subscripts.iter().map(|step| step.as_str().ok_or_else(|| null("jsonb")));
                set_path(old, &steps.collect::<Result<Vec<_>>>()?, array, value, interrupt)
            }
        }
    }
}
