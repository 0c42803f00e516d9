//! `json` is kept as text; `jsonb` as this tree.

mod codec;
mod text;

pub(crate) use text::write_string;

use crate::numeric::Numeric;
use crate::value::Text;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Depth of nested arrays and objects.
pub const MAX_DEPTH: usize = 500;

/// A jsonb value.
#[derive(Clone, Debug)]
pub enum Json {
    /// null
    Null,
    /// true, false
    Bool(bool),
    /// A finite number.
    Number(Numeric),
    /// A string, unescaped.
    String(Text),
    /// An array.
    Array(Vec<Json>),
    /// An object: keys once each, shorter ones first, then by bytes.
    Object(Vec<(Text, Json)>),
}

/// The order of keys in an object.
pub(crate) fn compare_keys(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Json {
    /// An object of these members: of equal keys the last one counts.
    pub fn object(mut members: Vec<(Text, Self)>) -> Self {
        members.reverse();
        members.sort_by(|a, b| compare_keys(&a.0, &b.0));
        members.dedup_by(|later, first| later.0 == first.0);
        Self::Object(members)
    }

    /// The member of a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        let at = members.binary_search_by(|(name, _)| compare_keys(name, key)).ok()?;
        Some(&members[at].1)
    }

    /// The element of a subscript, from the end if it is negative.
    pub fn at(&self, subscript: i64) -> Option<&Self> {
        let Self::Array(elements) = self else { return None };
        let at = if subscript < 0 { subscript + elements.len() as i64 } else { subscript };
        elements.get(usize::try_from(at).ok()?)
    }

    /// Whether arrays and objects are nested deeper than [`MAX_DEPTH`]: functions can build such values, and reading
    /// them again would be refused.
    pub(crate) fn is_too_deep(&self) -> bool {
        // a list instead of a recursion, for the depth is what is in question
        let mut rest = vec![(self, 0)];
        while let Some((json, depth)) = rest.pop() {
            if depth > MAX_DEPTH {
                return true;
            }
            match json {
                Self::Array(elements) => rest.extend(elements.iter().map(|e| (e, depth + 1))),
                Self::Object(members) => rest.extend(members.iter().map(|(_, v)| (v, depth + 1))),
                _ => {}
            }
        }
        false
    }

    /// The order of whole values: as that of parts, but for the empty array, which is less than a scalar.
    pub(crate) fn compare_whole(&self, other: &Self) -> Ordering {
        let scalar = |v: &Self| !matches!(v, Self::Array(_) | Self::Object(_));
        match (self.is_empty_array(), other.is_empty_array()) {
            (true, false) if scalar(other) => Ordering::Less,
            (false, true) if scalar(self) => Ordering::Greater,
            _ => self.cmp(other),
        }
    }

    pub(crate) fn is_empty_array(&self) -> bool {
        matches!(self, Self::Array(elements) if elements.is_empty())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 1,
            Self::String(_) => 2,
            Self::Number(_) => 3,
            Self::Bool(_) => 4,
            Self::Array(_) => 5,
            Self::Object(_) => 6,
        }
    }
}

/// Object > Array > Boolean > Number > String > Null; more members or elements are greater.
impl Ord for Json {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Array(a), Self::Array(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (Self::Object(a), Self::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a
                    .iter()
                    .zip(b)
                    .map(|((k, v), (l, w))| k.as_bytes().cmp(l.as_bytes()).then_with(|| v.cmp(w)));
                pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.rank());
        match self {
            Self::Null => {}
            Self::Bool(v) => v.hash(state),
            Self::Number(v) => v.hash(state),
            Self::String(v) => v.hash(state),
            Self::Array(v) => v.hash(state),
            Self::Object(v) => v.hash(state),
        }
    }
}
