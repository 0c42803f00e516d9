//! Where an operator ends, and texts in which the parser cannot take it otherwise.
//!
//! `a>-1`, `j->-1`, `a<>--x` and `1>=/* x */2`: the parser's tokenizer takes all signs that touch for one operator.
//! Here a blank is put in between, and the places of the tokens behind it are moved back.
//!
//! A backslash in `U&'..'`, which the tokenizer takes for an escape whatever UESCAPE says, is doubled for it, so that
//! its tokens have such literals as they were written.

use super::lex::{Kind, Lexer};
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::tokenizer::{Location, TokenWithSpan};
use std::borrow::Cow;

/// What operators are made of.
const SIGNS: &[u8] = b"+-*/<>=~!@#%^&|`?";

pub(super) fn is_sign(byte: u8) -> bool {
    SIGNS.contains(&byte)
}

/// The end of the operator that begins at a byte, and that of the run of signs: what is in between are operators of one
/// sign each.
///
/// An operator ends before a comment. One of several signs ends in `+` or `-` only if it has a sign that no operator of
/// the standard has.
pub(super) fn end_of(text: &[u8], start: usize) -> (usize, usize) {
    let (mut at, mut end, mut own) = (start, start + 1, false);
    while let Some(sign) = text.get(at).filter(|sign| is_sign(**sign)) {
        if at > start && matches!((sign, text.get(at + 1)), (b'-', Some(b'-')) | (b'/', Some(b'*'))) {
            break;
        }
        at += 1;
        own |= b"~!@#%^&|`?".contains(sign);
        if own || !matches!(sign, b'+' | b'-') {
            end = at;
        }
    }
    (end, at.max(end))
}

/// A text for the parser's tokenizer.
pub(super) struct Apart<'a> {
    pub(super) text: Cow<'a, str>,
    /// The lines and columns of the signs that the text has more than the statement, in the places of the text.
    blanks: Vec<Location>,
}

/// A text with a blank between operators, or an operator and a comment, that touch.
///
/// # Errors
/// 42601 for a number that a letter follows.
pub(super) fn apart(text: &str) -> Result<Apart<'_>> {
    let bytes = text.as_bytes();
    let mut longer =
        Longer { text, own: String::new(), copied: 0, blanks: Vec::new(), line: 1, begin: 0, added: 0 };
    for token in Lexer::new(text) {
        let next = bytes.get(token.end).copied().unwrap_or(0);
        match token.kind {
            Kind::Number | Kind::Param => no_junk(text, token.start, token.end, token.kind)?,
            Kind::Operator if is_sign(next) && is_sign(bytes[token.end - 1]) => longer.put(token.end, ' '),
            Kind::Special if token.of(text).get(1..3) == Some("&'") => {
                let slashes = token.of(text).match_indices('\\');
                slashes.for_each(|(at, _)| longer.put(token.start + at, '\\'));
            }
            _ => {}
        }
    }
    Ok(longer.made())
}

/// A text that gets signs which the statement does not have.
struct Longer<'a> {
    text: &'a str,
    own: String,
    /// How much of the text is in `own`.
    copied: usize,
    blanks: Vec<Location>,
    line: u64,
    /// Where the line begins in the text, and how many signs it has got already.
    begin: usize,
    added: u64,
}

impl<'a> Longer<'a> {
    /// Puts a sign before a byte that is behind all those before.
    fn put(&mut self, at: usize, sign: char) {
        let passed = &self.text[self.copied..at];
        if let Some(last) = passed.rfind('\n') {
            self.line += passed.matches('\n').count() as u64;
            (self.begin, self.added) = (self.copied + last + 1, 0);
        }
        self.own.push_str(passed);
        self.own.push(sign);
        self.copied = at;
        self.added += 1;
        let column = self.text[self.begin..at].chars().count() as u64 + self.added;
        self.blanks.push(Location { line: self.line, column });
    }

    fn made(mut self) -> Apart<'a> {
        if self.blanks.is_empty() {
            return Apart { text: self.text.into(), blanks: self.blanks };
        }
        self.own.push_str(&self.text[self.copied..]);
        Apart { text: self.own.into(), blanks: self.blanks }
    }
}

