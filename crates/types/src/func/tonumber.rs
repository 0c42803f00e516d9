//! `to_char` of numbers, and `to_number`: templates of `9`, `0`, `.`, `,`, `D`, `G`, `S`, `MI`, `PL`, `SG`, `PR`, `FM`,
//! `TH`, `V`, `RN`, `EEEE`, `B`, `SP` and `L`, printed piece by piece as PostgreSQL's `NUM_processor` does.

use super::Registry;
use super::args::code;
use super::tochar::ordinal_of;
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::Numeric;
use crate::ty::Type;

/// Decimal digits that every float4 and every float8 holds.
const FLOAT4_DIGITS: usize = 6;
const FLOAT8_DIGITS: usize = 15;

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
    /// `PL`
    Plus,
    /// `SG`
    Both,
    /// `PR`
    Brackets,
    /// The sign of the currency: a blank in the C locale.
    Currency,
    /// `TH`, or `th`
    Ordinal {
        small: bool,
    },
    /// `RN`, or `rn`
    Roman {
        small: bool,
    },
    Char(char),
}

/// Where `S` puts the sign.
#[derive(Clone, Copy, PartialEq)]
enum Anchor {
    None,
    Front,
    Back,
}

/// A template and what it counts.
struct Template {
    pieces: Vec<Piece>,
    fill: bool,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
    /// Digits behind `V`.
    multiplied: Option<usize>,
    point: bool,
    /// The first `0` before the point, and the digits up to the last one.
    zero_start: Option<usize>,
    zero_end: usize,
    anchor: Anchor,
    /// Digits before `S`.
    before_sign: usize,
    minus: bool,
    plus: bool,
    brackets: bool,
    roman: bool,
    exponent: bool,
    /// `B` before all digits.
    blank: bool,
}

/// The words of templates, longer ones before their starts.
const WORDS: [&str; 36] = [
    "EEEE", "eeee", "FM", "fm", "MI", "mi", "PL", "pl", "PR", "pr", "RN", "rn", "SG", "sg", "SP", "sp", "TH",
    "th", "B", "b", "D", "d", "G", "g", "L", "l", "S", "s", "V", "v", "9", "0", ".", ",", "\\\"", "\"",
];

