//! The pieces of a date or time: PostgreSQL's `ParseDateTime`.

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Digits, perhaps with a point.
    Number(String),
    /// Something with date separators: `2024-01-02`, `jan-02-2024`, `America/New_York`.
    Date(String),
    /// Something with colons.
    Time(String),
    /// A signed number: an offset, or a part of an interval.
    Signed(String),
    /// A word, in lower case.
    Word(String),
    /// A word with a sign.
    SignedWord(String),
}

/// Pieces of a text at most (PostgreSQL's `MAXDATEFIELDS`).
const MAX_FIELDS: usize = 25;

/// Splits a text; None if it has a character that no date has, or too many pieces. `is_keyword` says of a word that
/// digits may follow it without a blank.
pub(crate) fn split(text: &str, is_keyword: impl Fn(&str) -> bool) -> Option<Vec<Field>> {
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let run = |from: usize, ok: &dyn Fn(u8) -> bool| bytes[from..].iter().take_while(|b| ok(**b)).count();
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let lower = |from: usize, to: usize| text.get(from..to).map(str::to_ascii_lowercase);
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if byte.is_ascii_whitespace() || byte == 0x0B {
            at += 1;
            continue;
        }
        let field = match byte {
            b'0'..=b'9' => {
                at += digits(at);
                match get(at) {
                    b':' => {
                        at += run(at, &|b| b.is_ascii_digit() || matches!(b, b':' | b'.'));
                        Field::Time(lower(start, at)?)
                    }
                    delim @ (b'-' | b'/' | b'.') => {
                        at += 1;
                        if get(at).is_ascii_digit() {
                            at += digits(at);
                            let number = delim == b'.' && get(at) != b'.';
                            if get(at) == delim {
                                at += run(at, &|b| b.is_ascii_digit() || b == delim);
                            }
                            if number {
                                Field::Number(lower(start, at)?)
                            } else {
                                Field::Date(lower(start, at)?)
                            }
                        } else if delim == b'.' && !get(at).is_ascii_alphabetic() {
                            Field::Number(lower(start, at)?)
                        } else {
                            at += run(at, &|b| b.is_ascii_alphanumeric() || b == delim);
                            Field::Date(lower(start, at)?)
                        }
                    }
                    _ => Field::Number(lower(start, at)?),
                }
            }
            b'.' => {
                at += 1 + digits(at + 1);
                Field::Number(lower(start, at)?)
            }
            _ if byte.is_ascii_alphabetic() => {
                at += run(at, &|b| b.is_ascii_alphabetic());
                let next = get(at);
                let joined = matches!(next, b'-' | b'/' | b'.')
                    || ((next == b'+' || next.is_ascii_digit()) && !is_keyword(&lower(start, at)?));
                if joined {
                    let joins = b"+-/_.:";
                    at += run(at, &|b| b.is_ascii_alphanumeric() || joins.contains(&b));
                    Field::Date(lower(start, at)?)
                } else {
                    Field::Word(lower(start, at)?)
                }
            }
            b'+' | b'-' => {
                at += 1;
                at += run(at, &|b| b.is_ascii_whitespace());
                let body = at;
                let sign = char::from(byte);
                if get(at).is_ascii_digit() {
                    at += run(at, &|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-'));
                    Field::Signed(format!("{sign}{}", lower(body, at)?))
                } else if get(at).is_ascii_alphabetic() {
                    at += run(at, &|b| b.is_ascii_alphabetic());
                    Field::SignedWord(format!("{sign}{}", lower(body, at)?))
                } else if get(at) == b'.' {
                    at += 1 + digits(at + 1);
                    Field::Signed(format!("{sign}{}", lower(body, at)?))
                } else {
                    return None;
                }
            }
            _ if byte.is_ascii_punctuation() => {
                at += 1;
                continue;
            }
            _ => return None,
        };
        if fields.len() == MAX_FIELDS {
            return None;
        }
        fields.push(field);
    }
    Some(fields)
}

/// Microseconds of the digits behind a point.
pub(crate) fn fraction_micros(digits: &str) -> Option<i64> {
    if digits.is_empty() {
        return Some(0);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // half a microsecond is decided by the seventh digit and those behind it, as far as a float holds them
    let value: f64 = format!("0.{}", &digits[..digits.len().min(17)]).parse().ok()?;
    Some((value * 1e6).round_ties_even() as i64)
}
