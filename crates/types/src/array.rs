//! Arrays: values of one type in up to six dimensions.

use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use crate::value::Value;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Dimensions of an array.
pub const MAX_DIMENSIONS: usize = 6;
/// Elements of an array: what PostgreSQL's limit on allocations leaves.
pub const MAX_ELEMENTS: usize = 0x3FFF_FFFF / 8;

/// One dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// How many.
    pub len: i32,
    /// The subscript of the first.
    pub lower: i32,
}

/// An array. An empty one has no dimensions.
///
/// `values.len()` is the product of the lengths of the dimensions.
#[derive(Clone, Debug)]
pub struct Array {
    element: Type,
    dims: Vec<Dimension>,
    values: Vec<Value>,
}

impl Array {
    /// An array of one dimension from 1, or an empty one.
    pub fn new(element: Type, values: Vec<Value>) -> Self {
        let element = element.value_type();
        let len = i32::try_from(values.len()).unwrap_or(i32::MAX);
        let dims = if len == 0 { Vec::new() } else { vec![Dimension { len, lower: 1 }] };
        Self { element, dims, values }
    }

    /// An array of these dimensions.
    ///
    /// # Errors
    ///
    /// 54000 if it is too large, 2202E if the dimensions do not count the values.
    pub fn with_dimensions(element: Type, dims: Vec<Dimension>, values: Vec<Value>) -> Result<Self> {
        let element = element.value_type();
        if dims.iter().any(|dim| dim.len == 0) || dims.is_empty() {
            return Ok(Self { element, dims: Vec::new(), values: Vec::new() });
        }
        check_dimensions(&dims)?;
        let count: usize = dims.iter().map(|dim| dim.len as usize).product();
        if count != values.len() {
            let message = "multidimensional arrays must have array expressions with matching dimensions";
            return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
        }
        Ok(Self { element, dims, values })
    }

    /// `ARRAY[a, b]` of arrays: one dimension more.
    ///
    /// # Errors
    ///
    /// 2202E if their dimensions differ.
    pub fn nested(element: Type, parts: &[Value]) -> Result<Self> {
        let mismatch = || {
            let message = "multidimensional arrays must have array expressions with matching dimensions";
            SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message)
        };
        let mut dims: Option<Vec<Dimension>> = None;
        let mut values = Vec::new();
        for part in parts {
            let empty = Self::new(element, Vec::new());
            let part = match part {
                Value::Array(part) => part.as_ref(),
                _ => &empty,
            };
            if dims.as_ref().is_some_and(|dims| *dims != part.dims) {
                return Err(mismatch());
            }
            dims = Some(part.dims.clone());
            values.extend_from_slice(&part.values);
        }
        match dims {
            Some(mut dims) if !dims.is_empty() => {
                dims.insert(0, Dimension { len: i32::try_from(parts.len()).unwrap_or(i32::MAX), lower: 1 });
                Self::with_dimensions(element, dims, values)
            }
            _ => Ok(Self::new(element, Vec::new())),
        }
    }

    /// The type of the elements.
    pub fn element(&self) -> Type {
        self.element
    }

    /// The dimensions: none if it is empty.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dims
    }

    /// The elements, the last subscript running fastest.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// `array[i]`, `array[i][j]`: NULL if there is none.
    pub fn get(&self, subscripts: &[i32]) -> &Value {
        if subscripts.len() != self.dims.len() {
            return &Value::Null;
        }
        let mut at = 0;
        for (subscript, dim) in subscripts.iter().zip(&self.dims) {
            let offset = i64::from(*subscript) - i64::from(dim.lower);
            if offset < 0 || offset >= dim.len.into() {
                return &Value::Null;
            }
            at = at * dim.len as usize + offset as usize;
        }
        self.values.get(at).unwrap_or(&Value::Null)
    }

    /// Its elements as those of an array of another element type.
    ///
    /// # Errors
    /// The first one of `f`.
    pub fn map(&self, element: Type, f: impl FnMut(&Value) -> Result<Value>) -> Result<Self> {
        let element = element.value_type();
        let values = self.values.iter().map(f).collect::<Result<_>>()?;
        Ok(Self { element, dims: self.dims.clone(), values })
    }
}

/// Whether an array may have these dimensions.
pub(crate) fn check_dimensions(dims: &[Dimension]) -> Result<()> {
    let limit = |message| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    if dims.len() > MAX_DIMENSIONS {
        return Err(limit(format!(
            "number of array dimensions ({}) exceeds the maximum allowed ({MAX_DIMENSIONS})",
            dims.len()
        )));
    }
    let mut count = 1_usize;
    for dim in dims {
        let len = usize::try_from(dim.len).unwrap_or(usize::MAX);
        count = count.saturating_mul(len);
        if count > MAX_ELEMENTS {
            return Err(limit(format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})")));
        }
        if dim.lower.checked_add(dim.len).is_none() {
            return Err(limit(format!("array lower bound is too large: {}", dim.lower)));
        }
    }
    Ok(())
}

/// Elements first, then their number, then the dimensions.
impl Ord for Array {
    fn cmp(&self, other: &Self) -> Ordering {
        self.values
            .cmp(&other.values)
            .then_with(|| self.dims.len().cmp(&other.dims.len()))
            .then_with(|| self.dims.cmp(&other.dims))
    }
}

impl PartialOrd for Array {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Array {}

impl Hash for Array {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}
