//! The lexical structure of SQL, as far as splitting, normalising, the short statements and shells need it.
//!
//! It allocates nothing and accepts anything: what is not a token is an operator character.

use super::operators::{end_of, is_sign};

/// How many bytes a name may have.
pub const MAX_NAME: usize = 63;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An unquoted word: a keyword or a name.
    Word,
    /// `"a name"`.
    Quoted,
    /// A number without sign.
    Number,
    /// `'text'`.
    Text,
    /// `E'..'`, `U&'..'`, `B'..'`, `X'..'`, `$$..$$`: literals with rules of their own.
    Special,
    /// `$1`.
    Param,
    /// `;`.
    Semicolon,
    /// `(`, `)`, `,`, `[`, `]`, `.`.
    Punct,
    /// An operator, `::`, `:=`, or a character that begins nothing.
    Operator,
    /// A quote or comment that does not end.
    Open,
}

/// A token: its kind and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: Kind,
    /// The byte that it begins at.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Token {
    /// The token's text.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }

    /// Whether the token is this keyword, given in lower case.
    pub fn is(&self, text: &str, word: &str) -> bool {
        self.kind == Kind::Word && self.of(text).eq_ignore_ascii_case(word)
    }

    /// Whether the token is this punctuation or operator.
    pub fn is_sign(&self, text: &str, sign: &str) -> bool {
        matches!(self.kind, Kind::Punct | Kind::Operator | Kind::Semicolon) && self.of(text) == sign
    }
}

/// The tokens of a text, comments and spaces left out.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Up to here every sign is an operator of its own.
    signs: usize,
}

