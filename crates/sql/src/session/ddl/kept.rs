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

impl<E: Engine> Session<E> {
    /// An expression with the schemas of types and relations that it names.
    pub(super) fn kept_expression(&self, text: &str) -> String {
        self.kept(text, true)
    }

    /// A query with the schemas of relations that literals in it name.
    pub(super) fn kept_query(&self, text: &str) -> String {
        self.kept(text, false)
    }

    fn kept(&self, text: &str, types: bool) -> String {
        let tokens: Vec<Token> = Lexer::new(text).collect();
        let sign = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token.is_sign(text, sign));
        let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is(text, word));
        let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
        for (at, &token) in tokens.iter().enumerate() {
            let is_type = types && at > 0 && (sign(at - 1, "::") || word(at - 1, "as")) && !sign(at + 1, ".");
            let of_sequence =
                || at > 1 && sign(at - 1, "(") && OF_SEQUENCES.iter().any(|function| word(at - 2, function));
            let names_relation = || sign(at + 1, "::") && word(at + 2, "regclass") || of_sequence();
            let with_schema = match token.kind {
                Kind::Word | Kind::Quoted if is_type => self.schema_of_type(&token, text),
                Kind::Text if names_relation() => self.schema_of_relation(&token, text),
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
    fn schema_of_type(&self, token: &Token, text: &str) -> Option<String> {
        let name = name_of(*token, text)?;
        let find = |name: &str| find_enum(&self.state.catalog, &self.state.path, None, name);
        let desc = find(&name).or_else(|| find(name.strip_prefix('_')?))?;
        (desc.schema != PUBLIC).then(|| qualified(&desc.schema, &name))
    }

    /// A literal that names a relation, with the schema of the relation.
    fn schema_of_relation(&self, token: &Token, text: &str) -> Option<String> {
        let (schema, name) = split_text(text_of(*token, text)?.as_ref())?;
        if schema.is_some() {
            return None;
        }
        let relation = find_relation(&self.state.catalog, &self.state.path, None, &name)?;
        let named = qualified(relation.schema(), relation.name());
        Some(format!("'{}'", named.replace('\'', "''")))
    }
}

fn qualified(schema: &str, name: &str) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"");
    format!("\"{}\".\"{}\"", quoted(schema), quoted(name))
}
