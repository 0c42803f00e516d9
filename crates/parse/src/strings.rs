//! Literals that go on behind a line break, identifiers with Unicode escapes, and literals with such escapes of their
//! own, which the parser does not know.

use scaledb_types::{SqlError, SqlState};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// Puts the literals and identifiers of a statement, which is this text, in the parser's form.
///
/// # Errors
/// 42601 for an escape that is none.
pub(super) fn rewrite(
    mut tokens: Vec<TokenWithSpan>,
    text: &str,
) -> scaledb_types::Result<Vec<TokenWithSpan>> {
    let mut at = 0;
    while at < tokens.len() {
        let written = match &tokens[at].token {
            Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => {
                continue_at(&mut tokens, at);
                Ok(())
            }
            Token::UnicodeStringLiteral(_) => literal_at(&mut tokens, at),
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("u") => {
                identifier_at(&mut tokens, at)
            }
            _ => Ok(()),
        };
        written.map_err(|malformed| {
            let place = tokens[at].span.start;
            let what = malformed.told();
            let error = SqlError::new(SqlState::SYNTAX_ERROR, what);
            let error = error.position(super::position_of(text, place.line, place.column));
            match malformed {
                Malformed::Escape => error.hint("Unicode escapes must be \\XXXX or \\+XXXXXX."),
                _ => error,
            }
        })?;
        at += 1;
    }
    Ok(tokens)
}

/// What is wrong with an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Malformed {
    /// What stands behind UESCAPE is no escape.
    Character,
    /// It has no digits.
    Escape,
    /// No character has the number.
    Value,
    /// It is half of a character.
    Pair,
}

impl Malformed {
    fn told(self) -> &'static str {
        match self {
            Self::Character => "invalid Unicode escape character",
            Self::Escape => "invalid Unicode escape",
            Self::Value => "invalid Unicode escape value",
            Self::Pair => "invalid Unicode surrogate pair",
        }
    }
}

/// The next token that is no space, and whether a line ends before it.
fn next(tokens: &[TokenWithSpan], from: usize) -> (usize, bool) {
    let mut lines = false;
    let spaces = tokens[from.min(tokens.len())..].iter().take_while(|token| match &token.token {
        // nothing goes on behind such a comment
        Token::Whitespace(Whitespace::MultiLineComment(_)) => false,
        Token::Whitespace(space) => {
            lines |= matches!(space, Whitespace::Newline | Whitespace::SingleLineComment { .. });
            true
        }
        _ => false,
    });
    (from + spaces.count(), lines)
}

fn blank(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        token.token = Token::Whitespace(Whitespace::Space);
    }
}

/// `'a'`, a line break, `'b'`: one literal. What stands behind `E'a'` has escapes, too.
fn continue_at(tokens: &mut [TokenWithSpan], at: usize) {
    let (first, escapes) = match &tokens[at].token {
        Token::SingleQuotedString(first) => (first, false),
        Token::EscapedStringLiteral(first) => (first, true),
        _ => return,
    };
    let mut whole: Option<String> = None;
    let mut end = at + 1;
    loop {
        let (more, lines) = next(tokens, end);
        match tokens.get(more).map(|token| &token.token) {
            Some(Token::SingleQuotedString(rest)) if lines => {
                let whole = whole.get_or_insert_with(|| first.clone());
                if escapes {
                    whole.push_str(&super::lex::unescape(&rest.replace('\'', "''")));
                } else {
                    whole.push_str(rest);
                }
            }
            _ => break,
        }
        end = more + 1;
    }
    if let Some(whole) = whole {
        blank(&mut tokens[at + 1..end]);
        tokens[at].token =
            if escapes { Token::EscapedStringLiteral(whole) } else { Token::SingleQuotedString(whole) };
    }
}

/// `U&"d\0061t"`, perhaps with UESCAPE.
fn identifier_at(tokens: &mut [TokenWithSpan], at: usize) -> Result<(), Malformed> {
    let (Some(Token::Ampersand), Some(Token::Word(name))) =
        (tokens.get(at + 1).map(|token| &token.token), tokens.get(at + 2).map(|token| &token.token))
    else {
        return Ok(());
    };
    if name.quote_style != Some('"') {
        return Ok(());
    }
    let (escape, end) = escape_behind(tokens, at + 3)?.unwrap_or(('\\', at + 3));
    let value = unescape(&name.value, escape)?;
    blank(&mut tokens[at + 1..end]);
    tokens[at].token = Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    Ok(())
}

/// `U&'d\0061t'`, perhaps with UESCAPE, and perhaps going on behind a line break.
fn literal_at(tokens: &mut [TokenWithSpan], at: usize) -> Result<(), Malformed> {
    let Token::UnicodeStringLiteral(first) = &tokens[at].token else { return Ok(()) };
    let (mut whole, mut end) = (first.clone(), at + 1);
    loop {
        let (more, lines) = next(tokens, end);
        match tokens.get(more).map(|token| &token.token) {
            Some(Token::SingleQuotedString(rest)) if lines => whole.push_str(rest),
            _ => break,
        }
        end = more + 1;
    }
    let (escape, end) = escape_behind(tokens, end)?.unwrap_or(('\\', end));
    let value = unescape(&whole, escape)?;
    blank(&mut tokens[at + 1..end]);
    tokens[at].token = Token::SingleQuotedString(value);
    Ok(())
}

/// The escape that UESCAPE names, and where that ends; `None` if there is none.
fn escape_behind(tokens: &[TokenWithSpan], from: usize) -> Result<Option<(char, usize)>, Malformed> {
    let (word, _) = next(tokens, from);
    if !matches!(tokens.get(word).map(|token| &token.token),
        Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("uescape"))
    {
        return Ok(None);
    }
    let (text, _) = next(tokens, word + 1);
    let Some(Token::SingleQuotedString(text_of)) = tokens.get(text).map(|token| &token.token) else {
        return Ok(None);
    };
    let mut chars = text_of.chars();
    let (Some(own), None) = (chars.next(), chars.next()) else { return Err(Malformed::Character) };
    if own.is_ascii_hexdigit() || own.is_ascii_whitespace() || matches!(own, '+' | '\'' | '"') {
        return Err(Malformed::Character);
    }
    Ok(Some((own, text + 1)))
}

/// The text with its escapes replaced.
fn unescape(text: &str, escape: char) -> Result<String, Malformed> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // the first half of a character that two escapes make
    let mut high: Option<u32> = None;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let mut code = u32::from(c);
        let mut escaped = false;
        if c == escape {
            if let Some(behind) = rest.strip_prefix(escape) {
                rest = behind;
            } else {
                let (digits, len) = match rest.strip_prefix('+') {
                    Some(digits) => (digits, 6),
                    None => (rest, 4),
                };
                let digits_of = digits.get(..len).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
                let number = digits_of.and_then(|text| u32::from_str_radix(text, 16).ok());
                code = number.ok_or(Malformed::Escape)?;
                rest = &digits[len..];
                escaped = true;
            }
        }
        match (high.take(), code) {
            (None, 0xD800..=0xDBFF) if escaped => high = Some(code),
            (Some(first), 0xDC00..=0xDFFF) if escaped => {
                code = 0x1_0000 + ((first - 0xD800) << 10) + (code - 0xDC00);
                out.push(char::from_u32(code).ok_or(Malformed::Value)?);
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(Malformed::Pair),
            (None, 0) => return Err(Malformed::Value),
            (None, code) => out.push(char::from_u32(code).ok_or(Malformed::Value)?),
        }
    }
    match high {
        None => Ok(out),
        Some(_) => Err(Malformed::Pair),
    }
}