impl<'a> Lexer<'a> {
    /// The tokens of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, signs: 0 }
    }

    /// The tokens from a byte on, which must stand between two tokens.
    pub fn starting_at(text: &'a str, at: usize) -> Self {
        Self { text, at, signs: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips spaces and comments; false if a comment does not end.
    fn skip(&mut self) -> bool {
        loop {
            match (self.byte(self.at), self.byte(self.at + 1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C, _) => self.at += 1,
                (b'-', b'-') => {
                    let rest = &self.bytes()[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                (b'/', b'*') => {
                    let mut depth = 0usize;
                    loop {
                        match (self.byte(self.at), self.byte(self.at + 1)) {
                            (b'/', b'*') => {
                                depth += 1;
                                self.at += 2;
                            }
                            (b'*', b'/') => {
                                depth -= 1;
                                self.at += 2;
                                if depth == 0 {
                                    break;
                                }
                            }
                            _ if self.at >= self.text.len() => return false,
                            _ => self.at += 1,
                        }
                    }
                }
                _ => return true,
            }
        }
    }

    /// The end of a quoted text that begins before `at`; a doubled quote stands for one.
    fn quoted(&self, mut at: usize, quote: u8, backslashes: bool) -> Option<usize> {
        loop {
            match self.bytes().get(at)? {
                b if *b == quote && self.byte(at + 1) == quote => at += 2,
                b if *b == quote => return Some(at + 1),
                b'\\' if backslashes => at += 2,
                _ => at += 1,
            }
        }
    }

    /// The end of `$tag$ .. $tag$`, if one begins at `at`.
    fn dollar(&self, at: usize) -> Option<Option<usize>> {
        let rest = &self.bytes()[at + 1..];
        let tag = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80))?;
        if rest[tag] != b'$' || rest[0].is_ascii_digit() {
            return None;
        }
        let delimiter = &self.text[at..at + tag + 2];
        let from = at + delimiter.len();
        Some(self.text[from..].find(delimiter).map(|found| from + found + delimiter.len()))
    }

    fn number(&self, mut at: usize) -> usize {
        let digits = |mut at: usize| {
            while self.byte(at).is_ascii_digit() {
                at += 1;
            }
            at
        };
        at = digits(at);
        if self.byte(at) == b'.' && self.byte(at + 1) != b'.' {
            at = digits(at + 1);
        }
        if matches!(self.byte(at), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            if self.byte(at + 1 + sign).is_ascii_digit() {
                at = digits(at + 1 + sign);
            }
        }
        at
    }
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let before = self.at;
        if !self.skip() {
            return Some(Token { kind: Kind::Open, start: before, end: self.text.len() });
        }
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let open = (Kind::Open, self.text.len());
        let (kind, end) = match self.byte(start) {
            b'\'' => self.quoted(start + 1, b'\'', false).map_or(open, |end| (Kind::Text, end)),
            b'"' => self.quoted(start + 1, b'"', false).map_or(open, |end| (Kind::Quoted, end)),
            b'e' | b'E' if self.byte(start + 1) == b'\'' => {
                self.quoted(start + 2, b'\'', true).map_or(open, |end| (Kind::Special, end))
            }
            b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if self.byte(start + 1) == b'\'' => {
                self.quoted(start + 2, b'\'', false).map_or(open, |end| (Kind::Special, end))
            }
            b'u' | b'U' if self.byte(start + 1) == b'&' && matches!(self.byte(start + 2), b'\'' | b'"') => {
                let quote = self.byte(start + 2);
                self.quoted(start + 3, quote, false).map_or(open, |end| (Kind::Special, end))
            }
            b'$' if self.byte(start + 1).is_ascii_digit() => {
                let mut at = start + 1;
                while self.byte(at).is_ascii_digit() {
                    at += 1;
                }
                (Kind::Param, at)
            }
            b'$' => match self.dollar(start) {
                Some(Some(end)) => (Kind::Special, end),
                Some(None) => open,
                None => (Kind::Operator, start + 1),
            },
            b if is_word_start(b) => {
                let mut at = start + 1;
                while is_word_start(self.byte(at)) || self.byte(at).is_ascii_digit() || self.byte(at) == b'$'
                {
                    at += 1;
                }
                (Kind::Word, at)
            }
            b if b.is_ascii_digit() => (Kind::Number, self.number(start)),
            b'.' if self.byte(start + 1).is_ascii_digit() => (Kind::Number, self.number(start)),
            b';' => (Kind::Semicolon, start + 1),
            b'(' | b')' | b',' | b'[' | b']' | b'.' => (Kind::Punct, start + 1),
            b':' => {
                let both = matches!(self.byte(start + 1), b':' | b'=');
                (Kind::Operator, start + 1 + usize::from(both))
            }
            b if is_sign(b) => {
                let mut end = start + 1;
                if start >= self.signs {
                    (end, self.signs) = end_of(self.bytes(), start);
                }
                (Kind::Operator, end)
            }
            _ => (Kind::Operator, start + 1),
        };
        self.at = end.min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        Some(Token { kind, start, end: self.at })
    }
}

/// The statements of a text that semicolons divide; empty ones are left out.
pub fn split(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut first: Option<usize> = None;
    let mut last = 0;
    for token in Lexer::new(text) {
        if token.kind == Kind::Semicolon {
            statements.extend(first.take().map(|from| &text[from..last]));
        } else {
            first.get_or_insert(token.start);
            last = token.end;
        }
    }
    statements.extend(first.map(|from| &text[from..last]));
    statements
}

/// A name as SQL understands it: folded to lower case unless quoted, and no longer than names may be.
pub fn name_of(token: Token, text: &str) -> Option<String> {
    whole_name_of(token, text).map(cut)
}

/// The same, however long it is.
pub fn whole_name_of(token: Token, text: &str) -> Option<String> {
    match token.kind {
        Kind::Word => Some(token.of(text).to_lowercase()),
        Kind::Quoted => Some(text[token.start + 1..token.end - 1].replace("\"\"", "\"")),
        _ => None,
    }
}

/// A name without what is behind [`MAX_NAME`] bytes.
pub fn cut(mut name: String) -> String {
    while name.len() > MAX_NAME {
        name.pop();
    }
    name
}

