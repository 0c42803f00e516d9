//! Names of types as they are written: several words, modifiers in between, brackets behind.

use crate::error::{Result, SqlError, SqlState};
use crate::ty::{Base, Type};

/// Bits of an interval's fields in its modifier.
pub(crate) const MONTH: i32 = 1 << 1;
pub(crate) const YEAR: i32 = 1 << 2;
pub(crate) const DAY: i32 = 1 << 3;
pub(crate) const HOUR: i32 = 1 << 10;
pub(crate) const MINUTE: i32 = 1 << 11;
pub(crate) const SECOND: i32 = 1 << 12;

/// The ranges of fields that SQL allows, and how they are written.
const RANGES: [(i32, &str); 13] = [
    (YEAR, " year"),
    (MONTH, " month"),
    (DAY, " day"),
    (HOUR, " hour"),
    (MINUTE, " minute"),
    (SECOND, " second"),
    (YEAR | MONTH, " year to month"),
    (DAY | HOUR, " day to hour"),
    (DAY | HOUR | MINUTE, " day to minute"),
    (DAY | HOUR | MINUTE | SECOND, " day to second"),
    (HOUR | MINUTE, " hour to minute"),
    (HOUR | MINUTE | SECOND, " hour to second"),
    (MINUTE | SECOND, " minute to second"),
];

/// The words of a range of fields, with a space before them.
pub(crate) fn interval_fields(range: i32) -> &'static str {
    RANGES.iter().find(|(bits, _)| *bits == range).map_or("", |(_, words)| words)
}

/// A piece of a name.
#[derive(Debug, PartialEq)]
enum Token {
    /// Lower case, as it was not quoted.
    Word(String),
    Quoted(String),
    Number(i32),
    Symbol(char),
}

fn syntax(text: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\""))
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_ascii_whitespace() {
            chars.next();
        } else if c == '"' {
            chars.next();
            let mut name = String::new();
            loop {
                match chars.next()? {
                    '"' if chars.peek() == Some(&'"') => {
                        chars.next();
                        name.push('"');
                    }
                    '"' => break,
                    c => name.push(c),
                }
            }
            found.push(Token::Quoted(name));
        } else if c.is_ascii_digit() || c == '-' {
            let mut number = String::new();
            while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || *c == '-') {
                number.push(c);
            }
            found.push(Token::Number(number.parse().ok()?));
        } else if c.is_alphabetic() || c == '_' {
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) {
                word.extend(c.to_lowercase());
            }
            found.push(Token::Word(word));
        } else {
            chars.next();
            found.push(Token::Symbol(c));
        }
    }
    Some(found)
}

/// Walks over tokens.
struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Cursor<'_> {
    fn word(&mut self, expected: &str) -> bool {
        let hit = matches!(self.tokens.get(self.at), Some(Token::Word(word)) if word == expected);
        self.at += usize::from(hit);
        hit
    }

    fn symbol(&mut self, expected: char) -> bool {
        let hit = self.tokens.get(self.at) == Some(&Token::Symbol(expected));
        self.at += usize::from(hit);
        hit
    }

    /// `(1, 2)`, or nothing.
    fn modifiers(&mut self) -> Option<Vec<i32>> {
        let mut found = Vec::new();
        if self.symbol('(') {
            loop {
                let Some(Token::Number(number)) = self.tokens.get(self.at) else { return None };
                self.at += 1;
                found.push(*number);
                if self.symbol(')') {
                    break;
                }
                if !self.symbol(',') {
                    return None;
                }
            }
        }
        Some(found)
    }

    /// `with time zone` or `without time zone`: whether it is with.
    fn zone(&mut self) -> Option<bool> {
        for (word, with) in [("with", true), ("without", false)] {
            if self.word(word) {
                return (self.word("time") && self.word("zone")).then_some(with);
            }
        }
        Some(false)
    }

    /// `day to second`, as bits.
    fn range(&mut self) -> Option<Option<i32>> {
        let mut best: Option<(usize, i32)> = None;
        for (bits, words) in RANGES {
            let mut ahead = Cursor { tokens: self.tokens, at: self.at };
            if words.split_ascii_whitespace().all(|word| ahead.word(word))
                && best.is_none_or(|(at, _)| ahead.at > at)
            {
                best = Some((ahead.at, bits));
            }
        }
        if let Some((at, _)) = best {
            self.at = at;
        }
        Some(best.map(|(_, bits)| bits))
    }
}

