//! Statements as trees: they print as SQL, and know what may be taken out of them.

use std::borrow::Cow;
use std::fmt::Write;

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `bool`
    Bool,
    /// `int2`
    Int2,
    /// `int4`
    Int4,
    /// `int8`
    Int8,
    /// `numeric`
    Numeric,
    /// `float8`
    Float8,
    /// `text`
    Text,
    /// `date`
    Date,
    /// `timestamp`
    Timestamp,
    /// `interval`
    Interval,
    /// `time`
    Time,
    /// `int4[]`
    Ints,
    /// `jsonb`
    Json,
    /// `float4`
    Float4,
    /// `timestamptz`
    Timestamptz,
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// `text[]`
    Texts,
    /// The enum type that every script makes.
    Mood,
    /// `int4range`
    Span,
    /// `numrange`
    Numbers,
    /// `inet`
    Inet,
    /// `timetz`
    Timetz,
    /// `varbit`
    Bits,
}

impl Ty {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::Bool,
        Self::Int2,
        Self::Int4,
        Self::Int8,
        Self::Numeric,
        Self::Float8,
        Self::Text,
        Self::Date,
        Self::Timestamp,
        Self::Interval,
        Self::Time,
        Self::Ints,
        Self::Json,
        Self::Float4,
        Self::Timestamptz,
        Self::Bytea,
        Self::Uuid,
        Self::Texts,
        Self::Mood,
        Self::Span,
        Self::Numbers,
        Self::Inet,
        Self::Timetz,
        Self::Bits,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int2 => "int2",
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Numeric => "numeric",
            Self::Float8 => "float8",
            Self::Text => "text",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Interval => "interval",
            Self::Time => "time",
            Self::Ints => "int4[]",
            Self::Json => "jsonb",
            Self::Float4 => "float4",
            Self::Timestamptz => "timestamptz",
            Self::Bytea => "bytea",
            Self::Uuid => "uuid",
            Self::Texts => "text[]",
            Self::Mood => "mood",
            Self::Span => "int4range",
            Self::Numbers => "numrange",
            Self::Inet => "inet",
            Self::Timetz => "timetz",
            Self::Bits => "varbit",
        }
    }

    /// Its oid; 0, which leaves it to the server, if that is not the same everywhere.
    pub fn oid(self) -> u32 {
        match self {
            Self::Bool => 16,
            Self::Int2 => 21,
            Self::Int4 => 23,
            Self::Int8 => 20,
            Self::Numeric => 1700,
            Self::Float8 => 701,
            Self::Text => 25,
            Self::Date => 1082,
            Self::Timestamp => 1114,
            Self::Interval => 1186,
            Self::Time => 1083,
            Self::Ints => 1007,
            Self::Json => 3802,
            Self::Float4 => 700,
            Self::Timestamptz => 1184,
            Self::Bytea => 17,
            Self::Uuid => 2950,
            Self::Texts => 1009,
            Self::Mood => 0,
            Self::Span => 3904,
            Self::Numbers => 3906,
            Self::Inet => 869,
            Self::Timetz => 1266,
            Self::Bits => 1562,
        }
    }

    /// The simplest value of it, as text.
    fn least(self) -> &'static str {
        match self {
            Self::Bool => "true",
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Numeric | Self::Float8 | Self::Float4 => "1",
            Self::Text | Self::Bytea => "a",
            Self::Date | Self::Timestamp | Self::Timestamptz => "2000-01-01",
            Self::Interval => "1 day",
            Self::Time => "00:00",
            Self::Ints | Self::Texts => "{1}",
            Self::Uuid => "00000000-0000-0000-0000-000000000000",
            Self::Json => "1",
            Self::Mood => "ok",
            Self::Span | Self::Numbers => "[1,2)",
            Self::Inet => "::",
            Self::Timetz => "00:00+00",
            Self::Bits => "1",
        }
    }
}

/// What a part of a statement is: another one of the same class may stand in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// An expression.
    Value(Ty),
    /// A query whose columns have these types.
    Query(Vec<Ty>),
    /// What stands in FROM.
    Source,
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Words as they are.
    Text(Cow<'static, str>),
    /// Parts, one after the other.
    Seq(Vec<Node>),
    /// A constant; `None` is NULL.
    Literal(Ty, Option<String>),
    /// What may be replaced as a whole.
    Of(Class, Box<Node>),
    /// What may be left out.
    Maybe(Box<Node>),
    /// A list that must keep some items.
    List {
        /// Between the items.
        separator: &'static str,
        /// How many must stay.
        least: usize,
        /// The items.
        items: Vec<Node>,
    },
    /// Constants in it stay constants when others become parameters: what groups and sorts is compared with the
    /// select list by its text.
    Fixed(Box<Node>),
}

/// A constant that became a parameter: its type and its text.
pub type Parameter = (Ty, Option<String>);

impl Node {
    /// Words.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    /// An expression.
    pub fn value(ty: Ty, parts: Vec<Self>) -> Self {
        Self::Of(Class::Value(ty), Box::new(Self::Seq(parts)))
    }

    /// What may be left out.
    pub fn maybe(parts: Vec<Self>) -> Self {
        Self::Maybe(Box::new(Self::Seq(parts)))
    }

    /// A list by commas.
    pub fn list(least: usize, items: Vec<Self>) -> Self {
        Self::List { separator: ", ", least, items }
    }

    /// As SQL.
    pub fn sql(&self) -> String {
        let mut out = String::new();
        self.print(&mut out, &mut None);
        out
    }

