//! JSON as text: a strict parser, and jsonb's printing.

use super::{Json, MAX_DEPTH};
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::Numeric;
use crate::value::Text;

/// Bytes of a key or string of jsonb.
const MAX_STRING: usize = 0x0FFF_FFFF;

/// What a parser does with what it finds. Checking a text builds nothing.
trait Sink {
    type Value;
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<Self::Value>;
    fn array(&mut self, elements: Vec<Self::Value>) -> Self::Value;
    fn object(&mut self, members: Vec<(Text, Self::Value)>) -> Self::Value;
    /// Whether strings are needed unescaped.
    const UNESCAPE: bool;
}

enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    String(Text),
}

struct Build;

impl Sink for Build {
    type Value = Json;
    const UNESCAPE: bool = true;

    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<Json> {
        Ok(match scalar {
            Scalar::Null => Json::Null,
            Scalar::Bool(v) => Json::Bool(v),
            Scalar::Number(text) => Json::Number(text.parse::<Numeric>()?),
            Scalar::String(text) => Json::String(text),
        })
    }

    fn array(&mut self, elements: Vec<Json>) -> Json {
        Json::Array(elements)
    }

    fn object(&mut self, members: Vec<(Text, Json)>) -> Json {
        Json::object(members)
    }
}

struct Check;

impl Sink for Check {
    type Value = ();
    const UNESCAPE: bool = false;

    fn scalar(&mut self, _: Scalar<'_>) -> Result<()> {
        Ok(())
    }

    fn array(&mut self, _: Vec<()>) {}

    fn object(&mut self, _: Vec<(Text, ())>) {}
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    type_name: &'static str,
}

