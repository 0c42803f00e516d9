//! The tokens of one statement, from left to right; and the pieces of which many statements are made.

use super::lex::{Kind, Lexer, Token, name_of, text_of};
use scaledb_types::{Result, SqlError, SqlState};

/// Walks over the tokens of one statement.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    tokens: Lexer<'a>,
    pub(super) ahead: Option<Token>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut tokens = Lexer::new(text);
        let ahead = tokens.next();
        Self { text, tokens, ahead }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.ahead;
        self.ahead = self.tokens.next();
        token
    }

    pub(super) fn peek_word(&self) -> Option<&'a str> {
        self.ahead.filter(|t| t.kind == Kind::Word).map(|t| t.of(self.text))
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let hit = self.ahead.is_some_and(|t| t.is(self.text, word));
        if hit {
            self.next();
        }
        hit
    }

    pub(super) fn accept_sign(&mut self, sign: &str) -> bool {
        let hit = self.ahead.is_some_and(|t| t.is_sign(self.text, sign));
        if hit {
            self.next();
        }
        hit
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.accept_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn name(&mut self) -> Result<String> {
        let name = self.ahead.and_then(|t| name_of(t, self.text)).ok_or_else(|| self.unexpected())?;
        if name.is_empty() {
            return Err(self
                .ahead
                .map_or_else(|| self.unexpected(), |token| without_letters(self.text, token)));
        }
        self.next();
        Ok(name)
    }

    /// Goes on at a byte, which must not stand within a token.
    pub(super) fn go_to(&mut self, byte: usize) {
        self.tokens = Lexer::starting_at(self.text, byte);
        self.ahead = self.tokens.next();
    }

    /// The tokens behind the next one.
    pub(super) fn behind(&self) -> Lexer<'a> {
        self.tokens.clone()
    }

    /// What is left of the text.
    pub(super) fn rest(&mut self) -> &'a str {
        let from = self.ahead.map_or(self.text.len(), |t| t.start);
        self.ahead = None;
        self.tokens = Lexer::new("");
        &self.text[from..]
    }

    pub(super) fn end(&self) -> Result<()> {
        if self.ahead.is_none() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&self) -> SqlError {
        syntax_at(self.text, self.ahead.map(|t| (t.start, t.end)))
    }
}

/// The error at a place in a text.
pub(crate) fn syntax_at(text: &str, place: Option<(usize, usize)>) -> SqlError {
    let (message, at) = match place {
        Some((start, end)) => (format!("syntax error at or near \"{}\"", &text[start..end]), start),
        None => ("syntax error at end of input".to_owned(), text.len()),
    };
    let position = text[..at].chars().count() as u32 + 1;
    SqlError::new(SqlState::SYNTAX_ERROR, message).position(position)
}

/// The error of `""`, which is no name.
pub(crate) fn without_letters(text: &str, token: Token) -> SqlError {
    let what = "zero-length delimited identifier at or near \"\"\"\"";
    SqlError::new(SqlState::SYNTAX_ERROR, what).position(text[..token.start].chars().count() as u32 + 1)
}

/// Texts between commas, up to the closing parenthesis.
pub(super) fn pieces(at: &mut Cursor<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut piece: Option<(usize, usize)> = None;
    loop {
        let token = at.next().ok_or_else(|| syntax_at(at.text, None))?;
        let sign = token.of(at.text);
        let punct = token.kind == Kind::Punct;
        if punct && depth == 0 && (sign == "," || sign == ")") {
            let (from, to) =
                piece.take().ok_or_else(|| syntax_at(at.text, Some((token.start, token.end))))?;
            found.push(at.text[from..to].to_owned());
            if sign == ")" {
                return Ok(found);
            }
            continue;
        }
        if punct && matches!(sign, "(" | "[") {
            depth += 1;
        } else if punct && matches!(sign, ")" | "]") {
            depth = depth.saturating_sub(1);
        }
        piece = Some((piece.map_or(token.start, |(from, _)| from), token.end));
    }
}

/// The text of a parenthesis.
pub(super) fn parenthesized<'a>(at: &mut Cursor<'a>) -> Result<&'a str> {
    let open = at.next().ok_or_else(|| syntax_at(at.text, None))?;
    let mut depth = 1usize;
    loop {
        let token = at.next().ok_or_else(|| syntax_at(at.text, None))?;
        if token.is_sign(at.text, "(") {
            depth += 1;
        } else if token.is_sign(at.text, ")") {
            depth -= 1;
            if depth == 0 {
                return Ok(&at.text[open.end..token.start]);
            }
        }
    }
}

/// Names between commas, in parentheses or not.
pub(super) fn names(at: &mut Cursor<'_>, parentheses: bool) -> Result<Vec<String>> {
    if parentheses {
        at.expect_sign("(")?;
    }
    let mut names = vec![at.name()?];
    while at.accept_sign(",") {
        names.push(at.name()?);
    }
    if parentheses {
        at.expect_sign(")")?;
    }
    Ok(names)
}

/// The content of the literal that is next, of whatever kind.
pub(super) fn literal(at: &Cursor<'_>) -> Option<String> {
    let token = at.ahead?;
    let dollar_quoted = || {
        let text = token.of(at.text);
        let tag = &text[..=text.strip_prefix('$')?.find('$')? + 1];
        Some(text.strip_prefix(tag)?.strip_suffix(tag)?.to_owned())
    };
    text_of(token, at.text).or_else(dollar_quoted)
}

/// The value of a setting or an option: a word, a text or a number.
pub(super) fn value(at: &mut Cursor<'_>) -> Result<String> {
    let minus = at.accept_sign("-");
    let token = at.ahead.ok_or_else(|| at.unexpected())?;
    let text = match token.kind {
        Kind::Word => token.of(at.text).to_lowercase(),
        Kind::Quoted => name_of(token, at.text).unwrap_or_default(),
        Kind::Number => token.of(at.text).to_owned(),
        _ => text_of(token, at.text).ok_or_else(|| at.unexpected())?,
    };
    at.next();
    Ok(if minus { format!("-{text}") } else { text })
}
