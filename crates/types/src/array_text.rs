//! Arrays as text: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`, and `1 2` for int2vector.

use crate::array::{Array, Dimension, MAX_DIMENSIONS, MAX_ELEMENTS};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::{is_space, trim};
use crate::ty::Type;
use crate::value::Value;
use std::sync::Arc;

fn malformed(text: &str, detail: &str) -> SqlError {
    let message = format!("malformed array literal: \"{text}\"");
    SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
}

/// Reads an array from the front of a text.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    element: Type,
    env: &'a Env,
    values: Vec<Value>,
    /// Lengths of the dimensions found so far: none where nothing was found yet.
    lens: Vec<Option<i32>>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn bad(&self, detail: &str) -> SqlError {
        malformed(self.text, detail)
    }

    #[cold]
    fn unexpected(&self) -> SqlError {
        match self.text[self.at..].chars().next() {
            None => self.bad("Unexpected end of input."),
            Some('{') => self.bad("Unexpected \"{\" character."),
            Some(c @ ('}' | ',')) => self.bad(&format!("Unexpected \"{c}\" character.")),
            Some(_) => self.bad("Unexpected array element."),
        }
    }

    /// `{...}` from its brace on; `depth` counts those around it.
    fn braces(&mut self, depth: usize) -> Result<()> {
        if depth >= MAX_DIMENSIONS {
            return Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "number of array dimensions ({}) exceeds the maximum allowed ({MAX_DIMENSIONS})",
                    depth + 1
                ),
            ));
        }
        self.at += 1;
        if self.lens.len() == depth {
            self.lens.push(None);
        }
        let mut count = 0_i32;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            if depth > 0 {
                return Err(self.unexpected());
            }
            self.at += 1;
        } else {
            loop {
                self.skip_blanks();
                match self.peek() {
                    None | Some(b',' | b'}') => return Err(self.unexpected()),
                    Some(b'{') => {
                        let has_values = self.lens.len() == depth + 1 && count > 0;
                        if has_values {
                            return Err(self.unexpected());
                        }
                        self.braces(depth + 1)?;
                    }
                    Some(_) => {
                        if self.lens.len() > depth + 1 {
                            return Err(self.bad(
                                "Multidimensional arrays must have sub-arrays with matching dimensions.",
                            ));
                        }
                        self.element()?;
                    }
                }
                count += 1;
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.unexpected()),
                }
            }
        }
        match self.lens[depth] {
            None => self.lens[depth] = Some(count),
            Some(len) if len == count => {}
            Some(_) => {
                return Err(
                    self.bad("Multidimensional arrays must have sub-arrays with matching dimensions.")
                );
            }
        }
        Ok(())
    }

    fn element(&mut self) -> Result<()> {
        if self.values.len() >= MAX_ELEMENTS {
            let message = format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let quoted = self.peek() == Some(b'"');
        let mut escaped = false;
        let mut out = String::new();
        if quoted {
            self.at += 1;
            loop {
                let Some(c) = self.text[self.at..].chars().next() else { return Err(self.unexpected()) };
                self.at += c.len_utf8();
                match c {
                    '"' => break,
                    '\\' => {
                        let c = self.text[self.at..].chars().next().ok_or_else(|| self.unexpected())?;
                        self.at += c.len_utf8();
                        out.push(c);
                    }
                    c => out.push(c),
                }
            }
            self.skip_blanks();
            if !matches!(self.peek(), None | Some(b',' | b'}')) {
                return Err(match self.peek() {
                    Some(b'{') => self.unexpected(),
                    _ => self.bad("Unexpected array element."),
                });
            }
        } else {
            // blanks at the end do not count, unless they are escaped
            let mut kept = 0;
            while let Some(c) = self.text[self.at..].chars().next() {
                match c {
                    ',' | '}' => break,
                    '{' => return Err(self.bad("Unexpected \"{\" character.")),
                    '"' => return Err(self.bad("Unexpected array element.")),
                    '\\' => {
                        self.at += 1;
                        let c = self.text[self.at..].chars().next().ok_or_else(|| self.unexpected())?;
                        self.at += c.len_utf8();
                        out.push(c);
                        kept = out.len();
                        escaped = true;
                    }
                    c => {
                        self.at += c.len_utf8();
                        out.push(c);
                        if !(c.is_ascii() && is_space(c as u8)) {
                            kept = out.len();
                        }
                    }
                }
            }
            out.truncate(kept);
        }
        self.values.push(if !quoted && !escaped && out.eq_ignore_ascii_case("null") {
            Value::Null
        } else {
            Value::parse(&out, self.element, self.env)?
        });
        Ok(())
    }

    /// `[1:2][3:4]=`
    fn bounds(&mut self) -> Result<Option<Vec<Dimension>>> {
        let mut dims = Vec::new();
        self.skip_blanks();
        while self.peek() == Some(b'[') {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            let end = self.text[self.at..]
                .find(']')
                .ok_or_else(|| self.bad("Missing \"]\" after array dimensions."))?;
            let inner = &self.text[self.at + 1..self.at + end];
            let (lower, upper) = inner.split_once(':').unwrap_or(("1", inner));
            let parse = |text: &str| text.trim().parse::<i32>().map_err(|_| self.bad(detail));
            let (lower, upper) = (parse(lower)?, parse(upper)?);
            if upper < lower {
                let message = "upper bound cannot be less than lower bound";
                return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
            }
            let len = upper.checked_sub(lower).and_then(|len| len.checked_add(1));
            let len = len.ok_or_else(|| {
                let message = format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})");
                SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            })?;
            dims.push(Dimension { len, lower });
            self.at += end + 1;
            self.skip_blanks();
        }
        if dims.is_empty() {
            return Ok(None);
        }
        if self.peek() != Some(b'=') {
            return Err(self.bad("Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        self.skip_blanks();
        if self.peek() != Some(b'{') {
            return Err(self.bad("Array contents must start with \"{\"."));
        }
        Ok(Some(dims))
    }
}

/// The array of a text.
pub(crate) fn parse(text: &str, ty: Type, env: &Env) -> Result<Value> {
    let element = ty.element().ok_or_else(|| SqlError::internal("not an array type"))?;
    let mut parser = Parser { text, at: 0, element, env, values: Vec::new(), lens: Vec::new() };
    let bounds = parser.bounds()?;
    if parser.peek() != Some(b'{') {
        return Err(parser.bad("Array value must start with \"{\" or dimension information."));
    }
    parser.braces(0)?;
    parser.skip_blanks();
    if parser.at != text.len() {
        return Err(parser.bad("Junk after closing right brace."));
    }
    let found: Vec<i32> = parser.lens.iter().map(|len| len.unwrap_or(0)).collect();
    let dims = match bounds {
        Some(dims) if !dims.iter().map(|dim| dim.len).eq(found.iter().copied()) => {
            return Err(parser.bad("Specified array dimensions do not match array contents."));
        }
        Some(dims) => dims,
        None => found.iter().map(|len| Dimension { len: *len, lower: 1 }).collect(),
    };
    Ok(Value::Array(Arc::new(Array::with_dimensions(element, dims, parser.values)?)))
}

/// Appends an array.
pub(crate) fn write(array: &Array, env: &Env, out: &mut Vec<u8>) {
    if array.dimensions().is_empty() {
        out.extend_from_slice(b"{}");
        return;
    }
    if array.dimensions().iter().any(|dim| dim.lower != 1) {
        for dim in array.dimensions() {
            let upper = i64::from(dim.lower) + i64::from(dim.len) - 1;
            out.extend_from_slice(format!("[{}:{upper}]", dim.lower).as_bytes());
        }
        out.push(b'=');
    }
    let mut values = array.values();
    write_level(array, 0, &mut values, env, out);
}

fn write_level(array: &Array, depth: usize, values: &mut &[Value], env: &Env, out: &mut Vec<u8>) {
    out.push(b'{');
    for i in 0..array.dimensions()[depth].len {
        if i > 0 {
            out.push(b',');
        }
        if depth + 1 < array.dimensions().len() {
            write_level(array, depth + 1, values, env, out);
        } else if let Some((value, rest)) = values.split_first() {
            *values = rest;
            write_element(value, array.element(), env, out);
        }
    }
    out.push(b'}');
}

fn write_element(value: &Value, element: Type, env: &Env, out: &mut Vec<u8>) {
    if value.is_null() {
        out.extend_from_slice(b"NULL");
        return;
    }
    let at = out.len();
    value.write_text(element, env, out);
    let text = &out[at..];
    let quote = text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|b| is_space(*b) || matches!(b, b'"' | b'\\' | b'{' | b'}' | b','));
    if quote {
        let text = text.to_vec();
        out.truncate(at);
        out.push(b'"');
        for byte in text {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
}

/// The int2vector or oidvector of a text: numbers and blanks.
pub(crate) fn parse_vector(text: &str, ty: Type) -> Result<Value> {
    let element = ty.element().ok_or_else(|| SqlError::internal("not a vector type"))?;
    let env = Env::default();
    let words = trim(text).split_ascii_whitespace();
    let values = words.map(|word| Value::parse(word, element, &env)).collect::<Result<Vec<_>>>()?;
    Ok(vector(element, values))
}

/// An int2vector or oidvector: an array from 0.
pub(crate) fn vector(element: Type, values: Vec<Value>) -> Value {
    let dims = vec![Dimension { len: values.len() as i32, lower: 0 }];
    let array = Array::with_dimensions(element, dims, values);
    Value::Array(Arc::new(array.unwrap_or_else(|_| Array::new(element, Vec::new()))))
}

/// Appends an int2vector or oidvector.
pub(crate) fn write_vector(array: &Array, env: &Env, out: &mut Vec<u8>) {
    for (i, value) in array.values().iter().enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        value.write_text(array.element(), env, out);
    }
}
