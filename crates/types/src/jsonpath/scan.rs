//! The tokens of a path.
//!
//! A message shows what was read last, as PostgreSQL's scanner has it: a word that a sign ends is not shown, a quoted
//! string is its second quote.

use crate::error::{Result, SqlError, SqlState};
use std::ops::Range;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    End,
    /// A sign, or an operator of several.
    Sign(&'static str),
    /// A character that begins nothing.
    Odd,
    /// A word with a meaning, as it is written.
    Word(Keyword, String),
    Identifier(String),
    /// In quotes.
    String(String),
    Variable(String),
    Integer,
    Number,
}

macro_rules! keywords {
    ($($keyword:ident = $word:literal),* $(,)?) => {
        /// A word with a meaning, which may nevertheless be a key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword {
            $($keyword),*
        }

        const KEYWORDS: &[(&str, Keyword)] = &[$(($word, Keyword::$keyword)),*];
    };
}

keywords!(
    Is = "is",
    To = "to",
    Abs = "abs",
    Lax = "lax",
    Flag = "flag",
    Last = "last",
    Null = "null",
    Size = "size",
    True = "true",
    Type = "type",
    With = "with",
    False = "false",
    Floor = "floor",
    Double = "double",
    Exists = "exists",
    Starts = "starts",
    Strict = "strict",
    Ceiling = "ceiling",
    Unknown = "unknown",
    Datetime = "datetime",
    KeyValue = "keyvalue",
    LikeRegex = "like_regex",
);

impl Keyword {
    fn of(word: &str) -> Option<Self> {
        let (known, keyword) = KEYWORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
        // the constants of JSON are in small letters only
        let exact = matches!(keyword, Self::Null | Self::True | Self::False);
        (!exact || *known == word).then_some(*keyword)
    }
}

/// The signs, longer ones before their starts.
const SIGNS: &[&str] = &[
    "&&", "||", "!=", "**", "<=", "==", "<>", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}",
    "(", ")", "@", ",", "*", "-", "+", "/",
];

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C)
}

fn is_special(byte: u8) -> bool {
    b"?%$.[]{}()|&!=<>@#,*:-+/".contains(&byte)
}

/// Whether a byte may be part of a word.
fn is_other(byte: u8) -> bool {
    !is_special(byte) && !is_blank(byte) && !matches!(byte, b'\\' | b'"')
}

