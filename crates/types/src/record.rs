//! Rows as values: records, and rows as JSON.

use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::func::{to_json, to_jsonb};
use crate::json::{Json, write_string};
use crate::ty::{Base, Type};
use crate::value::{Text, Value};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How deep records may lie in records, arrays between them included: what walks a value needs that much of the stack.
pub const MAX_RECORD_DEPTH: u8 = 100;

/// What the fields of a record are.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// Their names: `f1`, `f2` .. where nothing has named them.
    pub names: Vec<String>,
    /// Their types, as many as names.
    pub types: Vec<Type>,
}

impl Fields {
    /// Where the field of a name is; the first of several.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|field| field == name)
    }
}

/// A row as one value.
///
/// `values.len() == fields.types.len()`, and `depth <= MAX_RECORD_DEPTH`.
#[derive(Debug)]
pub struct Record {
    fields: Arc<Fields>,
    values: Box<[Value]>,
    /// How many records lie in each other, this one included.
    depth: u8,
}

/// How many records lie in each other in a value.
fn depth(value: &Value) -> u8 {
    match value {
        Value::Record(record) => record.depth,
        Value::Array(array) if array.element().base == Base::Record => {
            array.values().iter().map(depth).max().unwrap_or(0)
        }
        _ => 0,
    }
}

impl Record {
    /// A record of these values, which have the types of the fields.
    ///
    /// # Errors
    /// 54001 if records lie too deep in each other, XX000 if there are not as many values as fields.
    pub fn new(fields: Arc<Fields>, values: impl Into<Box<[Value]>>) -> Result<Self> {
        let values = values.into();
        if values.len() != fields.types.len() || values.len() != fields.names.len() {
            return Err(SqlError::internal("a record has a value for each of its fields"));
        }
        let depth = values.iter().map(depth).max().unwrap_or(0) + 1;
        if depth > MAX_RECORD_DEPTH {
            let what = format!("more than {MAX_RECORD_DEPTH} records lie in each other");
            return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what));
        }
        Ok(Self { fields, values, depth })
    }

    /// What its fields are.
    pub fn fields(&self) -> &Arc<Fields> {
        &self.fields
    }

    /// The values of the fields.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Each field: its name, its type and its value.
    pub fn each(&self) -> impl Iterator<Item = (&str, Type, &Value)> {
        let Fields { names, types } = &*self.fields;
        names.iter().zip(types).zip(&self.values).map(|((name, ty), value)| (name.as_str(), *ty, value))
    }

    /// Appends its text: `(1,"a b",)`.
    pub(crate) fn write_text(&self, env: &Env, out: &mut Vec<u8>) {
        out.push(b'(');
        let mut field = Vec::new();
        for (number, (_, ty, value)) in self.each().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            if value.is_null() {
                continue;
            }
            field.clear();
            value.write_text(ty, env, &mut field);
            let special = |byte: &u8| b"(),\"\\".contains(byte) || byte.is_ascii_whitespace();
            if !field.is_empty() && !field.iter().any(special) {
                out.extend_from_slice(&field);
                continue;
            }
            out.push(b'"');
            for &byte in &field {
                if byte == b'"' || byte == b'\\' {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'"');
        }
        out.push(b')');
    }

    /// Appends it in PostgreSQL's binary format:
    ///
    /// ```text
    /// fields (4) | (OID of the type (4) | length, -1 for NULL (4) | value) each
    /// ```
    pub(crate) fn write_binary(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.values.len() as i32).to_be_bytes());
        for (_, ty, value) in self.each() {
            out.extend_from_slice(&ty.oid().to_be_bytes());
            if value.is_null() {
                out.extend_from_slice(&(-1_i32).to_be_bytes());
                continue;
            }
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            value.write_binary(ty, out);
            let len = (out.len() - at - 4) as i32;
            out[at..at + 4].copy_from_slice(&len.to_be_bytes());
        }
    }

    /// The order of two records, field by field, in which NULL equals NULL and is greatest.
    ///
    /// # Errors
    /// 42804 if their fields are of other types, or not as many; 42883 for types without an order.
    pub(crate) fn compare(&self, other: &Self, what: &str) -> Result<Ordering> {
        for (number, ((_, a, left), (_, b, right))) in self.each().zip(other.each()).enumerate() {
            if !a.same(b) {
                let what = format!(
                    "cannot compare dissimilar column types {} and {} at record column {}",
                    a.sql_name(),
                    b.sql_name(),
                    number + 1
                );
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
            }
            let order = match (left, right) {
                (Value::Record(left), Value::Record(right)) => left.compare(right, what)?,
                _ if matches!(a.base, Base::Json | Base::Jsonpath | Base::Xid | Base::Refcursor)
                    && !(left.is_null() && right.is_null()) =>
                {
                    let what = format!("could not identify {what} for type {}", a.sql_name());
                    return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what));
                }
                _ => left.cmp(right),
            };
            if order.is_ne() {
                return Ok(order);
            }
        }
        if self.values.len() != other.values.len() {
            let what = "cannot compare record types with different numbers of columns";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        Ok(Ordering::Equal)
    }
}