/// The text of a token, from a place on, for messages.
fn token(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let len = rest
        .char_indices()
        .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.') || !c.is_ascii()))
        .map_or(rest.len(), |(at, _)| at);
    match len {
        0 => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
        _ => &rest[..len],
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// An error with PostgreSQL's message and detail.
    #[cold]
    fn error(&self, detail: impl Into<String>) -> SqlError {
        let message = format!("invalid input syntax for type {}", self.type_name);
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    }

    #[cold]
    fn expected(&self, what: &str) -> SqlError {
        if self.at >= self.text.len() {
            return self.error("The input string ended unexpectedly.");
        }
        let rest = self.text.as_bytes()[self.at];
        let found = token(self.text, self.at);
        let odd = !matches!(rest, b'"' | b'{' | b'}' | b'[' | b']' | b',' | b':')
            && !rest.is_ascii_digit()
            && rest != b'-'
            && !matches!(found, "true" | "false" | "null");
        if odd {
            return self.error(format!("Token \"{found}\" is invalid."));
        }
        let found = if rest == b'"' { self.quoted() } else { found.to_owned() };
        self.error(format!("Expected {what}, but found \"{found}\"."))
    }

    /// A string with its quotes, for messages.
    fn quoted(&self) -> String {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '"' if !escaped => return rest[..=at].to_owned(),
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        rest.to_owned()
    }

    fn value<S: Sink>(&mut self, sink: &mut S, depth: usize) -> Result<S::Value> {
        if depth > MAX_DEPTH {
            let message = format!("JSON is nested deeper than {MAX_DEPTH} levels");
            return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.object(sink, depth),
            Some(b'[') => self.array(sink, depth),
            Some(b'"') => {
                let text = self.string(S::UNESCAPE)?;
                sink.scalar(Scalar::String(text))
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = self.number()?;
                sink.scalar(Scalar::Number(number))
            }
            Some(_) => {
                let word = token(self.text, self.at);
                let scalar = match word {
                    "true" => Scalar::Bool(true),
                    "false" => Scalar::Bool(false),
                    "null" => Scalar::Null,
                    _ => return Err(self.expected("JSON value")),
                };
                self.at += word.len();
                sink.scalar(scalar)
            }
            None => Err(self.expected("JSON value")),
        }
    }

    fn array<S: Sink>(&mut self, sink: &mut S, depth: usize) -> Result<S::Value> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(sink.array(elements));
        }
        loop {
            elements.push(self.value(sink, depth + 1)?);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(sink.array(elements));
                }
                _ => return Err(self.expected("\",\" or \"]\"")),
            }
        }
    }

    fn object<S: Sink>(&mut self, sink: &mut S, depth: usize) -> Result<S::Value> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(sink.object(members));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.expected(if members.is_empty() { "string or \"}\"" } else { "string" }));
            }
            let key = self.string(S::UNESCAPE)?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.expected("\":\""));
            }
            self.at += 1;
            members.push((key, self.value(sink, depth + 1)?));
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(sink.object(members));
                }
                _ => return Err(self.expected("\",\" or \"}\"")),
            }
        }
    }

    fn number(&mut self) -> Result<&'a str> {
        let start = self.at;
        let word = token(self.text, start);
        let bytes = word.as_bytes();
        let mut at = usize::from(bytes[0] == b'-');
        let digits = |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let whole = digits(at);
        let mut good = whole == 1 || (whole > 1 && bytes[at] != b'0');
        at += whole;
        if good && bytes.get(at) == Some(&b'.') {
            let part = digits(at + 1);
            good = part > 0;
            at += 1 + part;
        }
        if good && matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let part = if at <= bytes.len() { digits(at) } else { 0 };
            good = part > 0;
            at += part;
        }
        if !good || at != bytes.len() {
            return Err(self.error(format!("Token \"{word}\" is invalid.")));
        }
        self.at += at;
        Ok(word)
    }

    /// A string behind its first quote; unescaped if asked for, else empty.
    fn string(&mut self, unescape: bool) -> Result<Text> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(if unescape { Text::new(text) } else { Text::default() });
                }
                b'\\' => return self.escaped(start, unescape),
                0..=0x1F => return Err(self.control(*byte)),
                _ => self.at += 1,
            }
        }
        self.at = start - 1;
        Err(self.error(format!("Token \"{}\" is invalid.", &self.text[self.at..])))
    }

    #[cold]
    fn control(&self, byte: u8) -> SqlError {
        self.error(format!("Character with value 0x{byte:02x} must be escaped."))
    }

    /// A string from its first backslash on.
    fn escaped(&mut self, start: usize, unescape: bool) -> Result<Text> {
        let mut out = self.text[start..self.at].to_owned();
        // a high surrogate that waits for its low one
        let mut high: Option<u32> = None;
        let mut rest = self.text[self.at..].chars();
        loop {
            let Some(c) = rest.next() else {
                return Err(self.error(format!("Token \"{}\" is invalid.", &self.text[start - 1..])));
            };
            if high.is_some() && (c != '\\' || !rest.as_str().starts_with('u')) {
                return Err(self.error("Unicode low surrogate must follow a high surrogate."));
            }
            match c {
                '"' => {
                    self.at = self.text.len() - rest.as_str().len();
                    if out.len() > MAX_STRING {
                        return Err(SqlError::new(
                            SqlState::PROGRAM_LIMIT_EXCEEDED,
                            "string too long to represent as jsonb string",
                        ));
                    }
                    return Ok(if unescape { Text::from(out) } else { Text::default() });
                }
                '\\' => match rest.next() {
                    Some(c @ ('"' | '\\' | '/')) => out.push(c),
                    Some('b') => out.push('\u{8}'),
                    Some('f') => out.push('\u{c}'),
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some('u') => {
                        let hex =
                            rest.as_str().get(..4).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
                        let code =
                            hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).ok_or_else(|| {
                                self.error("\"\\u\" must be followed by four hexadecimal digits.")
                            })?;
                        rest = rest.as_str()[4..].chars();
                        high = self.unicode(code, high, unescape, &mut out)?;
                    }
                    Some(c) => return Err(self.error(format!("Escape sequence \"\\{c}\" is invalid."))),
                    None => {
                        return Err(self.error(format!("Token \"{}\" is invalid.", &self.text[start - 1..])));
                    }
                },
                c if (c as u32) < 0x20 => return Err(self.control(c as u8)),
                c => out.push(c),
            }
        }
    }

    /// Takes a `\uXXXX`; returns a high surrogate that is left open.
    fn unicode(&self, code: u32, high: Option<u32>, unescape: bool, out: &mut String) -> Result<Option<u32>> {
        match (code, high) {
            (0xD800..=0xDBFF, None) => return Ok(Some(code)),
            (0xD800..=0xDBFF, Some(_)) => {
                return Err(self.error("Unicode high surrogate must not follow a high surrogate."));
            }
            (0xDC00..=0xDFFF, Some(high)) => {
                let code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00);
                out.extend(char::from_u32(code));
            }
            (0xDC00..=0xDFFF, None) | (_, Some(_)) => {
                return Err(self.error("Unicode low surrogate must follow a high surrogate."));
            }
            (0, None) if unescape => {
                return Err(SqlError::new(
                    SqlState::UNTRANSLATABLE_CHARACTER,
                    "unsupported Unicode escape sequence",
                )
                .detail("\\u0000 cannot be converted to text."));
            }
            _ => out.extend(char::from_u32(code)),
        }
        Ok(None)
    }
}

fn run<S: Sink>(text: &str, type_name: &'static str, sink: &mut S) -> Result<S::Value> {
    let mut parser = Parser { text, at: 0, type_name };
    let value = parser.value(sink, 0)?;
    parser.skip_blanks();
    if parser.at != text.len() {
        return Err(parser.expected("end of input"));
    }
    Ok(value)
}

impl Json {
    /// The value of a text.
    ///
    /// # Errors
    ///
    /// 22P02 if it is no JSON, 22P05 if a string has a zero character, 54001 if it is nested too deeply.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_as(text, "json")
    }

    /// As [`Json::parse`], with the name of the type in messages.
    pub(crate) fn parse_as(text: &str, type_name: &'static str) -> Result<Self> {
        run(text, type_name, &mut Build)
    }

    /// Whether a text is JSON; the value is not built.
    pub(crate) fn check(text: &str, type_name: &'static str) -> Result<()> {
        run(text, type_name, &mut Check)
    }

    /// Appends the text, as PostgreSQL prints jsonb.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(v) => v.write_text(out),
            Self::String(v) => write_string(v, out),
            Self::Array(elements) => {
                out.push(b'[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    element.write_text(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_string(key, out);
                    out.extend_from_slice(b": ");
                    value.write_text(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// Appends a string in quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            0..=0x1F => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