/// Types besides those that are always there, by schema and name.
type Others<'a> = &'a dyn Fn(Option<&str>, &str) -> Option<Type>;

/// See [`Type::parse_among`].
pub(crate) fn parse(text: &str, others: Others<'_>) -> Result<Type> {
    let tokens = tokens(text).ok_or_else(|| syntax(text))?;
    let mut cursor = Cursor { tokens: &tokens, at: 0 };
    let mut ty = scalar(&mut cursor, text, others)?;
    // all dimensions are one array type
    let mut array = false;
    if cursor.word("array") {
        array = true;
    }
    while cursor.symbol('[') {
        array = true;
        if let Some(Token::Number(_)) = tokens.get(cursor.at) {
            cursor.at += 1;
        }
        if !cursor.symbol(']') {
            return Err(syntax(text));
        }
    }
    if cursor.at != tokens.len() {
        return Err(syntax(text));
    }
    if array && ty.array && ty.domain.is_some() {
        return Err(SqlError::unsupported(
            "arrays of arrays of domains, and of domains over arrays, are not supported",
        ));
    }
    if array && !ty.array {
        ty = ty.to_array().ok_or_else(|| missing(text))?;
    }
    Ok(ty)
}

fn missing(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

fn scalar(cursor: &mut Cursor<'_>, text: &str, others: Others<'_>) -> Result<Type> {
    let bad = || syntax(text);
    let tokens = cursor.tokens;
    if let [Token::Word(schema) | Token::Quoted(schema), Token::Symbol('.'), ..] = &tokens[cursor.at..] {
        cursor.at += 2;
        return in_schema(cursor, text, schema, others);
    }
    let word = match cursor.tokens.get(cursor.at) {
        Some(Token::Word(word)) => word.as_str(),
        Some(Token::Quoted(name)) => {
            cursor.at += 1;
            let modifiers = cursor.modifiers().ok_or_else(bad)?;
            let ty = Type::by_typname(name).or_else(|| others(None, name));
            return ty.ok_or_else(|| missing(name))?.with_modifiers(&modifiers);
        }
        _ => return Err(bad()),
    };
    cursor.at += 1;
    match word {
        "double" if cursor.word("precision") => Ok(Type::FLOAT8),
        "float" => match cursor.modifiers().ok_or_else(bad)?[..] {
            [] => Ok(Type::FLOAT8),
            [bits @ ..=0] => Err(SqlError::invalid_parameter(format!(
                "precision for type float must be at least 1 bit{}",
                if bits < 0 { "s" } else { "" }
            ))),
            [..=24] => Ok(Type::FLOAT4),
            [..=53] => Ok(Type::FLOAT8),
            [_] => Err(SqlError::invalid_parameter("precision for type float must be less than 54 bits")),
            _ => Err(bad()),
        },
        "character" | "char" | "nchar" | "national" => {
            if word == "national" && !cursor.word("character") && !cursor.word("char") {
                return Err(bad());
            }
            let varying = cursor.word("varying");
            let modifiers = cursor.modifiers().ok_or_else(bad)?;
            match (varying, modifiers.is_empty()) {
                (true, _) => Type::VARCHAR.with_modifiers(&modifiers),
                (false, true) => Ok(Type::bpchar(1)),
                (false, false) => Type::BPCHAR.with_modifiers(&modifiers),
            }
        }
        "bit" => {
            let varying = cursor.word("varying");
            let modifiers = cursor.modifiers().ok_or_else(bad)?;
            match (varying, modifiers.is_empty()) {
                (true, _) => Type::VARBIT.with_modifiers(&modifiers),
                (false, true) => Ok(Type::BIT.with_typmod(1)),
                (false, false) => Type::BIT.with_modifiers(&modifiers),
            }
        }
        "time" | "timestamp" => {
            let modifiers = cursor.modifiers().ok_or_else(bad)?;
            let base = match (word, cursor.zone().ok_or_else(bad)?) {
                ("timestamp", true) => Base::Timestamptz,
                ("timestamp", false) => Base::Timestamp,
                (_, false) => Base::Time,
                (_, true) => Base::Timetz,
            };
            Type::of(base).with_modifiers(&modifiers)
        }
        "interval" => {
            let range = cursor.range().ok_or_else(bad)?;
            let ty = Type::INTERVAL.with_modifiers(&cursor.modifiers().ok_or_else(bad)?)?;
            Ok(match range {
                None => ty,
                Some(bits) if ty.typmod < 0 => ty.with_typmod((bits << 16) | 0xFFFF),
                Some(bits) => ty.with_typmod((bits << 16) | (ty.typmod & 0xFFFF)),
            })
        }
        _ => {
            let ty = Type::by_name(word).or_else(|| others(None, word)).ok_or_else(|| missing(word))?;
            ty.with_modifiers(&cursor.modifiers().ok_or_else(bad)?)
        }
    }
}

/// What follows the name of a schema and a dot.
fn in_schema(cursor: &mut Cursor<'_>, text: &str, schema: &str, others: Others<'_>) -> Result<Type> {
    let name = match cursor.tokens.get(cursor.at) {
        Some(Token::Word(name) | Token::Quoted(name)) => name,
        _ => return Err(syntax(text)),
    };
    cursor.at += 1;
    let modifiers = cursor.modifiers().ok_or_else(|| syntax(text))?;
    let ty = match schema {
        "pg_catalog" => Type::by_typname(name).ok_or_else(|| missing(name))?,
        _ => others(Some(schema), name).ok_or_else(|| missing(&format!("{schema}.{name}")))?,
    };
    ty.with_modifiers(&modifiers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_name_is_read_again() {
        let names = [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "numeric",
            "numeric(10,2)",
            "numeric(3,-2)",
            "text",
            "character varying",
            "character varying(20)",
            "character(3)",
            "\"char\"",
            "name",
            "bytea",
            "date",
            "time without time zone",
            "time(3) without time zone",
            "time with time zone",
            "time(3) with time zone",
            "inet",
            "\"bit\"",
            "bit(3)",
            "bit varying",
            "bit varying(3)",
            "macaddr8[]",
            "timestamp without time zone",
            "timestamp(0) with time zone",
            "timestamp with time zone",
            "interval",
            "interval(2)",
            "interval year to month",
            "interval day to second(3)",
            "uuid",
            "json",
            "jsonb",
            "oid",
            "regclass",
            "int2vector",
            "unknown",
            "integer[]",
            "character varying(20)[]",
            "timestamp(3) without time zone[]",
        ];
        for name in names {
            assert_eq!(Type::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_mean_the_same() {
        let pairs = [
            ("INT", "integer"),
            ("_int4", "integer[]"),
            ("int4[3][4]", "integer[]"),
            ("int4 array", "integer[]"),
            ("pg_catalog.int8", "bigint"),
            ("char", "character(1)"),
            ("char varying(3)", "character varying(3)"),
            ("float(24)", "real"),
            ("float(25)", "double precision"),
            ("decimal(5)", "numeric(5,0)"),
            ("bit", "bit(1)"),
            ("varbit(3)", "bit varying(3)"),
            ("pg_catalog.bit", "\"bit\""),
            ("timestamptz(3)", "timestamp(3) with time zone"),
            ("pg_catalog.\"char\"", "\"char\""),
            ("timestamp(9)", "timestamp(6) without time zone"),
            (" bool ", "boolean"),
        ];
        for (name, printed) in pairs {
            assert_eq!(Type::parse(name).unwrap().to_string(), printed, "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for (name, code) in [
            ("", "42601"),
            ("int4[", "42601"),
            ("int4 int4", "42601"),
            ("nothing", "42704"),
            ("varchar(0)", "22023"),
            ("numeric(1001)", "22023"),
            ("int4(3)", "42601"),
            ("\"int4", "42601"),
            ("unknown[]", "42704"),
            ("varchar(99999999999)", "42601"),
        ] {
            assert_eq!(Type::parse(name).unwrap_err().code().as_str(), code, "{name}");
        }
    }
}
