//! Regular expressions, by the `regex` crate, and SIMILAR TO.
//!
//! The crate's dialect is nearly PostgreSQL's "advanced" one. What differs: there are no back references and no
//! lookaround, which are refused with 2201B. Which match counts, where several are possible, is PostgreSQL's choice:
//! see [`super::spans`].

use super::args::code;
use super::like::escape_of;
use super::spans::{Failure, Reading, Span, Spans, Steps};
use super::text::{Gathered, check_length, text_array};
use super::{Interrupt, Registry};
use crate::error::{Result, SqlError, SqlState};
use crate::value::{Text, Value};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A compiled regular expression of PostgreSQL's "advanced" dialect.
#[derive(Clone, Debug)]
pub struct Regex {
    regex: regex::Regex,
    /// Where matches end, unless the crate's answer is the same.
    spans: Option<Arc<Spans>>,
}

/// How deeply patterns nest.
pub(super) const MAX_NESTING: u32 = 100;

/// The groups of a match: where each lies, if it takes part; the first is the whole.
type Groups = Vec<Option<Span>>;

/// What flags ask for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    /// `n`, `m`: newlines end lines, and no `.` matches them.
    pub(super) lines: bool,
    /// `p`: as `n` for `.` alone.
    pub(super) dots: bool,
    /// `w`: as `n` for `^` and `$` alone.
    pub(super) anchors: bool,
    pub(super) expanded: bool,
    pub(super) literal: bool,
    pub(super) global: bool,
}

fn flags_of(text: &str) -> Result<Flags> {
    flags_over(Flags::default(), text)
}

/// The flags with those of a text over them.
fn flags_over(mut flags: Flags, text: &str) -> Result<Flags> {
    for c in text.chars() {
        match c {
            'i' => flags.ignore_case = true,
            'c' => flags.ignore_case = false,
            'n' | 'm' => flags.lines = true,
            'p' => flags.dots = true,
            'w' => flags.anchors = true,
            's' => (flags.lines, flags.dots, flags.anchors) = (false, false, false),
            'x' => flags.expanded = true,
            't' => flags.expanded = false,
            'q' => flags.literal = true,
            'g' => flags.global = true,
            'b' | 'e' => {}
            _ => {
                return Err(SqlError::invalid_parameter(format!(
                    "invalid regular expression option: \"{c}\""
                )));
            }
        }
    }
    Ok(flags)
}

#[cold]
fn bad_regex(message: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {message}"))
}

/// The character whose number follows in hexadecimal digits, as the crate has it.
fn numbered(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, digits: Option<usize>) -> Result<String> {
    /// Digits that one number may have.
    const MAX_DIGITS: usize = 255;
    let mut text = String::new();
    while text.len() < digits.unwrap_or(MAX_DIGITS)
        && let Some(digit) = chars.next_if(char::is_ascii_hexdigit)
    {
        text.push(digit);
    }
    let whole = digits.is_none_or(|digits| text.len() == digits);
    let number = u32::from_str_radix(text.trim_start_matches('0'), 16);
    let number = if !text.is_empty() && text.bytes().all(|b| b == b'0') { Ok(0) } else { number };
    match number.ok().and_then(char::from_u32).filter(|_| whole) {
        Some(c) => Ok(format!("\\x{{{:x}}}", u32::from(c))),
        None => Err(bad_regex("invalid escape \\ sequence")),
    }
}

