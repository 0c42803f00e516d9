//! `to_char` of numbers, and `to_number`: templates of `9`, `0`, `.`, `,`, `D`, `G`, `S`, `MI`, `PR`, `FM`, `$` and
//! `L`.
//!
//! `EEEE`, `V`, `RN`, `TH`, `PL`, `SG` and `B` are refused.

use super::Registry;
use super::args::code;
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::Numeric;

/// A piece of a template.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    /// `9`, or `0` which is always printed.
    Digit {
        zero: bool,
    },
    Point,
    Comma,
    /// `S`
    Sign,
    /// `MI`
    Minus,
    /// `PR`
    Brackets,
    /// The sign of the currency: a blank in the C locale.
    Currency,
    Char(char),
}

/// A template and what it counts.
struct Template {
    pieces: Vec<Piece>,
    fill: bool,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
}

fn template(text: &str) -> Result<Template> {
    let mut found = Template { pieces: Vec::new(), fill: false, before: 0, behind: 0 };
    let mut rest = text;
    let mut point = false;
    while let Some(c) = rest.chars().next() {
        let upper = rest.get(..2).unwrap_or("").to_ascii_uppercase();
        let (piece, len) = match (upper.as_str(), c) {
            ("FM", _) => {
                found.fill = true;
                rest = &rest[2..];
                continue;
            }
            ("MI", _) => (Piece::Minus, 2),
            ("PR", _) => (Piece::Brackets, 2),
            ("EE" | "RN" | "TH" | "PL" | "SG", _) | (_, 'V' | 'v' | 'B' | 'b') => {
                return Err(SqlError::unsupported(format!(
                    "the number template \"{text}\" is not supported"
                )));
            }
            (_, '9' | '0') => {
                *(if point { &mut found.behind } else { &mut found.before }) += 1;
                (Piece::Digit { zero: c == '0' }, 1)
            }
            (_, '.' | 'D' | 'd') => {
                if point {
                    let message = "multiple decimal points";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                point = true;
                (Piece::Point, 1)
            }
            (_, ',' | 'G' | 'g') => (Piece::Comma, 1),
            (_, 'S' | 's') => (Piece::Sign, 1),
            (_, 'L' | 'l') => (Piece::Currency, 1),
            (_, '"') => {
                let mut body = rest[1..].chars();
                while let Some(c) = body.next().filter(|c| *c != '"') {
                    // a backslash quotes what follows it
                    let quoted = if c == '\\' { body.next() } else { None };
                    found.pieces.push(Piece::Char(quoted.unwrap_or(c)));
                }
                rest = body.as_str();
                continue;
            }
            ("\\\"", _) => (Piece::Char('"'), 2),
            (_, c) => (Piece::Char(c), c.len_utf8()),
        };
        found.pieces.push(piece);
        rest = &rest[len..];
    }
    Ok(found)
}

/// A number by a template; `minus` if it has a minus even where it is rounded to zero, as a float has.
fn to_char(v: &Numeric, minus: bool, text: &str) -> Result<String> {
    let template = template(text)?;
    let rounded = if v.is_finite() { v.round(template.behind as i32)? } else { v.clone() };
    let negative = minus || rounded.signum() == Some(-1);
    let shown = rounded.abs().to_string();
    let (whole, part) = shown.split_once('.').unwrap_or((&shown, ""));
    // digits behind the point that FM leaves: up to the last that is no zero, or a 0 of the template
    let mut kept = part.trim_end_matches('0').len();
    let digits = template.pieces.iter().filter_map(|piece| match piece {
        Piece::Digit { zero } => Some(*zero),
        _ => None,
    });
    for (at, zero) in digits.skip(template.before).enumerate() {
        if zero {
            kept = kept.max(at + 1);
        }
    }
    // a zero before a point is not shown, unless the template has a place for it alone, or nothing else is left
    let alone = template.fill && kept == 0 && template.before > 0;
    let whole = if whole == "0" && template.behind > 0 && !alone { "" } else { whole };
    let fits = template.before > 0 && whole.len() <= template.before;
    let overflow = "#".repeat(template.before);
    let (whole, hashes) = if fits { (whole, "") } else { (overflow.as_str(), "#") };
    let has_sign = template.pieces.iter().any(|p| matches!(p, Piece::Sign | Piece::Minus | Piece::Brackets));
    let first_zero = template.pieces.iter().scan(0, |seen, piece| {
        *seen += usize::from(matches!(piece, Piece::Digit { .. }));
        Some((*seen, *piece))
    });
    let first_zero = first_zero
        .filter(|(_, piece)| matches!(piece, Piece::Digit { zero: true }))
        .map(|(at, _)| at - 1)
        .next()
        .unwrap_or(usize::MAX);
    let start = template.before - whole.len();
    let leading_sign = matches!(template.pieces.first(), Some(Piece::Sign));
    let sign = match (has_sign, negative) {
        (false, true) => Some('-'),
        (false, false) => (!template.fill).then_some(' '),
        (true, _) if leading_sign => Some(if negative { '-' } else { '+' }),
        (true, true) if template.pieces.contains(&Piece::Brackets) => Some('<'),
        (true, false) if template.pieces.contains(&Piece::Brackets) => (!template.fill).then_some(' '),
        _ => None,
    };
    let mut out = String::new();
    let (mut at, mut behind, mut started, mut signed) = (0, 0, false, sign.is_none());
    let begin = |out: &mut String, signed: &mut bool| {
        if !std::mem::replace(signed, true) {
            out.extend(sign);
        }
    };
    let mut in_fraction = false;
    for piece in &template.pieces {
        match piece {
            Piece::Digit { .. } if !in_fraction => {
                if at >= start || at >= first_zero {
                    begin(&mut out, &mut signed);
                    out.push_str(if at >= start { &whole[at - start..=at - start] } else { "0" });
                    started = true;
                } else if !template.fill {
                    out.push(' ');
                }
                at += 1;
            }
            Piece::Digit { .. } => {
                started = true;
                if hashes == "#" {
                    out.push('#');
                } else if !template.fill || behind < kept {
                    out.push_str(&part[behind..=behind]);
                } else {
                    started = false;
                }
                behind += 1;
            }
            // NaN and the infinities have nothing behind a point
            Piece::Point if fits && !v.is_finite() => break,
            // a point without digits behind it is not shown, except after what does not fit
            Piece::Point if template.behind == 0 && hashes.is_empty() => in_fraction = true,
            Piece::Point => {
                begin(&mut out, &mut signed);
                (in_fraction, started) = (true, true);
                out.push('.');
            }
            Piece::Comma if started => out.push(','),
            Piece::Comma if !template.fill => out.push(' '),
            Piece::Comma => {}
            Piece::Sign if leading_sign && out.is_empty() => {}
            Piece::Sign => out.push(if negative { '-' } else { '+' }),
            Piece::Minus if negative => out.push('-'),
            Piece::Minus if !template.fill => out.push(' '),
            Piece::Minus => {}
            Piece::Brackets if negative => out.push('>'),
            Piece::Brackets if !template.fill => out.push(' '),
            Piece::Brackets => {}
            Piece::Currency => out.push(' '),
            Piece::Char(c) => out.push(*c),
        }
    }
    Ok(out)
}

/// The number in a text: digits, a sign anywhere, a point where the template has one.
fn to_number(text: &str, pattern: &str) -> Result<Numeric> {
    let template = template(pattern)?;
    let mut digits = String::new();
    let negative = text.contains('-') || (text.contains('<') && template.pieces.contains(&Piece::Brackets));
    let (mut point, mut before, mut behind) = (false, 0, 0);
    for c in text.chars() {
        match c {
            '0'..='9' if point && behind < template.behind => {
                behind += 1;
                digits.push(c);
            }
            '0'..='9' if !point && before < template.before => {
                before += 1;
                digits.push(c);
            }
            '.' if !point && template.pieces.contains(&Piece::Point) => {
                point = true;
                digits.push(c);
            }
            _ => {}
        }
    }
    if before + behind == 0 {
        return Err(SqlError::invalid_text("numeric", text));
    }
    let v: Numeric = digits.parse()?;
    Ok(if negative { v.neg() } else { v })
}

pub(super) fn register(r: &mut Registry) {
    r.stable("to_char(int4,text) text", code!(|v: i32, t: &str| to_char(&Numeric::from(v), false, t)));
    r.stable("to_char(int8,text) text", code!(|v: i64, t: &str| to_char(&Numeric::from(v), false, t)));
    r.stable("to_char(numeric,text) text", code!(|v: &Numeric, t: &str| to_char(v, false, t)));
    r.stable(
        "to_char(float4,text) text",
        code!(|v: f32, t: &str| to_char(&Numeric::from_f32(v), v < 0.0, t)),
    );
    r.stable(
        "to_char(float8,text) text",
        code!(|v: f64, t: &str| to_char(&Numeric::from_f64(v), v < 0.0, t)),
    );
    r.stable("to_number(text,text) numeric", code!(|text: &str, t: &str| to_number(text, t)));
}
