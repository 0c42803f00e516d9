//! Expressions of the catalog as PostgreSQL prints them.

use super::Facts;
use super::seen::{seen, seen_expression, seen_type};
use scaledb_catalog::{Catalog, ColumnDesc, PUBLIC, Relation};
use scaledb_parse::lex::{Kind, Token};
use scaledb_parse::named::{Named, Tokens};
use scaledb_planner::bind::literal::literal_text;
use scaledb_planner::bind::names::{fold, split_text};
use scaledb_planner::plan::column_type;
use scaledb_types::{Base, Env, Type};
use sqlparser::ast::{DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value};

/// The default of a column: a literal with its type, a sequence by the name that finds it.
pub(super) fn printed_default(facts: &dyn Facts, column: &ColumnDesc, text: &str) -> String {
    printed_as(facts, column_type(facts.catalog(), column).unwrap_or(Type::TEXT), text)
}

/// The default of something of a type.
pub(super) fn printed_as(facts: &dyn Facts, ty: Type, text: &str) -> String {
    let Ok(expr) = scaledb_parse::expression(text) else { return text.to_owned() };
    match &expr {
        Expr::Value(value) => match (&value.value, literal_text(&value.value)) {
            (_, Some(literal)) => printed_literal(facts, ty, literal),
            (Value::Null, _) => format!("NULL::{}", type_name(facts, ty)),
            (Value::HexStringLiteral(digits), _) => {
                printed_bits('x', digits).unwrap_or_else(|| text.to_owned())
            }
            (Value::SingleQuotedByteStringLiteral(digits), _) => {
                printed_bits('b', digits).unwrap_or_else(|| text.to_owned())
            }
            _ => text.to_owned(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match negative(expr) {
            Some((number, ty)) => format!("'-{number}'::{}", type_name(facts, ty)),
            None => seen_expression(facts, text),
        },
        Expr::Function(function) => match (sequence(function), function.name.to_string().as_str()) {
            (Some(name), "nextval") => format!("nextval('{}'::regclass)", found_by(facts, &name)),
            _ => seen_expression(facts, text),
        },
        _ => seen_expression(facts, text),
    }
}

/// A string of bits with its type, which has no length.
fn printed_bits(kind: char, digits: &str) -> Option<String> {
    let bits = scaledb_types::Value::parse(&format!("{kind}{digits}"), Type::BIT, &Env::default()).ok()?;
    Some(format!("'{}'::{}", bits.to_text(Type::BIT, &Env::default())?, Type::BIT))
}

/// A number behind a sign, and the type that it has by itself.
fn negative(expr: &Expr) -> Option<(&str, Type)> {
    let Expr::Value(value) = expr else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    let ty = match number.parse::<i64>() {
        Ok(whole) if i32::try_from(-whole).is_ok() => Type::INT4,
        Ok(_) => Type::INT8,
        Err(_) => Type::NUMERIC,
    };
    Some((number, ty))
}

/// A literal that becomes a value of a type when it is read.
fn printed_literal(facts: &dyn Facts, ty: Type, literal: &str) -> String {
    let as_written = || format!("'{}'::{}", literal.replace('\'', "''"), type_name(facts, ty));
    let starts_with_digit = literal.starts_with(|c: char| c.is_ascii_digit());
    let fixed = match ty.base {
        _ if ty.array => false,
        Base::Bool | Base::Int2 | Base::Int4 | Base::Int8 | Base::Numeric => true,
        Base::Inet | Base::Cidr | Base::Macaddr | Base::Macaddr8 | Base::Money => true,
        // 'today' is another value each day
        Base::Date | Base::Time | Base::Timestamp => starts_with_digit,
        _ => false,
    };
    let env = Env::default();
    let value = if fixed { scaledb_types::Value::parse(literal, ty.plain(), &env).ok() } else { None };
    let Some(text) = value.and_then(|value| value.to_text(ty, &env).map(|text| text.to_string())) else {
        return as_written();
    };
    match ty.base {
        Base::Bool => (if text == "t" { "true" } else { "false" }).to_owned(),
        // NaN and Infinity are no numbers that one can write
        Base::Int4 | Base::Numeric if text.starts_with(|c: char| c.is_ascii_digit()) => text,
        _ => format!("'{text}'::{}", type_name(facts, ty)),
    }
}

/// What computes a column, or the condition of an index: in parentheses where an operator is outermost.
pub(super) fn printed_expression(text: &str) -> String {
    let own = matches!(
        scaledb_parse::expression(text),
        Ok(Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Value(_)
            | Expr::Nested(_)
            | Expr::Case { .. })
            | Ok(Expr::Function(_) | Expr::Cast { .. } | Expr::Extract { .. } | Expr::Substring { .. })
            | Ok(Expr::Trim { .. } | Expr::Position { .. } | Expr::Floor { .. } | Expr::Ceil { .. })
            | Err(_)
    );
    if own { text.to_owned() } else { format!("({text})") }
}

/// An expression without the parentheses around all of it.
pub(super) fn without_parentheses(text: &str) -> String {
    let mut text = text;
    loop {
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        match (scaledb_parse::expression(text), inner) {
            (Ok(Expr::Nested(_)), Some(inner)) => text = inner.trim(),
            _ => return text.to_owned(),
        }
    }
}

/// The oid of the relation of whose values a default takes the next.
pub(crate) fn sequence_of(catalog: &Catalog, default: &str) -> Option<u32> {
    let Ok(Expr::Function(function)) = scaledb_parse::expression(default) else { return None };
    let last = function.name.0.last()?.as_ident()?;
    let name = sequence(&function).filter(|_| fold(last) == "nextval")?;
    relation_named(catalog, &name).map(Relation::oid)
}

/// The literals of a kept text that name a relation: their tokens.
fn literals_of(catalog: &Catalog, text: &str, relation: u32) -> Vec<Token> {
    let tokens = Tokens::of(text);
    let names = |at: &usize| {
        let literal = matches!(tokens.all[*at].kind, Kind::Text | Kind::Special);
        literal
            && tokens.named_by(*at) == Some(Named::Relation)
            && tokens
                .literal(*at)
                .and_then(|name| relation_named(catalog, &name).map(Relation::oid))
                .is_some_and(|oid| oid == relation)
    };
    (0..tokens.all.len()).filter(names).map(|at| tokens.all[at]).collect()
}

/// Whether a kept text names a relation in a literal, as `nextval('s'::regclass)` does.
pub(crate) fn names_relation(catalog: &Catalog, text: &str, relation: u32) -> bool {
    !literals_of(catalog, text, relation).is_empty()
}

/// A kept text with another literal where it names a relation.
pub(crate) fn naming(catalog: &Catalog, text: &str, relation: u32, literal: &str) -> String {
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for token in literals_of(catalog, text, relation) {
        out.push_str(&text[copied..token.start]);
        out.push_str(literal);
        copied = token.end;
    }
    out.push_str(&text[copied..]);
    out
}

/// A type as casts name it: without its length.
fn type_name(facts: &dyn Facts, ty: Type) -> String {
    match seen_type(facts, ty.plain()).as_str() {
        "character" => "bpchar".to_owned(),
        name => name.to_owned(),
    }
}

/// The argument of `nextval('..'::regclass)` or `nextval('..')`.
fn sequence(function: &sqlparser::ast::Function) -> Option<String> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = &list.args[..] else { return None };
    let mut literal = argument;
    loop {
        literal = match literal {
            Expr::Nested(inner) => inner,
            Expr::Cast { expr, data_type: DataType::Regclass, .. } => expr,
            Expr::Cast { expr, data_type: DataType::Custom(name, _), .. }
                if name
                    .0
                    .last()
                    .and_then(|part| part.as_ident())
                    .is_some_and(|name| fold(name) == "regclass") =>
            {
                expr
            }
            _ => break,
        };
    }
    let Expr::Value(value) = literal else { return None };
    literal_text(&value.value).map(str::to_owned)
}

/// The relation of a name that is kept: it has its schema, unless that is `public`.
fn relation_named<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Relation> {
    let (schema, name) = split_text(name)?;
    catalog.lookup(schema.as_deref().unwrap_or(PUBLIC), &name)
}

/// A name as the search path finds it.
fn found_by(facts: &dyn Facts, name: &str) -> String {
    let shown = match relation_named(facts.catalog(), name) {
        Some(relation) => seen(facts, relation.schema(), relation.name()),
        None => name.to_owned(),
    };
    shown.replace('\'', "''")
}