/// Reads tokens from the front.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// What a message shows.
    near: Range<usize>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, near: 0..0 }
    }

    /// What was read last.
    pub(super) fn read(&self) -> &'a str {
        &self.text[self.near.clone()]
    }

    /// 42601, at what was read last.
    #[cold]
    pub(super) fn error(&self, what: &str) -> SqlError {
        let message = match self.read() {
            "" => format!("{what} at end of jsonpath input"),
            near => format!("{what} at or near \"{near}\" of jsonpath input"),
        };
        SqlError::new(SqlState::SYNTAX_ERROR, message)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// How many bytes from here on are of a kind.
    fn run(&self, of: fn(u8) -> bool) -> usize {
        self.rest().bytes().take_while(|byte| of(*byte)).count()
    }

    /// Moves on, over what a message shows from now on.
    fn take(&mut self, len: usize) -> &'a str {
        self.near = self.at..self.at + len;
        self.at += len;
        self.read()
    }

    pub(super) fn next(&mut self) -> Result<Token> {
        loop {
            self.at += self.run(is_blank);
            let Some(byte) = self.peek() else {
                self.near = self.at..self.at;
                return Ok(Token::End);
            };
            let digits = byte == b'.' && self.rest().as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            if (byte.is_ascii_digit() || digits)
                && let Some(number) = self.number()?
            {
                return Ok(number);
            }
            match byte {
                b'/' if self.rest().starts_with("/*") => self.comment()?,
                b'"' => {
                    self.take(1);
                    return self.quoted().map(Token::String);
                }
                b'$' if self.rest().starts_with("$\"") => {
                    self.take(2);
                    return self.quoted().map(Token::Variable);
                }
                b'$' if self.rest().as_bytes().get(1).copied().is_some_and(is_other) => {
                    let len = self.rest()[1..].bytes().take_while(|byte| is_other(*byte)).count();
                    return Ok(Token::Variable(self.take(1 + len)[1..].to_owned()));
                }
                byte if is_special(byte) => {
                    let sign = SIGNS.iter().find(|sign| self.rest().starts_with(**sign));
                    self.take(sign.map_or(1, |sign| sign.len()));
                    return Ok(sign.map_or(Token::Odd, |sign| Token::Sign(sign)));
                }
                _ => {
                    if let Some(token) = self.word()? {
                        return Ok(token);
                    }
                }
            }
        }
    }

    fn comment(&mut self) -> Result<()> {
        match self.rest()[2..].find("*/") {
            Some(len) => {
                self.at += len + 4;
                Ok(())
            }
            None => {
                self.near = self.text.len()..self.text.len();
                Err(self.error("unexpected end of comment"))
            }
        }
    }

    /// A number, unless more of what is here is a word.
    fn number(&mut self) -> Result<Option<Token>> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        // there are no zeros in front
        let whole = if bytes[0] == b'0' { 1 } else { digits(0) };
        let (mut len, mut token) = (whole, Token::Integer);
        if bytes.get(whole) == Some(&b'.') && (whole > 0 || digits(1) > 0) {
            (len, token) = (whole + 1 + digits(whole + 1), Token::Number);
        }
        let mut failed = None;
        if matches!(bytes.get(len), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
            match digits((len + 1 + sign).min(bytes.len())) {
                0 if sign > 0 => failed = Some(len + 2),
                0 => {}
                more => (len, token) = (len + 1 + sign + more, Token::Number),
            }
        }
        if let Some(len) = failed {
            self.take(len);
            return Err(self.error("invalid numeric literal"));
        }
        let word = self.run(is_other);
        if bytes.get(len).copied().is_some_and(is_other) {
            let junk = self.rest()[len..].chars().next().map_or(1, char::len_utf8);
            if word > len + junk {
                return Ok(None);
            }
            self.take(len + junk);
            return Err(self.error("trailing junk after numeric literal"));
        }
        self.take(len);
        Ok(Some(token))
    }

    /// A string behind its first quote.
    fn quoted(&mut self) -> Result<String> {
        let mut out = String::new();
        loop {
            match self.peek() {
                None => {
                    self.near = self.at..self.at;
                    return Err(self.error("unexpected end of quoted string"));
                }
                Some(b'"') => {
                    self.take(1);
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => out.push_str(self.take(self.run(|byte| !matches!(byte, b'"' | b'\\')))),
            }
        }
    }

    /// A word without quotes; None if a comment follows, which PostgreSQL loses it over.
    fn word(&mut self) -> Result<Option<Token>> {
        let mut out = String::new();
        loop {
            match self.peek() {
                Some(b'\\') => self.escape(&mut out)?,
                Some(b'/') if self.rest().starts_with("/*") => {
                    self.comment()?;
                    return Ok(None);
                }
                Some(byte) if is_blank(byte) => {
                    self.take(self.run(is_blank));
                    break;
                }
                Some(byte) if is_other(byte) => out.push_str(self.take(self.run(is_other))),
                _ => {
                    self.near = self.at..self.at;
                    break;
                }
            }
        }
        Ok(Some(match Keyword::of(&out) {
            Some(keyword) => Token::Word(keyword, out),
            None => Token::Identifier(out),
        }))
    }

    /// What a backslash begins.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let mut chars = self.rest().chars();
        chars.next();
        let plain = match chars.next() {
            Some('u') => return self.unicode(out),
            Some('x') => {
                let hex = self.rest().as_bytes()[2..].iter().take(2).take_while(|b| b.is_ascii_hexdigit());
                let len = hex.count();
                let digits = &self.take(2 + len)[2..];
                if len < 2 {
                    return Err(self.error("invalid hex character sequence"));
                }
                return push(u32::from_str_radix(digits, 16).unwrap_or(0), out);
            }
            Some('\n') | None => {
                self.take(1);
                return Err(self.error("unexpected end after backslash"));
            }
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c) => c,
        };
        let len = self.rest().len() - chars.as_str().len();
        self.take(len);
        out.push(plain);
        Ok(())
    }

    /// `\uXXXX` and `\u{X..}`, as many as follow each other: two of them may be one character.
    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let start = self.at;
        let mut codes = Vec::new();
        while let Some(rest) = self.rest().strip_prefix("\\u") {
            let (open, most) = if rest.starts_with('{') { (1, 6) } else { (0, 4) };
            let len = rest[open..].bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
            let digits = &rest[open..open + len];
            let closed = if open == 1 { len > 0 && rest[1 + len..].starts_with('}') } else { len == most };
            self.at += 2 + open + len;
            self.near = start..self.at;
            if !closed {
                return Err(self.error("invalid unicode sequence"));
            }
            self.at += open;
            codes.push(u32::from_str_radix(digits, 16).unwrap_or(0));
        }
        self.near = start..self.at;
        let mut high: Option<u32> = None;
        for code in codes {
            match (code, high) {
                (0xD800..=0xDBFF, None) => high = Some(code),
                (0xD800..=0xDBFF, Some(_)) => {
                    return Err(bad("Unicode high surrogate must not follow a high surrogate."));
                }
                (0xDC00..=0xDFFF, Some(first)) => {
                    push(0x10000 + ((first - 0xD800) << 10) + (code - 0xDC00), out)?;
                    high = None;
                }
                (0xDC00..=0xDFFF, None) | (_, Some(_)) => return Err(alone()),
                (code, None) => push(code, out)?,
            }
        }
        if high.is_some() { Err(alone()) } else { Ok(()) }
    }
}

#[cold]
fn bad(detail: &str) -> SqlError {
    let what = "invalid input syntax for type jsonpath";
    SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what).detail(detail)
}

#[cold]
fn alone() -> SqlError {
    bad("Unicode low surrogate must follow a high surrogate.")
}

/// Appends the character of a number.
fn push(code: u32, out: &mut String) -> Result<()> {
    if code == 0 {
        let what = "unsupported Unicode escape sequence";
        let error = SqlError::new(SqlState::UNTRANSLATABLE_CHARACTER, what);
        return Err(error.detail("\\u0000 cannot be converted to text."));
    }
    let invalid = || SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode code point");
    out.push(char::from_u32(code).ok_or_else(invalid)?);
    Ok(())
}
