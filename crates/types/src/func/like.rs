//! LIKE and ILIKE.

use super::args::code;
use super::text::lower;
use super::{Code, Registry};
use crate::error::{Result, SqlError, SqlState};
use crate::value::Value;
use memchr::memmem::Finder;

/// A piece of a LIKE pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// This text.
    Literal(String),
    /// `_`
    One,
    /// `%`
    Any,
    /// An escape character that escapes nothing: an error where a text is left to compare it with. `always` behind
    /// `%_`, which looks ahead for what comes next.
    Broken { always: bool },
}

/// A compiled LIKE pattern.
#[derive(Clone, Debug)]
pub struct Like {
    pieces: Vec<Piece>,
    ignore_case: bool,
}

impl Like {
    /// Compiles a pattern. `escape` makes `%`, `_` and itself plain characters.
    pub fn new(pattern: &str, escape: Option<char>, ignore_case: bool) -> Self {
        let lowered;
        let pattern = if ignore_case {
            lowered = lower(pattern);
            &lowered
        } else {
            pattern
        };
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let piece = match c {
                c if Some(c) == escape => match chars.next() {
                    Some(next) => {
                        literal.push(next);
                        continue;
                    }
                    None => {
                        let before = pieces.iter().rev().skip_while(|piece| **piece == Piece::One);
                        let ones = literal.is_empty() && pieces.last() == Some(&Piece::One);
                        Piece::Broken { always: ones && before.take(1).any(|piece| *piece == Piece::Any) }
                    }
                },
                '%' => Piece::Any,
                '_' => Piece::One,
                c => {
                    literal.push(c);
                    continue;
                }
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            // several % are one
            if piece != Piece::Any || pieces.last() != Some(&Piece::Any) {
                pieces.push(piece);
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Self { pieces, ignore_case }
    }

    /// The text that all matches start with, and whether it is the whole pattern: what an index scan can use.
    pub fn prefix(&self) -> (&str, bool) {
        match &self.pieces[..] {
            _ if self.ignore_case => ("", false),
            [] => ("", true),
            [Piece::Literal(text)] => (text, true),
            [Piece::Literal(text), ..] => (text, false),
            _ => ("", false),
        }
    }

    /// Whether a text matches.
    ///
    /// # Errors
    ///
    /// 22025 if an escape character at the end of the pattern stands for the rest of it.
    pub fn matches(&self, text: &str) -> Result<bool> {
        if self.ignore_case {
            return self.matches_case(&lower(text));
        }
        self.matches_case(text)
    }

    fn matches_case(&self, text: &str) -> Result<bool> {
        Ok(match &self.pieces[..] {
            [] => text.is_empty(),
            [Piece::Any] => true,
            [Piece::Literal(whole)] => text == whole,
            [Piece::Literal(start), Piece::Any] => text.starts_with(start.as_str()),
            [Piece::Any, Piece::Literal(end)] => text.ends_with(end.as_str()),
            [Piece::Any, Piece::Literal(part), Piece::Any] => text.contains(part.as_str()),
            pieces => return general(pieces, text),
        })
    }
}

/// Only the last `%` needs to be tried again: what comes before it has matched as early as it can.
fn general(pieces: &[Piece], text: &str) -> Result<bool> {
    let (mut at, mut rest) = (0, text);
    let mut retry: Option<(usize, &str)> = None;
    loop {
        let step = match pieces.get(at) {
            None if rest.is_empty() => return Ok(true),
            None => None,
            Some(Piece::Broken { always }) if *always || !rest.is_empty() => {
                let what = "LIKE pattern must not end with escape character";
                return Err(SqlError::new(SqlState::INVALID_ESCAPE_SEQUENCE, what));
            }
            Some(Piece::Broken { .. }) => None,
            Some(Piece::Any) => {
                retry = Some((at + 1, rest));
                at += 1;
                continue;
            }
            Some(Piece::One) => {
                let mut chars = rest.chars();
                chars.next().map(|_| chars.as_str())
            }
            Some(Piece::Literal(literal)) => rest.strip_prefix(literal.as_str()),
        };
        if let Some(next) = step {
            rest = next;
            at += 1;
            continue;
        }
        let Some((again, from)) = retry else { return Ok(false) };
        let mut chars = from.chars();
        if chars.next().is_none() {
            return Ok(false);
        }
        retry = Some((again, chars.as_str()));
        (at, rest) = (again, chars.as_str());
    }
}

/// A pattern that has no special character but `%`, as parts that are found in many texts.
#[derive(Clone, Debug)]
pub struct Parts {
    first: Box<str>,
    between: Vec<Finder<'static>>,
    /// None if there is no `%`: then the first part is the whole.
    last: Option<Box<str>>,
}

impl Parts {
    /// The parts of a pattern; `None` if it has other special characters.
    pub fn new(pattern: &str) -> Option<Self> {
        if has_others(pattern) {
            return None;
        }
        let mut parts = pattern.split('%');
        let first = parts.next().unwrap_or_default().into();
        let last = parts.next_back().map(Box::from);
        let between = parts.map(|part| Finder::new(part).into_owned()).collect();
        Some(Self { first, between, last })
    }

    /// Whether the bytes of a text match: the first part stands at their begin, the last one at their end, and those
    /// between them where they come first.
    pub fn match_bytes(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else { return text == self.first.as_bytes() };
        let inner = text.strip_prefix(self.first.as_bytes());
        let Some(mut rest) = inner.and_then(|inner| inner.strip_suffix(last.as_bytes())) else {
            return false;
        };
        for part in &self.between {
            let Some(at) = part.find(rest) else { return false };
            rest = &rest[at + part.needle().len()..];
        }
        true
    }
}

/// Whether a pattern has special characters besides `%`.
fn has_others(pattern: &str) -> bool {
    pattern.bytes().any(|byte| matches!(byte, b'_' | b'\\'))
}

/// Whether a text matches a pattern that has no special character but `%`: the first part stands at its begin, the
/// last one at its end, and those between them where they come first.
fn like_parts(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('%');
    let first = parts.next().unwrap_or_default();
    let Some(last) = parts.next_back() else { return text == first };
    let Some(mut rest) = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for part in parts {
        match behind(rest, part) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}

/// What stands behind the first place of a part.
fn behind<'t>(text: &'t str, part: &str) -> Option<&'t str> {
    // the library's search takes no longer for long parts, but its preparation costs more than to look for short ones
    const SHORT: usize = 32;
    if part.len() > SHORT {
        return text.find(part).map(|at| &text[at + part.len()..]);
    }
    let Some((first, others)) = part.as_bytes().split_first() else { return Some(text) };
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        from += bytes[from..].iter().position(|byte| byte == first)? + 1;
        if bytes[from..].starts_with(others) {
            return text.get(from + others.len()..);
        }
    }
}