#[cold]
fn bad_template(message: &'static str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// 42601 for pieces that do not go together.
    fn read(text: &str) -> Result<Self> {
        let mut found = Self {
            pieces: Vec::new(),
            fill: false,
            before: 0,
            behind: 0,
            multiplied: None,
            point: false,
            zero_start: None,
            zero_end: 0,
            anchor: Anchor::None,
            before_sign: 0,
            minus: false,
            plus: false,
            brackets: false,
            roman: false,
            exponent: false,
            blank: false,
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
                rest = &rest[word.len()..];
                match *word {
                    "\"" => {
                        let mut body = rest.chars();
                        while let Some(c) = body.next().filter(|c| *c != '"') {
                            // a backslash quotes what follows it
                            let quoted = if c == '\\' { body.next() } else { None };
                            found.pieces.push(Piece::Char(quoted.unwrap_or(c)));
                        }
                        rest = body.as_str();
                    }
                    "\\\"" => found.pieces.push(Piece::Char('"')),
                    word => found.word(word)?,
                }
                continue;
            }
            rest = &rest[c.len_utf8()..];
            found.pieces.push(Piece::Char(c));
        }
        Ok(found)
    }

    fn word(&mut self, word: &str) -> Result<()> {
        let upper = word.to_ascii_uppercase();
        if self.exponent && upper != "EEEE" {
            return Err(bad_template("\"EEEE\" must be the last pattern used"));
        }
        let signs = self.plus || self.minus;
        let small = upper != word;
        let piece = match upper.as_str() {
            "9" | "0" => return self.digit(upper == "0"),
            "." | "D" => {
                if self.point {
                    return Err(bad_template("multiple decimal points"));
                }
                if self.multiplied.is_some() {
                    return Err(bad_template("cannot use \"V\" and decimal point together"));
                }
                self.point = true;
                Piece::Point
            }
            "," | "G" => Piece::Comma,
            "L" => Piece::Currency,
            "TH" => Piece::Ordinal { small },
            "FM" => {
                self.fill = true;
                return Ok(());
            }
            "S" => {
                if self.anchor != Anchor::None {
                    return Err(bad_template("cannot use \"S\" twice"));
                }
                if signs || self.brackets {
                    let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
                    return Err(bad_template(message));
                }
                self.anchor = if self.point { Anchor::Back } else { Anchor::Front };
                self.before_sign = self.before;
                Piece::Sign
            }
            "MI" | "PL" | "SG" => {
                if self.anchor != Anchor::None {
                    let message = format!("cannot use \"S\" and \"{upper}\" together");
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                self.minus |= upper != "PL";
                self.plus |= upper != "MI";
                match upper.as_str() {
                    "MI" => Piece::Minus,
                    "PL" => Piece::Plus,
                    _ => Piece::Both,
                }
            }
            "PR" => {
                if self.anchor != Anchor::None || signs {
                    let message = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                    return Err(bad_template(message));
                }
                self.brackets = true;
                Piece::Brackets
            }
            "RN" => {
                self.roman = true;
                Piece::Roman { small }
            }
            "V" => {
                if self.point {
                    return Err(bad_template("cannot use \"V\" and decimal point together"));
                }
                self.multiplied.get_or_insert(0);
                return Ok(());
            }
            "EEEE" => {
                if self.exponent {
                    return Err(bad_template("cannot use \"EEEE\" twice"));
                }
                let more = self.fill || self.anchor != Anchor::None || self.brackets || signs || self.roman;
                if more || self.blank || self.multiplied.is_some() {
                    return Err(bad_template("\"EEEE\" is incompatible with other formats").detail(
                        "\"EEEE\" may only be used together with digit and decimal point patterns.",
                    ));
                }
                self.exponent = true;
                return Ok(());
            }
            // B and SP print nothing
            _ => {
                self.blank |= upper == "B" && self.before + self.behind == 0;
                return Ok(());
            }
        };
        self.pieces.push(piece);
        Ok(())
    }

    fn digit(&mut self, zero: bool) -> Result<()> {
        if self.brackets {
            return Err(bad_template(if zero {
                "\"0\" must be ahead of \"PR\""
            } else {
                "\"9\" must be ahead of \"PR\""
            }));
        }
        if zero {
            if !self.point {
                self.zero_start.get_or_insert(self.before);
            }
        } else if let Some(digits) = &mut self.multiplied {
            *digits += 1;
            self.pieces.push(Piece::Digit { zero });
            return Ok(());
        }
        *(if self.point { &mut self.behind } else { &mut self.before }) += 1;
        if zero {
            self.zero_end = self.before + self.behind;
        }
        self.pieces.push(Piece::Digit { zero });
        Ok(())
    }

    /// A number without its sign, rounded as the template asks.
    fn print(mut self, number: &str, negative: bool) -> Result<String> {
        let whole = number.find('.').unwrap_or(number.len());
        if whole > self.before {
            let hashes = format!("{}.{}", "#".repeat(self.before), "#".repeat(self.behind));
            return self.process(&hashes, negative, 0);
        }
        let spaces = self.before - whole;
        self.process(number, negative, spaces)
    }

    /// Prints a number that has so many digits less before the point than the template.
    fn process(&mut self, number: &str, negative: bool, spaces: usize) -> Result<String> {
        if !negative && self.fill {
            self.brackets = false;
        }
        if self.anchor == Anchor::Front && self.before == self.before_sign {
            self.anchor = Anchor::Back;
        }
        let signed_by_piece = self.plus || self.minus;
        let mut run = Run {
            number: number.as_bytes(),
            negative,
            spaces,
            out: String::new(),
            end: None,
            at: 0,
            place: 0,
            in_number: false,
            sign_written: if signed_by_piece {
                self.minus
            } else {
                !negative && self.fill && self.anchor == Anchor::None
            },
            last_relevant: None,
            last_place: 0,
        };
        run.last_place = (self.before + self.behind) as i64 - 1;
        if self.fill && self.point {
            run.last_relevant = number.find('.').map(|point| {
                let last = number.trim_end_matches('0').len() - 1;
                let kept = self.zero_end.saturating_sub(spaces).min(number.len() - 1);
                let last = last.max(point);
                if self.zero_end > spaces { last.max(kept) } else { last }
            });
        }
        if !run.sign_written && spaces == 0 {
            run.last_place += 1;
        }
        for piece in &self.pieces {
            match *piece {
                Piece::Digit { zero } => run.digit(self, zero, false),
                Piece::Point => run.digit(self, false, true),
                Piece::Comma if run.in_number => run.out.push(','),
                Piece::Comma | Piece::Minus if self.fill && (*piece == Piece::Comma || !negative) => {}
                Piece::Comma => run.out.push(' '),
                Piece::Currency => run.out.push(' '),
                Piece::Minus => run.out.push(if negative { '-' } else { ' ' }),
                Piece::Plus if !negative => run.out.push('+'),
                Piece::Plus if self.fill => {}
                Piece::Plus => run.out.push(' '),
                Piece::Both => run.out.push(if negative { '-' } else { '+' }),
                Piece::Ordinal { .. } if number.starts_with('#') || negative || self.point => {}
                Piece::Ordinal { .. } if !number.ends_with(|c: char| c.is_ascii_digit()) => {
                    let what = format!("\"{number}\" is not a number");
                    return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what));
                }
                Piece::Ordinal { small } => {
                    let suffix = ordinal_of(number);
                    run.out.push_str(&if small { suffix.to_owned() } else { suffix.to_ascii_uppercase() });
                }
                Piece::Sign | Piece::Brackets | Piece::Roman { .. } => {}
                Piece::Char(c) => run.out.push(c),
            }
        }
        // a digit that the number has not ends the text
        if let Some(end) = run.end {
            run.out.truncate(end);
        }
        Ok(run.out)
    }

    /// Roman numerals in place of a number.
    fn print_roman(&self, v: Option<i32>) -> String {
        let numeral = v.map_or_else(|| "#".repeat(15), roman);
        let mut out = String::new();
        for piece in &self.pieces {
            match *piece {
                Piece::Roman { small } => {
                    let numeral = if small { numeral.to_ascii_lowercase() } else { numeral.clone() };
                    out.push_str(&if self.fill { numeral } else { format!("{numeral:>15}") });
                }
                Piece::Comma | Piece::Minus | Piece::Plus if self.fill => {}
                Piece::Comma | Piece::Minus | Piece::Plus | Piece::Currency => out.push(' '),
                Piece::Char(c) => out.push(c),
                _ => {}
            }
        }
        out
    }

    /// What stands for a number that has no exponent.
    fn hashes(&self) -> String {
        format!(" {}.{}", "#".repeat(self.before), "#".repeat(self.behind + 4))
    }
}