/// PostgreSQL's escapes in the words of the crate.
fn translate(pattern: &str) -> Result<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(next) = chars.next() else { return Err(bad_regex("invalid escape \\ sequence")) };
                match next {
                    'm' if !in_class => out.push_str(r"\b{start}"),
                    'M' if !in_class => out.push_str(r"\b{end}"),
                    'y' if !in_class => out.push_str(r"\b"),
                    'Y' if !in_class => out.push_str(r"\B"),
                    'Z' if !in_class => out.push_str(r"\z"),
                    'A' | 'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'n' | 'r' | 't' | 'f' | 'v' | 'a' => {
                        out.push('\\');
                        out.push(next);
                    }
                    'b' => out.push_str(r"\x08"),
                    'e' => out.push_str(r"\x1b"),
                    '0' => out.push_str(r"\x00"),
                    // as many digits of a number as there are, or so many
                    'x' => out.push_str(&numbered(&mut chars, None)?),
                    'u' => out.push_str(&numbered(&mut chars, Some(4))?),
                    'U' => out.push_str(&numbered(&mut chars, Some(8))?),
                    '1'..='9' => return Err(bad_regex("back references are not supported")),
                    c if c.is_alphanumeric() => return Err(bad_regex("invalid escape \\ sequence")),
                    c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
                }
                class_start = false;
            }
            '[' if !in_class => {
                if chars.clone().take(6).collect::<String>() == "[:<:]]" {
                    chars.nth(5);
                    out.push_str(r"\b{start}");
                } else if chars.clone().take(6).collect::<String>() == "[:>:]]" {
                    chars.nth(5);
                    out.push_str(r"\b{end}");
                } else {
                    in_class = true;
                    class_start = true;
                    out.push('[');
                    if chars.peek() == Some(&'^') {
                        chars.next();
                        out.push('^');
                    }
                }
            }
            '[' if in_class => {
                class_start = false;
                if chars.peek() == Some(&':') {
                    // [:alpha:] is the same in both
                    out.push('[');
                    for c in chars.by_ref() {
                        out.push(c);
                        if c == ']' {
                            break;
                        }
                    }
                } else {
                    out.push_str(r"\[");
                }
            }
            ']' if in_class && class_start => {
                class_start = false;
                out.push_str(r"\]");
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // operators on sets of the crate only
            '&' | '~' | '-' if in_class && chars.peek() == Some(&c) => {
                out.push('\\');
                out.push(c);
            }
            c => {
                class_start = false;
                out.push(c);
            }
        }
    }
    Ok(out)
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// 2201B if it is none, 22023 if a flag is unknown.
    pub fn new(pattern: &str, flags: &str) -> Result<Self> {
        Self::compile(pattern, flags_of(flags)?)
    }

    fn compile(pattern: &str, mut flags: Flags) -> Result<Self> {
        /// Bytes of a compiled program.
        const MAX_PROGRAM: usize = 4 << 20;
        let mut pattern = pattern;
        if let Some(rest) = pattern.strip_prefix("***=") {
            flags.literal = true;
            pattern = rest;
        } else if let Some(rest) = pattern.strip_prefix("***:") {
            pattern = rest;
        }
        // options may stand at the start
        if let Some((letters, rest)) = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'))
            && !letters.is_empty()
            && letters.bytes().all(|b| b.is_ascii_lowercase())
            && !flags.literal
        {
            flags = flags_over(flags, letters).map_err(|_| bad_regex("invalid embedded option"))?;
            pattern = rest;
        }
        let translated = if flags.literal { regex::escape(pattern) } else { translate(pattern)? };
        let regex = regex::RegexBuilder::new(&translated)
            .case_insensitive(flags.ignore_case)
            .dot_matches_new_line(!flags.lines && !flags.dots)
            .multi_line(flags.lines || flags.anchors)
            .ignore_whitespace(flags.expanded)
            .size_limit(MAX_PROGRAM)
            .dfa_size_limit(MAX_PROGRAM)
            .nest_limit(MAX_NESTING)
            .build()
            .map_err(|error| {
                let text = error.to_string();
                let what = text.lines().last().unwrap_or("").trim_start_matches("error: ");
                // in PostgreSQL's words, where it has some
                bad_regex(match what {
                    "unclosed group" | "unopened group" => "parentheses () not balanced",
                    "unclosed character class" => "brackets [] not balanced",
                    "repetition operator missing expression" => "quantifier operand invalid",
                    "unclosed counted repetition" => "braces {} not balanced",
                    other => other,
                })
            })?;
        let reading = Reading {
            ignore_case: flags.ignore_case,
            dot_matches_new_line: !flags.lines && !flags.dots,
            multi_line: flags.lines || flags.anchors,
            expanded: flags.expanded,
        };
        let spans = Spans::new(&translated, reading).map_err(|failure| match failure {
            Failure::Unsupported => bad_regex("quantifier operand invalid"),
            Failure::TooComplex => bad_regex("regular expression is too complex"),
            Failure::Rounds => bad_regex("invalid repetition count(s)"),
        })?;
        Ok(Self { regex, spans: spans.map(Arc::new) })
    }

    /// The first match from a byte on.
    fn find_at(&self, text: &str, from: usize, steps: &mut Steps<'_>) -> Result<Option<Groups>> {
        if from > text.len() {
            return Ok(None);
        }
        let Some(spans) = &self.spans else {
            let mut places = self.regex.capture_locations();
            let found = self.regex.captures_read_at(&mut places, text, from);
            return Ok(found.map(|_| (0..places.len()).map(|group| places.get(group)).collect()));
        };
        let Some(found) = self.regex.find_at(text, from) else { return Ok(None) };
        Ok(Some(spans.at(text, found.start(), steps).map_err(|_| steps.error())?))
    }

    /// Hands the matches from a byte on to `next`, until that says that it has enough.
    fn each(
        &self,
        text: &str,
        from: usize,
        interrupt: Interrupt<'_>,
        next: &mut dyn FnMut(&Groups) -> Result<bool>,
    ) -> Result<()> {
        let mut steps = Steps::new(interrupt);
        let mut at = from;
        let mut matches = 0_u64;
        while let Some(groups) = self.find_at(text, at, &mut steps)? {
            matches += 1;
            if matches.is_multiple_of(MATCHES_BETWEEN_CHECKS) {
                interrupt.check()?;
            }
            if next(&groups)? {
                break;
            }
            let (start, end) = groups[0].unwrap_or((at, at));
            // behind an empty match, the next is looked for one character further
            let further = if start == end { text[end..].chars().next().map_or(1, char::len_utf8) } else { 0 };
            at = end + further;
        }
        Ok(())
    }

    /// Whether the pattern is somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Matches in one text before it is asked whether they are still wanted.