/// The escape character of a text: none if it is empty.
pub(super) fn escape_of(text: &str) -> Result<Option<char>> {
    let mut chars = text.chars();
    let escape = chars.next();
    if chars.next().is_some() {
        let error = SqlError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    Ok(escape)
}

/// The pattern with another escape character, as one with a backslash.
pub(super) fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_of(escape)?;
    let mut out = String::with_capacity(pattern.len());
    let mut after_escape = false;
    for c in pattern.chars() {
        if Some(c) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
        } else if c == '\\' {
            out.push('\\');
            if !after_escape {
                out.push('\\');
            }
            after_escape = false;
        } else {
            out.push(c);
            after_escape = false;
        }
    }
    Ok(out)
}

pub(super) fn like(text: &str, pattern: &str, ignore_case: bool) -> Result<bool> {
    if !ignore_case && !has_others(pattern) {
        return Ok(like_parts(text, pattern));
    }
    Like::new(pattern, Some('\\'), ignore_case).matches(text)
}

pub(super) fn register(r: &mut Registry) {
    let like_codes: [(&[&str], Code); 4] = [
        (&["~~(text,text) bool", "like(text,text) bool"], code!(|a: &str, p: &str| like(a, p, false))),
        (
            &["!~~(text,text) bool", "notlike(text,text) bool"],
            code!(|a: &str, p: &str| like(a, p, false).map(|hit| !hit)),
        ),
        (&["~~*(text,text) bool"], code!(|a: &str, p: &str| like(a, p, true))),
        (&["!~~*(text,text) bool"], code!(|a: &str, p: &str| like(a, p, true).map(|hit| !hit))),
    ];
    for (signatures, code) in like_codes {
        for signature in signatures {
            r.add(signature, code);
        }
    }
    // a `char(n)` has its blanks in a pattern match
    let padded: [(&str, Code); 4] = [
        ("~~(bpchar,text) bool", |call, args| padded_like(call, args, false, false)),
        ("!~~(bpchar,text) bool", |call, args| padded_like(call, args, false, true)),
        ("~~*(bpchar,text) bool", |call, args| padded_like(call, args, true, false)),
        ("!~~*(bpchar,text) bool", |call, args| padded_like(call, args, true, true)),
    ];
    for (signature, code) in padded {
        r.add(signature, code);
    }
    r.add("like_escape(text,text) text", code!(|p: &str, escape: &str| like_escape(p, escape)));
    // psql and others compare names with patterns
    r.add("~~(name,text) bool", code!(|a: &str, p: &str| like(a, p, false)));
    r.add("!~~(name,text) bool", code!(|a: &str, p: &str| like(a, p, false).map(|hit| !hit)));
}

fn padded_like(call: &super::Call<'_>, args: &[Value], ignore_case: bool, not: bool) -> Result<Value> {
    let mut out = Vec::new();
    args[0].write_text(call.args[0], call.env, &mut out);
    let text = String::from_utf8_lossy(&out);
    Ok(Value::Bool(like(&text, args[1].as_str().unwrap_or(""), ignore_case)? != not))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_what_their_pattern_matches() {
        const PIECES: [&str; 7] = ["%", "%%", "a", "b", "ab", "ä", ""];
        let mut patterns = vec![String::new()];
        for _ in 0..4 {
            let longer = patterns.iter().flat_map(|p| PIECES.iter().map(move |piece| format!("{p}{piece}")));
            patterns = longer.collect();
        }
        let texts = ["", "a", "b", "ab", "ba", "aab", "abab", "ä", "aäb", "äa", "abäab", "ababab"];
        for pattern in &patterns {
            let parts = Parts::new(pattern).unwrap();
            for text in texts {
                let expected = Like::new(pattern, Some('\\'), false).matches(text).unwrap();
                assert_eq!(parts.match_bytes(text.as_bytes()), expected, "{text} like {pattern}");
            }
        }
        assert!(Parts::new("a_").is_none() && Parts::new("a\\%").is_none());
    }
}
