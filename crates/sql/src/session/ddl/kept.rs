//! Expressions and queries as the catalog keeps them: text, with the schemas of what is not in `public`.
//!
//! A name without a schema is looked up along the search path of whoever reads it, and tomorrow there may be something
//! else of this name in it. So names of types and relations in a text that is kept mean `public`, and others get
//! their schema before they are kept. (The relations that views read are found otherwise: see `bind::names::Naming`.)

use super::super::Session;
use crate::bind::names::{find_enum, find_relation, split_text};
use crate::parse::lex::{Kind, Lexer, Token, name_of, text_of};
use scaledb_catalog::PUBLIC;
use scaledb_engine::Engine;

/// Functions whose first argument names a sequence.
const OF_SEQUENCES: [&str; 3] = ["nextval", "currval", "setval"];

/// What a literal names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Relation,
    Type,
}

impl<E: Engine> Session<E> {
    /// An expression with the schemas of types and relations that it names.
    pub(super) fn kept_expression(&self, text: &str) -> String {
        self.kept(text, true)
    }

    /// A query with the schemas of relations and types that literals in it name.
    pub(super) fn kept_query(&self, text: &str) -> String {
        self.kept(text, false)
    }

    fn kept(&self, text: &str, types: bool) -> String {
        let tokens = Tokens { text, all: Lexer::new(text).collect() };
        let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
        for (at, &token) in tokens.all.iter().enumerate() {
            let with_schema = match token.kind {
                Kind::Word | Kind::Quoted if types && tokens.is_call(at) => {
                    name_of(token, text).and_then(|name| self.schema_of_routine(&name))
                }
                Kind::Word | Kind::Quoted if types && tokens.is_type(at) => {
                    name_of(token, text).and_then(|name| self.schema_of_type(&name))
                }
                Kind::Text | Kind::Special => match tokens.named_by(at) {
                    Some(named) => tokens.literal(at).and_then(|literal| self.with_schema(named, &literal)),
                    None => None,
                },
                _ => None,
            };
            if let Some(with_schema) = with_schema {
                out.push_str(&text[copied..token.start]);
                out.push_str(&with_schema);
                copied = token.end;
            }
        }
        out.push_str(&text[copied..]);
        out
    }

    /// The name of an enum type with its schema, unless that is `public`.
    fn schema_of_type(&self, name: &str) -> Option<String> {
        let find = |name: &str| find_enum(&self.state.catalog, &self.state.path, None, name);
        let desc = find(name).or_else(|| find(name.strip_prefix('_')?))?;
        (desc.schema != PUBLIC).then(|| qualified(&desc.schema, name))
    }

    /// The name of a routine with its schema, unless that is `public`.
    fn schema_of_routine(&self, name: &str) -> Option<String> {
        let all = || self.state.catalog.routines_named(name);
        let found = self.state.path.iter().find_map(|schema| all().find(|desc| desc.schema == *schema))?;
        (found.schema != PUBLIC).then(|| qualified(&found.schema, name))
    }

    /// A literal that names a relation or an enum type, with its schema.
    fn with_schema(&self, named: Named, literal: &str) -> Option<String> {
        let (schema, name) = split_text(literal)?;
        if schema.is_some() {
            return None;
        }
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let (schema, name) = match named {
            Named::Relation => {
                let relation = find_relation(catalog, path, None, &name)?;
                (relation.schema(), relation.name())
            }
            Named::Type => {
                let desc = find_enum(catalog, path, None, &name)?;
                (desc.schema.as_str(), desc.name.as_str())
            }
        };
        Some(format!("'{}'", qualified(schema, name).replace('\'', "''")))
    }
}

/// The tokens of a text, as it was printed from its syntax tree.
struct Tokens<'a> {
    text: &'a str,
    all: Vec<Token>,
}

impl Tokens<'_> {
    fn sign(&self, at: usize, sign: &str) -> bool {
        self.all.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    fn word(&self, at: usize) -> Option<String> {
        self.all.get(at).and_then(|token| name_of(*token, self.text))
    }

    /// Whether a name without a schema stands where a type does.
    fn is_type(&self, at: usize) -> bool {
        let behind = |sign: &str, word: &str| {
            at > 0 && (self.sign(at - 1, sign) || self.all[at - 1].is(self.text, word))
        };
        behind("::", "as") && !self.sign(at + 1, ".")
    }

    /// Whether a name without a schema is that of a function that is called.
    fn is_call(&self, at: usize) -> bool {
        self.sign(at + 1, "(") && !(at > 0 && self.sign(at - 1, "."))
    }

    /// The type at a place, if literals of it name something.
    fn type_at(&self, at: usize) -> Option<Named> {
        let at = if self.word(at).as_deref() == Some("pg_catalog") && self.sign(at + 1, ".") {
            at + 2
        } else {
            at
        };
        match self.word(at)?.as_str() {
            "regclass" => Some(Named::Relation),
            "regtype" => Some(Named::Type),
            _ => None,
        }
    }

    /// What a literal names: `'t'::regclass`, `CAST('t' AS regclass)`, `regclass 't'`, `nextval('s')`, whatever
    /// parentheses are around it.
    fn named_by(&self, at: usize) -> Option<Named> {
        if let Some(named) = at.checked_sub(1).and_then(|before| self.type_at(before)) {
            return Some(named);
        }
        let (mut first, mut last) = (at, at);
        loop {
            if self.sign(last + 1, "::")
                || self.all.get(last + 1).is_some_and(|token| token.is(self.text, "as"))
            {
                return self.type_at(last + 2);
            }
            let opens = first.checked_sub(1).filter(|&before| self.sign(before, "("))?;
            let function = opens.checked_sub(1).and_then(|before| self.word(before));
            if function.is_some_and(|name| OF_SEQUENCES.contains(&name.as_str())) {
                return Some(Named::Relation);
            }
            if !self.sign(last + 1, ")") {
                return None;
            }
            (first, last) = (opens, last + 1);
        }
    }

    /// The content of a literal.
    fn literal(&self, at: usize) -> Option<String> {
        let token = self.all[at];
        let whole = token.of(self.text);
        text_of(token, self.text).or_else(|| {
            let tag = whole.strip_prefix('$')?.find('$')? + 2;
            Some(whole.get(tag..whole.len().checked_sub(tag)?)?.to_owned())
        })
    }
}

fn qualified(schema: &str, name: &str) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"");
    format!("\"{}\".\"{}\"", quoted(schema), quoted(name))
}