const MATCHES_BETWEEN_CHECKS: u64 = 256;

/// The longest text that is searched without asking before.
pub(super) const SHORT: usize = 64 << 10;

/// Compiled expressions that a thread keeps.
const CACHED: usize = 32;

thread_local! {
    /// The expressions used last, the newest at the end.
    static CACHE: RefCell<Vec<(String, Flags, Regex)>> = const { RefCell::new(Vec::new()) };
}

/// The compiled form of a pattern, from the cache if it is there.
pub(super) fn cached(pattern: &str, flags: Flags) -> Result<Regex> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().rposition(|(text, f, _)| text == pattern && *f == flags) {
            return Ok(cache[at].2.clone());
        }
        let regex = Regex::compile(pattern, flags)?;
        if cache.len() == CACHED {
            cache.remove(0);
        }
        cache.push((pattern.to_owned(), flags, regex.clone()));
        Ok(regex)
    })
}

fn is_match(text: &str, pattern: &str, ignore_case: bool, interrupt: Interrupt<'_>) -> Result<bool> {
    if text.len() > SHORT {
        interrupt.check()?;
    }
    Ok(cached(pattern, Flags { ignore_case, ..Flags::default() })?.is_match(text))
}

/// Groups of a match, or the whole of it if there are none.
fn groups(text: &str, groups: &Groups) -> Value {
    let skip = usize::from(groups.len() > 1);
    text_array(groups.iter().skip(skip).map(|group| part(text, *group)))
}

/// The text of a group.
fn part(text: &str, group: Option<Span>) -> Value {
    group.map_or(Value::Null, |(from, to)| Value::text(&text[from..to]))
}

