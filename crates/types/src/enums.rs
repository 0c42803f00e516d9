//! Enum types: definitions that do not change, and values of them.
//!
//! A definition is interned: two with the same content are one, so that types and values compare by a pointer and
//! copy it. ALTER TYPE makes another definition. They stay until the process ends, as statements in flight may use
//! them; each takes the bytes of its labels.

use crate::error::{Result, SqlError, SqlState};
use crate::func::quote_ident;
use crate::ty::{Category, Row};
use scaledb_sync::lock::Mutex;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// The longest label, in bytes, as in PostgreSQL.
pub const MAX_LABEL_LENGTH: usize = 63;

/// A label of an enum type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// What orders it among the labels of its type, and what is stored for it.
    pub order: i64,
    /// Its text.
    pub text: Box<str>,
}

/// What a definition says.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Content {
    oid: u32,
    array: u32,
    name: Box<str>,
    /// Their orders ascend.
    labels: Box<[Label]>,
}

struct Definition {
    /// Its place among the definitions of the process.
    number: u32,
    row: Row,
    content: Content,
}

/// An enum type, as one definition says it.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Definition);

#[derive(Default)]
struct Definitions {
    all: Vec<EnumType>,
    by_content: HashMap<&'static Content, EnumType>,
}

static DEFINITIONS: LazyLock<Mutex<Definitions>> = LazyLock::new(Mutex::default);

impl EnumType {
    /// The type of these oids, of itself and of arrays of it, with this name and these labels, in any order.
    pub fn define(oid: u32, array: u32, name: &str, mut labels: Vec<Label>) -> Self {
        labels.sort_by_key(|label| label.order);
        debug_assert!(labels.windows(2).all(|two| two[0].order < two[1].order), "each order is of one label");
        let content = Content { oid, array, name: name.into(), labels: labels.into() };
        let mut definitions = DEFINITIONS.lock();
        if let Some(known) = definitions.by_content.get(&content) {
            return *known;
        }
        let row = Row {
            name: Box::leak(name.into()),
            sql: Box::leak(quote_ident(name).into_owned().into_boxed_str()),
            oid,
            array,
            len: 4,
            category: Category::Enum,
            preferred: false,
        };
        let number = u32::try_from(definitions.all.len()).unwrap_or(u32::MAX);
        let defined: &'static Definition = Box::leak(Box::new(Definition { number, row, content }));
        definitions.all.push(Self(defined));
        definitions.by_content.insert(&defined.content, Self(defined));
        Self(defined)
    }

    /// The definition of a number that [`Self::number`] has said.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        DEFINITIONS.lock().all.get(number as usize).copied()
    }

    /// The place of the definition among those of the process.
    pub(crate) fn number(self) -> u32 {
        self.0.number
    }

    pub(crate) fn row(self) -> &'static Row {
        &self.0.row
    }

    /// Its oid.
    pub fn oid(self) -> u32 {
        self.0.content.oid
    }

    /// The labels, in their order.
    pub fn labels(self) -> &'static [Label] {
        &self.0.content.labels
    }

    /// All values, in their order.
    pub fn values(self) -> impl DoubleEndedIterator<Item = EnumValue> + ExactSizeIterator {
        (0..self.labels().len()).map(move |at| EnumValue { of: self, at: at as u32 })
    }

    /// The value of a label.
    ///
    /// # Errors
    ///
    /// 22P02 if there is none.
    pub fn value(self, text: &str) -> Result<EnumValue> {
        self.values().find(|value| value.label() == text).ok_or_else(|| {
            let what = format!("invalid input value for enum {}: \"{text}\"", self.0.row.sql);
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what)
        })
    }

    /// The value that is stored as this.
    pub(crate) fn stored(self, order: i64) -> Option<EnumValue> {
        let at = self.labels().binary_search_by_key(&order, |label| label.order).ok()?;
        Some(EnumValue { of: self, at: at as u32 })
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for EnumType {}

impl PartialOrd for EnumType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EnumType {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.row.sql)
    }
}

/// A value of an enum type. Values order as the labels of their type do.
#[derive(Clone, Copy)]
pub struct EnumValue {
    of: EnumType,
    /// The place of its label.
    at: u32,
}

impl EnumValue {
    /// Its type.
    pub fn ty(self) -> EnumType {
        self.of
    }

    /// Its label.
    pub fn label(self) -> &'static str {
        &self.of.labels()[self.at as usize].text
    }

    /// What is stored for it.
    pub fn order(self) -> i64 {
        self.of.labels()[self.at as usize].order
    }
}

impl Ord for EnumValue {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.of == other.of {
            return self.at.cmp(&other.at);
        }
        // of the type before and after a change of it
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for EnumValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for EnumValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for EnumValue {}

impl Hash for EnumValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.order().hash(state);
    }
}

impl fmt::Debug for EnumValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}::{:?}", self.label(), self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, Type, Value};

    fn labels(texts: &[(i64, &str)]) -> Vec<Label> {
        texts.iter().map(|&(order, text)| Label { order, text: text.into() }).collect()
    }

    #[test]
    fn the_same_definition_is_one() {
        let sad = EnumType::define(70_000, 70_001, "mood", labels(&[(1, "sad"), (2, "ok")]));
        let same = EnumType::define(70_000, 70_001, "mood", labels(&[(2, "ok"), (1, "sad")]));
        let more = EnumType::define(70_000, 70_001, "mood", labels(&[(0, "bad"), (1, "sad"), (2, "ok")]));
        assert_eq!(sad, same);
        assert_ne!(sad, more);
        assert_eq!(EnumType::of_number(sad.number()), Some(sad));
        // values compare across a change of their type
        assert_eq!(sad.value("sad").unwrap(), more.value("sad").unwrap());
        assert!(more.value("bad").unwrap() < sad.value("sad").unwrap());
    }

    #[test]
    fn values_come_back_from_text_rows_files_and_messages() {
        let ty = Type::of_enum(EnumType::define(70_002, 70_003, "Mood", labels(&[(5, "sad"), (-7, "o'k")])));
        let env = Env::default();
        let array = ty.to_array().unwrap();
        assert_eq!((ty.to_string(), array.to_string()), ("\"Mood\"".to_owned(), "\"Mood\"[]".to_owned()));
        for (text, ty) in [("sad", ty), ("o'k", ty), ("{sad,NULL,o'k}", array)] {
            let value = Value::parse(text, ty, &env).unwrap();
            assert!(value.fits(ty));
            assert_eq!(value.to_text(ty, &env).unwrap(), text);
            assert_eq!(Value::load(ty, &value.store(ty).unwrap()).unwrap(), value);
            let (mut binary, mut tagged) = (Vec::new(), Vec::new());
            value.write_binary(ty, &mut binary);
            assert_eq!(Value::from_binary(&binary, ty).unwrap(), value);
            value.write_tagged(&mut tagged).unwrap();
            assert_eq!(Value::read_tagged(&tagged), Some((value, &[][..])));
        }
        let error = Value::parse("glad", ty, &env).unwrap_err();
        assert_eq!(error.to_string(), "invalid input value for enum \"Mood\": \"glad\"");
        assert_eq!(error.code().as_str(), "22P02");
        // a label that this definition does not have yet
        assert_eq!(Value::load(ty, &crate::Stored::Int8(6)).unwrap_err().code().as_str(), "40001");
    }
}
