//! `jsonpath`: a way through a jsonb value, as a tree, and as text.
//!
//! ```text
//! lax $.a[*] ? (@.b > 1).size()
//!     │ │ │   │          └ a step: what is done with each item
//!     │ │ │   └ a step with a predicate
//!     │ │ └ a step
//!     │ └ a step
//!     └ the head: where items come from
//! ```
//!
//! What a path finds is the business of `func::jsonpath`.

mod parse;
mod print;
mod scan;

use crate::func::PathFlags;
use crate::numeric::Numeric;
use crate::value::Text;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// How deeply expressions lie in expressions at most; what is read and printed by recursion is no deeper.
pub const MAX_DEPTH: usize = 500;

/// The longest text of a path as it is printed: a number of few characters may have a hundred thousand digits.
const MAX_PRINTED: usize = 4 << 20;

/// The most regular expressions of a path: to compile one may take long, and cannot be interrupted.
const MAX_PATTERNS: usize = 50;

/// A path. Paths are the same if they are printed the same.
#[derive(Clone, Debug)]
pub struct JsonPath {
    pub(crate) lax: bool,
    pub(crate) path: Path,
    text: Box<str>,
}

/// Where items come from, and what is done with each of them, one step after the other.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
}

/// Where items come from.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    Null,
    Bool(bool),
    Number(Numeric),
    String(Text),
    /// `$name`
    Variable(Text),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    Signed(Sign, Box<Path>),
    Binary(Arithmetic, Box<(Path, Path)>),
    Predicate(Box<Predicate>),
}

/// A sign before an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// An operator of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
}

/// What is done with an item.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// `.key`
    Key(Text),
    /// `.*`
    AnyKey,
    /// `[1, 3 to last]`
    Elements(Vec<Subscript>),
    /// `[*]`
    AnyElement,
    /// `.**{first to last}`; [`LAST`] is the deepest level.
    Any(u32, u32),
    /// `? (..)`
    Filter(Predicate),
    Method(Method),
    /// `.datetime()`, with the template if it has one.
    Datetime(Option<Text>),
}

/// The level of `.**` that is written `last`.
pub(crate) const LAST: u32 = u32::MAX;

/// A subscript, or a range of them.
#[derive(Clone, Debug)]
pub(crate) struct Subscript {
    pub(crate) from: Path,
    pub(crate) to: Option<Path>,
}

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Abs,
    Ceiling,
    Double,
    Floor,
    KeyValue,
    Size,
    Type,
}

/// What is true, false or unknown.
#[derive(Clone, Debug)]
pub(crate) enum Predicate {
    And(Box<(Predicate, Predicate)>),
    Or(Box<(Predicate, Predicate)>),
    Not(Box<Predicate>),
    IsUnknown(Box<Predicate>),
    Compare(Compare, Box<(Path, Path)>),
    StartsWith(Box<(Path, Path)>),
    LikeRegex(Box<Path>, Pattern),
    Exists(Box<Path>),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

/// A regular expression with its flags.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: Text,
    pub(crate) flags: PathFlags,
}

impl Sign {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

impl Arithmetic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
        }
    }
}

impl Compare {
    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::LessOrEqual => "<=",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Abs => "abs",
            Self::Ceiling => "ceiling",
            Self::Double => "double",
            Self::Floor => "floor",
            Self::KeyValue => "keyvalue",
            Self::Size => "size",
            Self::Type => "type",
        }
    }
}

impl JsonPath {
    /// The path as it is printed.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Ord for JsonPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl PartialOrd for JsonPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for JsonPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for JsonPath {}

impl Hash for JsonPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