    /// As SQL with parameters in place of constants.
    pub fn with_parameters(&self) -> (String, Vec<Parameter>) {
        let (mut out, mut parameters) = (String::new(), Some(Vec::new()));
        self.print(&mut out, &mut parameters);
        (out, parameters.unwrap_or_default())
    }

    fn print(&self, out: &mut String, parameters: &mut Option<Vec<Parameter>>) {
        match self {
            Self::Text(text) => space(out, text),
            Self::Seq(parts) => parts.iter().for_each(|part| part.print(out, parameters)),
            Self::Of(_, inner) | Self::Maybe(inner) => inner.print(out, parameters),
            Self::Fixed(inner) => inner.print(out, &mut None),
            Self::List { separator, items, .. } => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        space(out, separator.trim_end());
                    }
                    item.print(out, parameters);
                }
            }
            Self::Literal(ty, value) => match (parameters, value) {
                (Some(parameters), value) => {
                    // a column that a cast computes has its name: where the constant has a cast, so has the parameter
                    let bare = match value {
                        Some(value) => *ty == Ty::Bool || *ty == Ty::Int4 && !value.starts_with('-'),
                        None => false,
                    };
                    parameters.push((*ty, value.clone()));
                    space(out, &format!("${}", parameters.len()));
                    if !bare {
                        let _ = write!(out, "::{}", ty.name());
                    }
                }
                (None, Some(value)) if *ty == Ty::Int4 && !value.starts_with('-') => space(out, value),
                (None, Some(value)) if *ty == Ty::Bool => space(out, value),
                (None, Some(value)) => {
                    space(out, "");
                    let _ = write!(out, "'{}'::{}", value.replace('\'', "''"), ty.name());
                }
                (None, None) => space(out, &format!("null::{}", ty.name())),
            },
        }
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        1 + self.children().iter().map(|child| child.size()).sum::<usize>()
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Text(_) | Self::Literal(..) => Vec::new(),
            Self::Seq(parts) | Self::List { items: parts, .. } => parts.iter().collect(),
            Self::Of(_, inner) | Self::Maybe(inner) | Self::Fixed(inner) => vec![inner],
        }
    }

    /// The tree with the node of this number (in the order of a walk, from 0) replaced.
    pub fn replaced(&self, number: usize, by: &Self) -> Self {
        fn walk(node: &Node, left: &mut usize, by: &Node) -> Node {
            if *left == 0 {
                *left = usize::MAX;
                return by.clone();
            }
            if *left != usize::MAX {
                *left -= 1;
            }
            let mut again = |inner: &Node| Box::new(walk(inner, left, by));
            match node {
                Node::Text(_) | Node::Literal(..) => node.clone(),
                Node::Of(class, inner) => Node::Of(class.clone(), again(inner)),
                Node::Maybe(inner) => Node::Maybe(again(inner)),
                Node::Fixed(inner) => Node::Fixed(again(inner)),
                Node::Seq(parts) => Node::Seq(parts.iter().map(|part| walk(part, left, by)).collect()),
                Node::List { separator, least, items } => Node::List {
                    separator,
                    least: *least,
                    items: items.iter().map(|item| walk(item, left, by)).collect(),
                },
            }
        }
        walk(self, &mut { number }, by)
    }

    /// The node of this number.
    pub fn at(&self, number: usize) -> Option<&Self> {
        fn walk<'n>(node: &'n Node, left: &mut usize) -> Option<&'n Node> {
            if *left == 0 {
                return Some(node);
            }
            *left -= 1;
            node.children().into_iter().find_map(|child| walk(child, left))
        }
        walk(self, &mut { number })
    }

    /// Simpler nodes that may stand in the place of this one, the simplest first.
    pub fn simpler(&self) -> Vec<Self> {
        match self {
            Self::Text(_) | Self::Seq(_) | Self::Literal(_, None) | Self::Fixed(_) => Vec::new(),
            Self::Literal(ty, Some(value)) if value != ty.least() => {
                vec![Self::Literal(*ty, Some(ty.least().to_owned()))]
            }
            Self::Literal(..) => Vec::new(),
            Self::Maybe(inner) => vec![Self::text(""), Self::Seq(vec![(**inner).clone()])],
            Self::List { separator, least, items } => {
                let without = |i: usize| {
                    let mut items = items.clone();
                    items.remove(i);
                    Self::List { separator, least: *least, items }
                };
                if items.len() > *least { (0..items.len()).rev().map(without).collect() } else { Vec::new() }
            }
            Self::Of(class, inner) => {
                let mut found = Vec::new();
                if let Class::Value(ty) = class
                    && !matches!(**inner, Self::Literal(..))
                {
                    found.push(Self::Literal(*ty, None));
                    found.push(Self::Literal(*ty, Some(ty.least().to_owned())));
                }
                inner.of_class(class, &mut found);
                found
            }
        }
    }

    /// The outermost nodes of a class in this one.
    fn of_class(&self, wanted: &Class, found: &mut Vec<Self>) {
        for child in self.children().into_iter().chain([self]) {
            match child {
                Self::Of(class, _) if class == wanted => {
                    if !found.contains(child) {
                        found.push(child.clone());
                    }
                }
                _ if std::ptr::eq(child, self) => {}
                _ => child.of_class(wanted, found),
            }
        }
    }
}

/// Appends a word, with a space before it where one is needed.
fn space(out: &mut String, word: &str) {
    let tight = out.is_empty() || out.ends_with(['(', ' ', '[']) || word.starts_with([',', ')', ']', '[']);
    if !tight {
        out.push(' ');
    }
    out.push_str(word);
}