fn regexp_match(text: &str, pattern: &str, flags: &str, interrupt: Interrupt<'_>) -> Result<Value> {
    let flags = flags_of(flags)?;
    if flags.global {
        let hint = "Use the regexp_matches function instead.";
        let message = "regexp_match() does not support the \"global\" option";
        return Err(SqlError::invalid_parameter(message).hint(hint));
    }
    let found = cached(pattern, flags)?.find_at(text, 0, &mut Steps::new(interrupt))?;
    Ok(found.map_or(Value::Null, |found| groups(text, &found)))
}

/// Hands the matches of `regexp_matches`, arrays of groups, to `next` until that breaks.
///
/// # Errors
///
/// As [`Regex::new`], and those of `next`.
pub fn regexp_matches(
    text: &str,
    pattern: &str,
    flags: &str,
    interrupt: Interrupt<'_>,
    next: &mut dyn FnMut(Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let flags = flags_of(flags)?;
    let mut flow = ControlFlow::Continue(());
    cached(pattern, flags)?.each(text, 0, interrupt, &mut |one| {
        flow = next(groups(text, one))?;
        Ok(flow.is_break() || !flags.global)
    })?;
    Ok(flow)
}

/// `\1` and `\&` of a replacement.
fn expand(text: &str, groups: &Groups, with: &str, out: &mut String) {
    let group =
        |number: usize| groups.get(number).copied().flatten().map_or("", |(from, to)| &text[from..to]);
    let mut chars = with.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(digit @ '1'..='9') => out.push_str(group(digit as usize - '0' as usize)),
            Some('&') => out.push_str(group(0)),
            Some('\\') | None => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
        }
    }
}

/// Replaces the `n`th match from a character on, or all of them if `n` is 0.
fn regexp_replace(
    text: &str,
    pattern: &str,
    with: &str,
    (start, n, flags): (i32, usize, Flags),
    interrupt: Interrupt<'_>,
) -> Result<Text> {
    let regex = cached(pattern, flags)?;
    let mut out = String::new();
    let (mut at, mut count) = (0, 0);
    regex.each(text, from_character(text, start)?, interrupt, &mut |groups| {
        count += 1;
        if n == 0 || count == n {
            let (from, to) = groups[0].unwrap_or((at, at));
            out.push_str(&text[at..from]);
            expand(text, groups, with, &mut out);
            check_length(out.len())?;
            at = to;
        }
        Ok(count == n)
    })?;
    out.push_str(&text[at..]);
    Ok(Text::from(out))
}

/// The byte of a character, counted from 1; beyond the text if there is none.
fn from_character(text: &str, start: i32) -> Result<usize> {
    if start <= 0 {
        return Err(bad_argument("start", start));
    }
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(places.nth(start as usize - 1).unwrap_or(usize::MAX))
}

fn replace_flags(
    text: &str,
    pattern: &str,
    with: &str,
    flags: &str,
    interrupt: Interrupt<'_>,
) -> Result<Text> {
    let flags = flags_of(flags)?;
    regexp_replace(text, pattern, with, (1, usize::from(!flags.global), flags), interrupt)
}

/// Pieces between matches; an empty match at either end, or right behind a match, separates nothing.
fn regexp_split(text: &str, pattern: &str, flags: &str, interrupt: Interrupt<'_>) -> Result<Value> {
    let flags = flags_of(flags)?;
    if flags.global {
        return Err(SqlError::invalid_parameter(
            "regexp_split_to_array() does not support the \"global\" option",
        ));
    }
    let regex = cached(pattern, flags)?;
    let mut parts = Gathered::new(interrupt);
    let (mut at, mut before) = (0, 0);
    regex.each(text, 0, interrupt, &mut |groups| {
        let (from, to) = groups[0].unwrap_or((at, at));
        if from < text.len() && to > before {
            parts.push(Some(&text[at..from]))?;
            at = to;
        }
        before = to;
        Ok(false)
    })?;
    parts.push(Some(&text[at..]))?;
    Ok(parts.array())
}