/// A number that is being printed.
struct Run<'a> {
    number: &'a [u8],
    negative: bool,
    /// Digits that the template has more before the point.
    spaces: usize,
    out: String,
    /// Where the text ends, if the number has too few digits.
    end: Option<usize>,
    /// The next digit of the number.
    at: usize,
    /// The place in the template, counted in digits and points.
    place: usize,
    in_number: bool,
    sign_written: bool,
    /// The last digit that FM leaves.
    last_relevant: Option<usize>,
    last_place: i64,
}

impl Run<'_> {
    /// Whether a zero before the point is not shown.
    fn hides_zero(&self, template: &Template) -> bool {
        template.zero_start.is_none()
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && template.behind != 0
    }

    fn sign(&mut self, template: &Template) {
        let point_is_last = self.last_relevant.is_some_and(|at| self.number.get(at) == Some(&b'.'));
        let starts = self.place >= self.spaces || template.zero_start == Some(self.place);
        if self.sign_written || !starts || (self.hides_zero(template) && !point_is_last) {
            return;
        }
        match (template.anchor, template.brackets) {
            (Anchor::Back, _) => return,
            (Anchor::Front, _) => self.out.push(if self.negative { '-' } else { '+' }),
            (Anchor::None, true) => self.out.push(if self.negative { '<' } else { ' ' }),
            (Anchor::None, false) if self.negative => self.out.push('-'),
            (Anchor::None, false) if !template.fill => self.out.push(' '),
            (Anchor::None, false) => {}
        }
        self.sign_written = true;
    }

    fn digit(&mut self, template: &Template, zero: bool, point: bool) {
        self.in_number = false;
        self.sign(template);
        let zeros = template.zero_start.is_some_and(|start| start <= self.place);
        if self.place < self.spaces {
            if zeros {
                self.out.push('0');
                self.in_number = true;
            } else if !template.fill {
                self.out.push(' ');
            }
        } else {
            self.own_digit(template, zero && !point);
            if self.at < self.number.len() {
                self.at += 1;
            }
        }
        let mut end = self.last_place + i64::from(self.spaces > 0) + i64::from(template.point);
        if self.last_relevant == Some(self.at) {
            end = self.place as i64;
        }
        if self.place as i64 + 1 == end {
            if self.sign_written && template.brackets {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if template.anchor == Anchor::Back {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    /// A digit or the point of the number.
    fn own_digit(&mut self, template: &Template, zero: bool) {
        let point_is_last = self.last_relevant.is_some_and(|at| self.number.get(at) == Some(&b'.'));
        match self.number.get(self.at) {
            Some(b'.') => {
                if !point_is_last || template.fill {
                    self.out.push('.');
                }
            }
            _ if self.last_relevant.is_some_and(|last| self.at > last) && !zero => {}
            _ if self.hides_zero(template) => {
                if !template.fill {
                    self.out.push(' ');
                } else if point_is_last {
                    self.out.push('0');
                }
            }
            Some(digit) => {
                self.out.push(char::from(*digit));
                self.in_number = true;
            }
            None => {
                self.end.get_or_insert(self.out.len());
                self.in_number = true;
            }
        }
    }
}

/// A number in Roman numerals, which there are for 1 to 3999.
fn roman(v: i32) -> String {
    const ONES: [&str; 10] = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
    const TENS: [&str; 10] = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"];
    const HUNDREDS: [&str; 10] = ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"];
    if !(1..=3_999).contains(&v) {
        return "#".repeat(15);
    }
    let v = v as usize;
    let digit = |list: [&'static str; 10], unit: usize| list[v / unit % 10];
    format!("{}{}{}{}", "M".repeat(v / 1_000), digit(HUNDREDS, 100), digit(TENS, 10), digit(ONES, 1))
}

/// `d.dde+dd`, with a blank in front of what has no sign.
fn scientific(v: f64, digits: usize) -> String {
    /// No float has more digits than these that are not zero, and the standard library prints not many more.
    const MAX_DIGITS: usize = 1_100;
    let exact = digits.min(MAX_DIGITS);
    let text = format!("{v:.exact$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(digits - exact);
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    let space = if mantissa.starts_with('-') { "" } else { " " };
    format!("{space}{mantissa}{zeros}e{sign}{exponent:0>2}")
}

/// The same of a numeric. Its first digit is not looked at again where rounding makes two of it.
fn scientific_numeric(v: &Numeric, digits: usize) -> Result<String> {
    let exponent = v.parts().filter(|parts| parts.digits() > 0).map_or(0, |parts| parts.exponent());
    let scaled = Numeric::from(10).power(&Numeric::from(exponent.unsigned_abs() as i64))?;
    // one digit more than is shown would round twice
    let mantissa = match exponent {
        0 => v.clone(),
        _ if exponent > 0 => v.round((digits as i64 - exponent) as i32)?.div(&scaled)?,
        _ => v.mul(&scaled)?,
    };
    let mantissa = mantissa.round(digits as i32)?;
    let space = if mantissa.signum() == Some(-1) { "" } else { " " };
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{space}{mantissa}e{sign}{:0>2}", exponent.unsigned_abs().to_string()))
}

/// A numeric by a template.
fn to_char(v: &Numeric, text: &str) -> Result<String> {
    let mut template = Template::read(text)?;
    if template.roman {
        let whole = v.round(0)?.to_int("integer")?;
        let whole = i32::try_from(whole).map_err(|_| SqlError::out_of_range("integer out of range"))?;
        return Ok(template.print_roman(Some(whole)));
    }
    if template.exponent {
        return if v.is_finite() { scientific_numeric(v, template.behind) } else { Ok(template.hashes()) };
    }
    let multiplied;
    let mut v = v;
    if let Some(digits) = template.multiplied {
        multiplied = v.mul(&Numeric::from(10).power(&Numeric::from(digits as i64))?)?;
        v = &multiplied;
        template.before += digits;
    }
    let rounded = if v.is_finite() { v.round(template.behind as i32)? } else { v.clone() };
    let negative = rounded.signum() == Some(-1);
    template.print(&rounded.abs().to_string(), negative)
}

/// An integer by a template; what it is multiplied by must not make it larger than its type.
fn int_to_char(v: i64, max: i64, text: &str) -> Result<String> {
    let template = Template::read(text)?;
    if template.roman && max == i64::from(i32::MAX) {
        return Ok(template.print_roman(i32::try_from(v).ok()));
    }
    if template.exponent && max == i64::from(i32::MAX) {
        return Ok(scientific(v as f64, template.behind));
    }
    if let Some(digits) = template.multiplied.filter(|_| !template.roman) {
        let power = u32::try_from(digits).ok().and_then(|digits| 10_i64.checked_pow(digits));
        let product = power.and_then(|power| v.checked_mul(power)).filter(|v| (-max - 1..=max).contains(v));
        let name = if max == i64::MAX { "bigint out of range" } else { "integer out of range" };
        product.ok_or_else(|| SqlError::out_of_range(name))?;
    }
    to_char(&Numeric::from(v), text)
}

/// A float by a template: so many digits of it are shown at most. Of one below zero the minus stays where it is rounded
/// to zero.
fn float_to_char(v: f64, digits: usize, text: &str) -> Result<String> {
    let mut template = Template::read(text)?;
    if template.roman {
        // a cast of C, which has no answer to what does not fit
        let fits = v >= f64::from(i32::MIN) && v <= f64::from(i32::MAX);
        return Ok(template.print_roman(fits.then_some(v.round_ties_even() as i32)));
    }
    if template.exponent {
        return Ok(if v.is_finite() { scientific(v, template.behind) } else { template.hashes() });
    }
    let mut v = v;
    if let Some(digits) = template.multiplied {
        v *= 10_f64.powi(digits as i32);
        template.before += digits;
    }
    let shown = |v: f64, behind: usize| {
        if v.is_finite() { format!("{:.behind$}", v.abs()) } else { Numeric::from_f64(v.abs()).to_string() }
    };
    template.behind = template.behind.min(digits.saturating_sub(shown(v, 0).len()));
    let number = shown(v, template.behind);
    template.print(&number, v.is_sign_negative() && !v.is_nan())
}

/// A text that a number is read from, piece by piece.
struct Source<'a> {
    text: &'a str,
    at: usize,
    /// `-` or `+`, if there was one.
    sign: Option<u8>,
    digits: String,
    /// Digits behind the point, once that was read.
    behind: Option<usize>,
}

impl Source<'_> {
    /// The byte that comes next, or one behind it.
    fn peek(&self, further: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + further).copied()
    }

    /// Passes over the next character.
    fn skip(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    /// Passes over so many characters that no number has.
    fn skip_words(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek(0).is_none_or(|byte| b"0123456789.,+-".contains(&byte)) {
                break;
            }
            self.skip();
        }
    }

    /// A sign of this piece; otherwise what stands in its place.
    fn take_sign(&mut self, signs: &[u8]) {
        match self.peek(0).filter(|byte| signs.contains(byte)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.at += 1;
            }
            None => self.skip_words(1),
        }
    }

    /// A digit or the point, with the sign before the first or behind the last of them.
    fn take_digit(&mut self, template: &Template, point: bool) {
        let has_sign = |byte: Option<u8>| byte.filter(|byte| matches!(byte, b'-' | b'+'));
        let anchored = template.anchor != Anchor::None;
        if self.peek(0) == Some(b' ') {
            self.at += 1;
        }
        if self.sign.is_none() && !point && self.digits.trim_start_matches('.').is_empty() {
            let bracket = template.brackets && self.peek(0) == Some(b'<');
            if bracket {
                self.sign = Some(b'-');
            } else if template.anchor != Anchor::Back {
                self.sign = has_sign(self.peek(0));
            }
            self.at += usize::from(self.sign.is_some());
        }
        let Some(next) = self.peek(0) else { return };
        let mut is_read = true;
        match self.behind.as_mut() {
            Some(behind) if next.is_ascii_digit() && *behind == template.behind => return,
            Some(behind) if next.is_ascii_digit() => *behind += 1,
            None if next.is_ascii_digit() => {}
            None if template.point && next == b'.' => self.behind = Some(0),
            _ => is_read = false,
        }
        if is_read {
            self.digits.push(char::from(next));
        }
        if self.sign.is_none() && self.digits.bytes().any(|b| b.is_ascii_digit()) {
            if anchored && is_read && self.peek(1).is_some_and(|byte| !byte.is_ascii_digit()) {
                self.sign = has_sign(self.peek(1));
                self.at += usize::from(self.sign.is_some());
            } else if !is_read && !anchored && (template.plus || template.minus) {
                self.sign = has_sign(Some(next));
            }
        }
        self.skip();
    }
}

/// The number in a text, as PostgreSQL's `NUM_numpart_from_char` reads it. None of an empty template.
fn to_number(text: &str, pattern: &str) -> Result<Option<Numeric>> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let template = Template::read(pattern)?;
    if template.exponent || template.roman {
        let word = if template.exponent { "EEEE" } else { "RN" };
        return Err(SqlError::unsupported(format!("\"{word}\" not supported for input")));
    }
    let mut source = Source { text, at: 0, sign: None, digits: String::new(), behind: None };
    for piece in &template.pieces {
        if source.peek(0).is_none() {
            break;
        }
        match *piece {
            Piece::Digit { .. } => source.take_digit(&template, false),
            Piece::Point => source.take_digit(&template, true),
            Piece::Comma if template.fill || source.peek(0) != Some(b',') => {}
            Piece::Comma => source.at += 1,
            Piece::Currency => source.skip_words(1),
            Piece::Ordinal { .. } => source.skip_words(2),
            Piece::Minus => source.take_sign(b"-"),
            Piece::Plus => source.take_sign(b"+"),
            Piece::Both => source.take_sign(b"+-"),
            Piece::Sign | Piece::Brackets | Piece::Roman { .. } => {}
            Piece::Char(_) => source.skip(),
        }
    }
    let digits = source.digits.strip_suffix('.').unwrap_or(&source.digits);
    let sign = source.sign.map_or(' ', char::from);
    let v: Numeric = format!("{sign}{digits}").parse()?;
    let behind = source.behind.unwrap_or(0);
    let multiplied = template.multiplied.unwrap_or(0);
    let modifiers =
        [template.before + multiplied + behind, behind].map(|v| i32::try_from(v).unwrap_or(i32::MAX));
    // more digits than a type may announce fit anyway
    let v = match Type::NUMERIC.with_modifiers(&modifiers) {
        Ok(ty) => v.to_typmod(ty)?,
        Err(_) => v,
    };
    if multiplied == 0 {
        return Ok(Some(v));
    }
    let power = Numeric::from(10).power(&Numeric::from(-(multiplied as i64)))?;
    v.mul(&power).map(Some)
}

pub(super) fn register(r: &mut Registry) {
    r.stable("to_char(int4,text) text", code!(|v: i32, t: &str| int_to_char(v.into(), i32::MAX.into(), t)));
    r.stable("to_char(int8,text) text", code!(|v: i64, t: &str| int_to_char(v, i64::MAX, t)));
    r.stable("to_char(numeric,text) text", code!(|v: &Numeric, t: &str| to_char(v, t)));
    r.stable("to_char(float4,text) text", code!(|v: f32, t: &str| float_to_char(v.into(), FLOAT4_DIGITS, t)));
    r.stable("to_char(float8,text) text", code!(|v: f64, t: &str| float_to_char(v, FLOAT8_DIGITS, t)));
    r.stable("to_number(text,text) numeric", code!(|text: &str, t: &str| to_number(text, t)));
}