impl Apart<'_> {
    /// Moves the places of tokens to where they are in the statement.
    pub(super) fn place(&self, tokens: &mut [TokenWithSpan]) {
        if self.blanks.is_empty() {
            return;
        }
        for token in tokens {
            for place in [&mut token.span.start, &mut token.span.end] {
                *place = self.place_of(*place);
            }
        }
    }

    /// Where a place of the text is in the statement.
    pub(super) fn place_of(&self, place: Location) -> Location {
        let before = |blank: &Location| (blank.line, blank.column) < (place.line, place.column);
        let to = self.blanks.partition_point(before);
        let from = self.blanks[..to].partition_point(|blank| blank.line < place.line);
        Location { line: place.line, column: place.column - (to - from) as u64 }
    }
}

/// 42601 if a number or a parameter has letters right behind it.
fn no_junk(text: &str, start: usize, end: usize, kind: Kind) -> Result<()> {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let Some(letter) = text[end..].chars().next().filter(|c| begins(*c)) else { return Ok(()) };
    let mut to = end + letter.len_utf8();
    // an exponent without digits
    let exponent = kind == Kind::Number && matches!(letter, 'e' | 'E');
    to += usize::from(exponent && text[to..].starts_with(['+', '-']));
    let what = if kind == Kind::Number { "numeric literal" } else { "parameter" };
    let message = format!("trailing junk after {what} at or near \"{}\"", &text[start..to]);
    let position = text[..start].chars().count() as u32 + 1;
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message).position(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::{Token, Tokenizer};

    #[test]
    fn operators_end_where_those_of_postgresql_do() {
        for (text, wanted) in [
            (">-", ">"),
            (">=-", ">="),
            ("<>-+", "<>"),
            ("->-", "->"),
            ("->>-", "->>"),
            ("-+", "-"),
            ("+-", "+"),
            ("@-", "@-"),
            ("<->", "<->"),
            ("<->-", "<->"),
            ("#-", "#-"),
            ("+--", "+"),
            ("<>--", "<>"),
            (">/*", ">"),
            ("*/*", "*"),
            ("~+-", "~+-"),
            ("+-~", "+-~"),
        ] {
            let (end, _) = end_of(text.as_bytes(), 0);
            assert_eq!(&text[..end], wanted, "{text}");
        }
    }

    #[test]
    fn places_are_those_of_the_statement() {
        let text = "select 'ü'>-1, 2-+-\n+1 <>--x\n3->-4, a>/* \n */b>=-c";
        let apart = apart(text).unwrap();
        assert_eq!(apart.text, "select 'ü'> -1, 2- + -\n+1 <> --x\n3-> -4, a> /* \n */b>= -c");
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, &apart.text).tokenize_with_location().unwrap();
        apart.place(&mut tokens);
        for token in tokens {
            let wanted = match &token.token {
                Token::Whitespace(_) | Token::EOF => continue,
                other => other.to_string(),
            };
            let at = crate::offset_of(text, token.span.start.line, token.span.start.column);
            assert!(text[at..].starts_with(&wanted), "{wanted} at {at}");
        }
    }

    #[test]
    fn backslashes_of_unicode_literals_are_kept() {
        let text = "select U&'a\\b' uescape '!', E'\\n',\nu&'\\\\' , x->-1";
        let apart = apart(text).unwrap();
        assert_eq!(apart.text, "select U&'a\\\\b' uescape '!', E'\\n',\nu&'\\\\\\\\' , x-> -1");
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, &apart.text).tokenize_with_location().unwrap();
        apart.place(&mut tokens);
        let last = tokens.iter().rfind(|token| matches!(token.token, Token::Number(..))).unwrap();
        assert_eq!(crate::offset_of(text, last.span.start.line, last.span.start.column), text.len() - 1);
        let literals = tokens.iter().filter_map(|token| match &token.token {
            Token::UnicodeStringLiteral(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(literals.collect::<Vec<_>>(), ["a\\b", "\\\\"]);
    }

    #[test]
    fn letters_behind_a_number_are_none_of_a_name() {
        for text in ["1a", "0x1F", "100_000", "1e+", "1.5e", "$1a", "1ü"] {
            assert!(apart(text).is_err(), "{text}");
        }
        for text in ["1.5e3", "1 a", "1::a", "$1::a", "a1", "1.", "$1"] {
            assert!(apart(text).is_ok(), "{text}");
        }
    }
}