/// The flags of a function that looks for one match, or for all in any case.
fn flags_without_global(flags: &str, function: &str) -> Result<Flags> {
    let found = flags_of(flags)?;
    if found.global {
        let what = format!("{function}() does not support the \"global\" option");
        return Err(SqlError::invalid_parameter(what));
    }
    Ok(found)
}

fn regexp_count(text: &str, pattern: &str, start: i32, flags: &str, interrupt: Interrupt<'_>) -> Result<i32> {
    let regex = cached(pattern, flags_without_global(flags, "regexp_count")?)?;
    let mut count = 0;
    regex.each(text, from_character(text, start)?, interrupt, &mut |_| {
        count += 1;
        Ok(false)
    })?;
    Ok(count)
}

/// The first group of a match, or the whole.
fn substring(text: &str, pattern: &str, interrupt: Interrupt<'_>) -> Result<Value> {
    let regex = cached(pattern, Flags::default())?;
    let found = regex.find_at(text, 0, &mut Steps::new(interrupt))?;
    Ok(found.map_or(Value::Null, |groups| part(text, groups[usize::from(groups.len() > 1)])))
}

/// The match that `regexp_substr` and `regexp_instr` are asked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// The character from which on it is looked for.
    start: i32,
    /// Its number among the matches.
    n: i32,
    flags: &'a str,
    /// A group of it; 0 is the whole.
    group: i32,
}

/// The first match, or what of it is asked for.
const FIRST: Wanted<'_> = Wanted { start: 1, n: 1, flags: "", group: 0 };

fn bad_argument(name: &str, v: i32) -> SqlError {
    SqlError::invalid_parameter(format!("invalid value for parameter \"{name}\": {v}"))
}

/// Where a match or a group of it lies. A pattern without groups is its only one.
fn nth_span(
    function: &str,
    (text, pattern): (&str, &str),
    wanted: Wanted<'_>,
    interrupt: Interrupt<'_>,
) -> Result<Option<Span>> {
    let Wanted { start, n, flags, group } = wanted;
    let from = from_character(text, start)?;
    if n <= 0 {
        return Err(bad_argument("n", n));
    }
    let group = usize::try_from(group).map_err(|_| bad_argument("subexpr", group))?;
    let regex = cached(pattern, flags_without_global(flags, function)?)?;
    let (mut found, mut count) = (None, 0);
    regex.each(text, from, interrupt, &mut |groups| {
        count += 1;
        if count == n {
            let at = if groups.len() == 1 && group == 1 { 0 } else { group };
            found = groups.get(at).copied().flatten();
        }
        Ok(count == n)
    })?;
    Ok(found)
}

fn regexp_substr(text: &str, pattern: &str, wanted: Wanted<'_>, interrupt: Interrupt<'_>) -> Result<Value> {
    Ok(part(text, nth_span("regexp_substr", (text, pattern), wanted, interrupt)?))
}

/// The character at which a match begins, or with `end` the one behind it; 0 if there is none.
fn regexp_instr(
    text: &str,
    pattern: &str,
    wanted: Wanted<'_>,
    end: i32,
    interrupt: Interrupt<'_>,
) -> Result<i32> {
    if !matches!(end, 0 | 1) {
        return Err(bad_argument("endoption", end));
    }
    let span = nth_span("regexp_instr", (text, pattern), wanted, interrupt)?;
    Ok(span.map_or(0, |(from, to)| text[..if end == 0 { from } else { to }].chars().count() as i32 + 1))
}

