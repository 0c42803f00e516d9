//! Expressions and queries as the catalog keeps them: text, with the schemas of what is not in `public`.
//!
//! A name without a schema is looked up along the search path of whoever reads it, and tomorrow there may be something
//! else of this name in it. So names of types and relations in a text that is kept mean `public`, and others get
//! their schema before they are kept. (The relations that views read are found otherwise: see `bind::names::Naming`.)

use super::super::Session;
use scaledb_catalog::{ColumnDesc, PUBLIC};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Kind, name_of};
use scaledb_parse::named::{Named, Tokens};
use scaledb_parse::unmarked::unmarked;
use scaledb_planner::bind::names::{find_own_type, find_relation, split_text};
use sqlparser::ast::{Expr as Ast, Value as Literal};

impl<E: Engine> Session<E> {
    /// An expression with the schemas of types and relations that it names.
    pub(super) fn kept_expression(&self, text: &str) -> String {
        self.kept(text, true)
    }

    /// The default of a column; NULL is what a column has without one. PostgreSQL keeps it where the type has a length,
    /// and where it is a domain, which may have another default.
    pub(super) fn kept_default(&self, column: &ColumnDesc, expr: &Ast) -> Option<String> {
        let mut bare = expr;
        while let Ast::Nested(inner) | Ast::Cast { expr: inner, .. } = bare {
            bare = inner;
        }
        let is_null = matches!(bare, Ast::Value(value) if value.value == Literal::Null);
        let keeps = column.typmod >= 0 || self.state.catalog.domain_of(column.type_oid).is_some();
        (!is_null || keeps).then(|| self.kept_expression(&expr.to_string()))
    }

    /// A query with the schemas of relations and types that literals in it name.
    pub(super) fn kept_query(&self, text: &str) -> String {
        self.kept(text, false)
    }

    fn kept(&self, text: &str, types: bool) -> String {
        let tokens = Tokens::of(text);
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
        unmarked(&out)
    }

    /// The name of an enum type or domain with its schema, unless that is `public`.
    fn schema_of_type(&self, name: &str) -> Option<String> {
        let find = |name: &str| find_own_type(&self.state.catalog, &self.state.path, None, name);
        let (schema, _) =
            self.state.catalog.own_type(find(name).or_else(|| find(name.strip_prefix('_')?))?)?;
        (schema != PUBLIC).then(|| qualified(schema, name))
    }

    /// The name of a routine with its schema, unless that is `public`.
    fn schema_of_routine(&self, name: &str) -> Option<String> {
        let all = || self.state.catalog.routines_named(name);
        let found = self.state.path.iter().find_map(|schema| all().find(|desc| desc.schema == *schema))?;
        (found.schema != PUBLIC).then(|| qualified(&found.schema, name))
    }

    /// A literal that names a relation, an enum type or a domain, with its schema.
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
            Named::Type => catalog.own_type(find_own_type(catalog, path, None, &name)?)?,
        };
        Some(format!("'{}'", qualified(schema, name).replace('\'', "''")))
    }
}

fn qualified(schema: &str, name: &str) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"");
    format!("\"{}\".\"{}\"", quoted(schema), quoted(name))
}
