//! What values take of memory, for those who bound it.

use crate::Value;

/// Bytes that a kept value takes.
pub fn weight(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) if text.len() > 23 => text.len() + 16,
            Value::Bytea(bytes) => bytes.len() + 16,
            Value::Array(array) => array.values().iter().map(weight).sum::<usize>() + 64,
            Value::Record(record) => record.values().iter().map(weight).sum::<usize>() + 48,
            Value::Range(range) => range.bounds().map_or(16, |_| 88),
            Value::Bits(bits) => bits.bytes().len() + 48,
            Value::Jsonb(_) => 256,
            // the text, and a tree of it
            Value::Jsonpath(path) => 256 + path.text().len() * 8,
            Value::Numeric(_) => 16,
            _ => 0,
        }
}

/// Bytes that a kept row takes.
pub fn row_weight(row: &[Value]) -> usize {
    row.iter().map(weight).sum::<usize>() + 32
}