/// SIMILAR TO's pattern as a regular expression. Two escaped quotes divide it into three parts, the middle one of which
/// SUBSTRING answers: the first is to match as little as it can, the second as much as it can.
fn similar_to(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let mut chars = pattern.chars();
    let (mut in_class, mut quotes) = (false, 0);
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => match chars.next() {
                Some('"') if !in_class => {
                    quotes += 1;
                    out.push_str(match quotes {
                        1 => "){1,1}?(",
                        2 => "){1,1}(?:",
                        _ => {
                            let what = "SQL regular expression may not contain more than two escape-double-quote \
                                        separators";
                            return Err(SqlError::new(SqlState::INVALID_USE_OF_ESCAPE_CHARACTER, what));
                        }
                    });
                }
                // letters beyond ASCII have no meaning behind a backslash
                Some(next) if !next.is_ascii() => out.push(next),
                // an escape of regular expressions may be meant, such as that of digits
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => {}
            },
            '[' if !in_class => {
                in_class = true;
                out.push(c);
            }
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            c if in_class => {
                if c == '\\' {
                    out.push('\\');
                }
                out.push(c);
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

pub(super) fn register(r: &mut Registry) {
    r.add("~(text,text) bool", code!(|c; a: &str, p: &str| is_match(a, p, false, c.interrupt)));
    r.add("~*(text,text) bool", code!(|c; a: &str, p: &str| is_match(a, p, true, c.interrupt)));
    r.add(
        "!~(text,text) bool",
        code!(|c; a: &str, p: &str| is_match(a, p, false, c.interrupt).map(|hit| !hit)),
    );
    r.add(
        "!~*(text,text) bool",
        code!(|c; a: &str, p: &str| is_match(a, p, true, c.interrupt).map(|hit| !hit)),
    );
    // psql and others compare names with patterns
    r.add("~(name,text) bool", code!(|c; a: &str, p: &str| is_match(a, p, false, c.interrupt)));
    r.add(
        "!~(name,text) bool",
        code!(|c; a: &str, p: &str| is_match(a, p, false, c.interrupt).map(|hit| !hit)),
    );
    r.add("regexp_match(text,text) text[]", code!(|c; a: &str, p: &str| regexp_match(a, p, "", c.interrupt)));
    r.add(
        "regexp_match(text,text,text) text[]",
        code!(|c; a: &str, p: &str, f: &str| regexp_match(a, p, f, c.interrupt)),
    );
    r.add(
        "regexp_replace(text,text,text) text",
        code!(|c; a: &str, p: &str, with: &str| replace_flags(a, p, with, "", c.interrupt)),
    );
    r.add(
        "regexp_replace(text,text,text,text) text",
        code!(|c; a: &str, p: &str, with: &str, f: &str| replace_flags(a, p, with, f, c.interrupt)),
    );
    r.add(
        "regexp_replace(text,text,text,int4) text",
        code!(|c; a: &str, p: &str, with: &str, start: i32| {
            regexp_replace(a, p, with, (start, 1, Flags::default()), c.interrupt)
        }),
    );
    r.add(
        "regexp_replace(text,text,text,int4,int4) text",
        code!(|c; a: &str, p: &str, with: &str, start: i32, n: i32| match usize::try_from(n) {
            Ok(n) => regexp_replace(a, p, with, (start, n, Flags::default()), c.interrupt),
            Err(_) => Err(bad_argument("n", n)),
        }),
    );
    r.add(
        "regexp_replace(text,text,text,int4,int4,text) text",
        code!(|c; a: &str, p: &str, with: &str, start: i32, n: i32, f: &str| match usize::try_from(n) {
            // which matches are replaced, n says
            Ok(n) => regexp_replace(a, p, with, (start, n, flags_of(f)?), c.interrupt),
            Err(_) => Err(bad_argument("n", n)),
        }),
    );
    r.add("regexp_split_to_array(text,text) text[]", split_array);
    r.add("regexp_split_to_array(text,text,text) text[]", split_array);
    r.add("regexp_like(text,text) bool", code!(|c; a: &str, p: &str| is_match(a, p, false, c.interrupt)));
    r.add(
        "regexp_like(text,text,text) bool",
        code!(|a: &str, p: &str, f: &str| {
            Ok(cached(p, flags_without_global(f, "regexp_like")?)?.is_match(a))
        }),
    );
    r.add(
        "regexp_count(text,text) int4",
        code!(|c; a: &str, p: &str| regexp_count(a, p, 1, "", c.interrupt)),
    );
    r.add(
        "regexp_count(text,text,int4) int4",
        code!(|c; a: &str, p: &str, start: i32| regexp_count(a, p, start, "", c.interrupt)),
    );
    r.add(
        "regexp_count(text,text,int4,text) int4",
        code!(|c; a: &str, p: &str, start: i32, f: &str| regexp_count(a, p, start, f, c.interrupt)),
    );
    register_substr(r);
    register_instr(r);
    r.add(
        "substring(text,text,text) text",
        code!(|c; a: &str, p: &str, escape: &str| {
            substring(a, &similar_to(p, escape_of(escape)?)?, c.interrupt)
        }),
    );
    r.add("substring(text,text) text", code!(|c; a: &str, p: &str| substring(a, p, c.interrupt)));
    r.add("similar_to_escape(text) text", code!(|p: &str| similar_to(p, Some('\\'))));
    r.add(
        "similar_to_escape(text,text) text",
        code!(|p: &str, escape: &str| similar_to(p, escape_of(escape)?)),
    );
}

fn register_substr(r: &mut Registry) {
    r.add(
        "regexp_substr(text,text) text",
        code!(|c; a: &str, p: &str| regexp_substr(a, p, FIRST, c.interrupt)),
    );
    r.add(
        "regexp_substr(text,text,int4) text",
        code!(|c; a: &str, p: &str, start: i32| regexp_substr(a, p, Wanted { start, ..FIRST }, c.interrupt)),
    );
    r.add(
        "regexp_substr(text,text,int4,int4) text",
        code!(|c; a: &str, p: &str, start: i32, n: i32| {
            regexp_substr(a, p, Wanted { start, n, ..FIRST }, c.interrupt)
        }),
    );
    r.add(
        "regexp_substr(text,text,int4,int4,text) text",
        code!(|c; a: &str, p: &str, start: i32, n: i32, flags: &str| {
            regexp_substr(a, p, Wanted { start, n, flags, ..FIRST }, c.interrupt)
        }),
    );
    r.add(
        "regexp_substr(text,text,int4,int4,text,int4) text",
        code!(|c; a: &str, p: &str, start: i32, n: i32, flags: &str, group: i32| {
            regexp_substr(a, p, Wanted { start, n, flags, group }, c.interrupt)
        }),
    );
}

fn register_instr(r: &mut Registry) {
    r.add(
        "regexp_instr(text,text) int4",
        code!(|c; a: &str, p: &str| regexp_instr(a, p, FIRST, 0, c.interrupt)),
    );
    r.add(
        "regexp_instr(text,text,int4) int4",
        code!(|c; a: &str, p: &str, start: i32| regexp_instr(a, p, Wanted { start, ..FIRST }, 0, c.interrupt)),
    );
    r.add(
        "regexp_instr(text,text,int4,int4) int4",
        code!(|c; a: &str, p: &str, start: i32, n: i32| {
            regexp_instr(a, p, Wanted { start, n, ..FIRST }, 0, c.interrupt)
        }),
    );
    r.add(
        "regexp_instr(text,text,int4,int4,int4) int4",
        code!(|c; a: &str, p: &str, start: i32, n: i32, end: i32| {
            regexp_instr(a, p, Wanted { start, n, ..FIRST }, end, c.interrupt)
        }),
    );
    r.add(
        "regexp_instr(text,text,int4,int4,int4,text) int4",
        code!(|c; a: &str, p: &str, start: i32, n: i32, end: i32, flags: &str| {
            regexp_instr(a, p, Wanted { start, n, flags, ..FIRST }, end, c.interrupt)
        }),
    );
    r.add(
        "regexp_instr(text,text,int4,int4,int4,text,int4) int4",
        code!(|c; a: &str, p: &str, start: i32, n: i32, end: i32, flags: &str, group: i32| {
            regexp_instr(a, p, Wanted { start, n, flags, group }, end, c.interrupt)
        }),
    );
}

fn split_array(call: &super::Call<'_>, args: &[Value]) -> Result<Value> {
    let text = |i: usize| args.get(i).and_then(Value::as_str).unwrap_or("");
    regexp_split(text(0), text(1), text(2), call.interrupt)
}