/// That of the fields, one after the other; fewer come first.
impl Ord for Record {
    fn cmp(&self, other: &Self) -> Ordering {
        self.values.cmp(&other.values)
    }
}

impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Record {}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}

/// Appends a JSON object of fields. With `lines`, every member is on a line of its own.
pub(crate) fn write_json<'f>(
    fields: impl Iterator<Item = (&'f str, Type, &'f Value)>,
    env: &Env,
    lines: bool,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (number, (name, ty, value)) in fields.enumerate() {
        if number > 0 {
            out.extend_from_slice(if lines { b",\n " } else { b"," });
        }
        write_string(name, out);
        out.push(b':');
        to_json(value, ty, env, out);
    }
    out.push(b'}');
}

/// A row as a JSON object, with the names of its columns as keys. With `lines`, every member is on a line of its own.
pub fn row_to_json(env: &Env, names: &[String], types: &[Type], row: &[Value], lines: bool) -> Value {
    let mut out = Vec::new();
    let fields = names.iter().zip(types).zip(row).map(|((name, ty), value)| (name.as_str(), *ty, value));
    write_json(fields, env, lines, &mut out);
    Value::text(String::from_utf8_lossy(&out))
}

/// As [`row_to_json`], as jsonb.
///
/// # Errors
/// A value that jsonb does not hold.
pub fn row_to_jsonb(env: &Env, names: &[String], types: &[Type], row: &[Value]) -> Result<Value> {
    let fields = names.iter().zip(types).zip(row);
    let members =
        fields.map(|((name, &ty), value)| Ok((Text::new(name.as_str()), to_jsonb(value, ty, env)?)));
    Ok(Value::jsonb(Json::object(members.collect::<Result<_>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(value: Value, ty: Type) -> Result<Value> {
        let fields = Fields { names: vec!["f1".to_owned()], types: vec![ty] };
        Ok(Value::Record(Arc::new(Record::new(Arc::new(fields), vec![value])?)))
    }

    #[test]
    fn records_that_lie_too_deep_in_each_other_are_refused() {
        let mut value = within(Value::Int4(1), Type::INT4).unwrap();
        for _ in 1..MAX_RECORD_DEPTH / 2 {
            value = within(value, Type::RECORD).unwrap();
            let array = Type::RECORD.to_array().unwrap();
            value =
                within(Value::Array(Arc::new(crate::Array::new(Type::RECORD, vec![value]))), array).unwrap();
        }
        let mut tagged = Vec::new();
        value.write_tagged(&mut tagged).unwrap();
        assert_eq!(Value::read_tagged(&tagged), Some((value.clone(), &[][..])));
        value = within(value, Type::RECORD).unwrap();
        let refused = within(value, Type::RECORD).unwrap_err();
        assert_eq!(refused.code(), SqlState::STATEMENT_TOO_COMPLEX);
    }

    #[test]
    fn a_record_is_sent_with_the_types_of_its_fields() {
        let fields =
            Fields { names: vec!["a".to_owned(), "b".to_owned()], types: vec![Type::INT4, Type::TEXT] };
        let record = Record::new(Arc::new(fields), vec![Value::Int4(7), Value::Null]).unwrap();
        let mut sent = Vec::new();
        record.write_binary(&mut sent);
        let wanted = [0, 0, 0, 2, 0, 0, 0, 23, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 25, 255, 255, 255, 255];
        assert_eq!(sent, wanted);
    }
}