/// A name as statements can have it, quoted if it must be.
pub fn quoted(name: &str) -> String {
    scaledb_types::func::quote_ident(name).into_owned()
}

/// The names in a list with commas between them, as settings have it: a name without quotes is whatever stands before
/// the next comma or space, in lower case. None if it is no such list.
pub fn names_of(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let end = if rest.starts_with('"') {
            let end = Lexer::new(rest).next().filter(|token| token.kind == Kind::Quoted)?.end;
            names.push(rest[1..end - 1].replace("\"\"", "\""));
            end
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            names.push(rest[..end].to_lowercase());
            end
        };
        rest = rest[end..].trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// The content of a plain text literal.
pub fn text_of(token: Token, text: &str) -> Option<String> {
    match token.kind {
        Kind::Text => Some(text[token.start + 1..token.end - 1].replace("''", "'")),
        Kind::Special if text[token.start..].starts_with(['e', 'E']) => {
            Some(unescape(&text[token.start + 2..token.end - 1]))
        }
        _ => None,
    }
}

/// The content of an `E'..'` literal.
pub(super) fn unescape(body: &str) -> String {
    let mut out = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                chars.next_if_eq(&'\'');
                out.push('\'');
            }
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\x08'),
                Some('f') => out.push('\x0C'),
                // what is no character is refused before, see `invalid_escape`
                Some('x') => out.extend(code(&mut chars, String::new(), 16, 2).or(Some('x'))),
                Some('u') => out.extend(code(&mut chars, String::new(), 16, 4).or(Some('u'))),
                Some('U') => out.extend(code(&mut chars, String::new(), 16, 8).or(Some('U'))),
                Some(first @ '0'..='7') => out.extend(code(&mut chars, first.into(), 8, 3)),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

/// The character of a code of at most so many digits.
fn code(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    mut digits: String,
    radix: u32,
    most: usize,
) -> Option<char> {
    while digits.len() < most
        && let Some(digit) = chars.next_if(|c| c.is_digit(radix))
    {
        digits.push(digit);
    }
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}

/// The first byte that an `E'..'` literal of the text names and that is no character: `\x00`, or one beyond ASCII
/// alone.
pub fn invalid_escape(text: &str) -> Option<String> {
    let literals = Lexer::new(text).filter(|token| token.kind == Kind::Special);
    let mut literals = literals.map(|token| token.of(text)).filter(|word| word.starts_with(['e', 'E']));
    literals.find_map(|literal| {
        let mut rest = literal;
        while let Some((_, after)) = rest.split_once('\\') {
            rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or("");
            let (digits, radix, most) = match after.as_bytes().first() {
                Some(b'x') => (rest, 16, 2),
                Some(b'0'..=b'7') => (after, 8, 3),
                _ => continue,
            };
            let len = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
            if let Ok(byte) = u32::from_str_radix(&digits[..len], radix)
                && (byte == 0 || byte >= 0x80)
            {
                return Some(format!("0x{:02x}", byte & 0xff));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_a_quote_does_not_split() {
        let text = "select ';' ; select \";\" -- ;\n, /* ; /* ; */ ; */ $a$;$a$, E'\\';' ;; ";
        assert_eq!(split(text).len(), 2);
        assert!(split(" ; -- ping").is_empty());
    }

    #[test]
    fn an_open_quote_ends_the_text() {
        for text in ["select 'a", "select \"a", "/* a", "$a$ b", "E'\\'"] {
            let last = Lexer::new(text).last().unwrap();
            assert_eq!((last.kind, last.end), (Kind::Open, text.len()), "{text}");
        }
    }

    #[test]
    fn numbers_words_and_operators_are_told_apart() {
        let text = "a1=-1.5e3+$2*.5::int4<>b";
        let tokens: Vec<_> = Lexer::new(text).map(|t| t.of(text)).collect();
        assert_eq!(tokens, ["a1", "=", "-", "1.5e3", "+", "$2", "*", ".5", "::", "int4", "<>", "b"]);
    }
}
