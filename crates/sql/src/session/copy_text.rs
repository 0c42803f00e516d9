//! The formats of COPY: text, csv, binary.

use crate::api::Column;
use scaledb_parse::copy::{Copy, CopyFormat};
use scaledb_planner::bind::expr::is_named;
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// A row in a COPY has at most this many bytes.
const MAX_ROW: usize = 64 << 20;
/// Characters of the data that an error shows.
const MAX_SHOWN: usize = 100;

fn bad(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message.into())
}

/// A value from its text; the names of things stay texts, for the catalog knows what they mean.
fn read(text: &str, ty: Type, env: &Env) -> Result<Value> {
    if is_named(ty) { Ok(Value::text(text)) } else { Value::parse(text, ty, env) }
}

/// What says that no more rows come.
const END_MARK: &[u8] = b"\\.";

/// Where it stands in a line of a text, in which backslashes escape each other.
fn end_mark(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += line.get(at..)?.iter().position(|&b| b == END_MARK[0])?;
        if line.get(at + 1) == Some(&END_MARK[1]) {
            return Some(at);
        }
        at += 2;
    }
}

/// Rows out of data that arrives in pieces.
pub(super) struct Decoder {
    format: CopyFormat,
    delimiter: u8,
    null: String,
    header: bool,
    matches: bool,
    quote: u8,
    escape: u8,
    force_not_null: Vec<bool>,
    force_null: Vec<bool>,
    buffer: Vec<u8>,
    at: usize,
    /// What a row was scanned up to, and whether, in csv, within quotes.
    scanned: usize,
    quoted: bool,
    started: bool,
    ended: bool,
    column: Option<usize>,
    field: Vec<u8>,
    names: Vec<String>,
    /// The row at hand, and the number of its line.
    row: std::ops::Range<usize>,
    line: u64,
}

/// Where a decoder stands, to read the same rows again.
pub(super) struct Mark {
    at: usize,
    scanned: usize,
    quoted: bool,
    started: bool,
    ended: bool,
    line: u64,
}

impl Decoder {
    pub(super) fn new(
        copy: &Copy,
        names: Vec<String>,
        force_not_null: Vec<bool>,
        force_null: Vec<bool>,
    ) -> Self {
        Self {
            format: copy.format,
            delimiter: copy.delimiter,
            null: copy.null.clone(),
            header: copy.header,
            matches: copy.matches,
            quote: copy.quote,
            escape: copy.escape,
            force_not_null,
            force_null,
            buffer: Vec::new(),
            at: 0,
            scanned: 0,
            quoted: false,
            started: false,
            ended: false,
            column: None,
            field: Vec::new(),
            names,
            row: 0..0,
            line: 0,
        }
    }

    /// Where the row at hand is, for an error about it: with the value if it is about one, or with the whole row.
    #[cold]
    pub(super) fn place(&self, table: &str, whole: bool) -> String {
        let mut place = format!("COPY {table}, line {}", self.line);
        let content = match self.column.and_then(|at| self.names.get(at)) {
            Some(name) => {
                place.push_str(&format!(", column {name}"));
                self.field.as_slice()
            }
            None if whole => &self.buffer[self.row.clone()],
            None => return place,
        };
        if self.format != CopyFormat::Binary {
            let text = String::from_utf8_lossy(content);
            let mut shown: String = text.chars().take(MAX_SHOWN).collect();
            if shown.len() < text.len() {
                shown.push_str("...");
            }
            place.push_str(&format!(": \"{shown}\""));
        }
        place
    }

    /// Adds data.
    pub(super) fn feed(&mut self, data: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.scanned -= self.at.min(self.scanned);
            self.at = 0;
        }
        self.buffer.extend_from_slice(data);
    }

    /// Where it stands. Good until more data comes.
    pub(super) fn mark(&self) -> Mark {
        let &Self { at, scanned, quoted, started, ended, line, .. } = self;
        Mark { at, scanned, quoted, started, ended, line }
    }

    /// Goes back.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        let &Mark { at, scanned, quoted, started, ended, line } = mark;
        (self.at, self.scanned, self.line) = (at, scanned, line);
        (self.quoted, self.started, self.ended) = (quoted, started, ended);
    }

    /// Bytes that wait for the rest of their row.
    pub(super) fn buffered(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// The next row, if it is complete. `end` says that no more data comes.
    pub(super) fn row(&mut self, types: &[Type], env: &Env, end: bool, out: &mut Vec<Value>) -> Result<bool> {
        self.column = None;
        // the one before is past, and may have left the buffer
        self.row = self.at..self.at;
        if self.ended {
            return Ok(false);
        }
        if self.buffer.len() - self.at > MAX_ROW && !end {
            return Err(bad(format!("a row of COPY has more than {MAX_ROW} bytes")));
        }
        match self.format {
            CopyFormat::Binary => self.binary_row(types, end, out),
            CopyFormat::Text => self.text_row(types, env, end, out),
            CopyFormat::Csv => self.csv_row(types, env, end, out),
        }
    }

    /// The next line without its end.
    fn line(&mut self, end: bool) -> Option<std::ops::Range<usize>> {
        // what was looked at before is not looked at again: a line may come in many pieces
        let from = self.scanned.max(self.at);
        let found = self.buffer[from..].iter().position(|&b| b == b'\n').map(|ahead| from + ahead - self.at);
        self.scanned = self.buffer.len();
        let length = match found {
            Some(length) => length,
            None if end && self.at < self.buffer.len() => self.buffer.len() - self.at,
            None => return None,
        };
        self.scanned = 0;
        let start = self.at;
        self.line += 1;
        self.at += length + usize::from(found.is_some());
        let mut stop = start + length;
        if stop > start && self.buffer[stop - 1] == b'\r' {
            stop -= 1;
        }
        Some(start..stop)
    }

    fn text_row(&mut self, types: &[Type], env: &Env, end: bool, out: &mut Vec<Value>) -> Result<bool> {
        if self.header && !self.started {
            let Some(line) = self.line(end) else { return Ok(false) };
            self.started = true;
            if self.matches {
                self.row = line.clone();
                let types = vec![Type::TEXT; self.fields_of(&line)];
                let mut names = Vec::new();
                self.text_fields(line, &types, env, &mut names)?;
                self.check_header(&names)?;
            }
        }
        let Some(mut line) = self.line(end) else { return Ok(false) };
        self.row = line.clone();
        // the mark of the end may stand behind a last row
        if let Some(length) = end_mark(&self.buffer[line.clone()]) {
            if line.start + length + END_MARK.len() != line.end {
                return Err(bad("end-of-copy marker corrupt"));
            }
            self.ended = true;
            if length == 0 {
                return Ok(false);
            }
            line.end = line.start + length;
            self.row = line.clone();
        }
        self.text_fields(line, types, env, out)
    }

    fn text_fields(
        &mut self,
        line: std::ops::Range<usize>,
        types: &[Type],
        env: &Env,
        out: &mut Vec<Value>,
    ) -> Result<bool> {
        let mut at = line.start;
        for (number, &ty) in types.iter().enumerate() {
            self.column = Some(number);
            if at > line.end {
                return Err(self.missing(number));
            }
            let mut stop = at;
            while stop < line.end && self.buffer[stop] != self.delimiter {
                stop += if self.buffer[stop] == b'\\' { 2 } else { 1 };
            }
            let stop = stop.min(line.end);
            let raw = &self.buffer[at..stop];
            if raw == self.null.as_bytes() {
                out.push(Value::Null);
            } else {
                unescape(raw, &mut self.field);
                out.push(read(scaledb_types::utf8(&self.field)?, ty, env)?);
            }
            at = stop + 1;
        }
        self.column = None;
        if at <= line.end {
            return Err(bad("extra data after last expected column"));
        }
        Ok(true)
    }

    fn csv_row(&mut self, types: &[Type], env: &Env, end: bool, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            let Some(line) = self.csv_line(end)? else { return Ok(false) };
            if self.header && !self.started {
                self.started = true;
                if self.matches {
                    self.row = line.clone();
                    let types = vec![Type::TEXT; self.fields_of(&line)];
                    let (mut names, forced) = (Vec::new(), std::mem::take(&mut self.force_not_null));
                    let force_null = std::mem::take(&mut self.force_null);
                    self.force_not_null = vec![false; types.len()];
                    self.force_null = vec![false; types.len()];
                    self.csv_fields(line, &types, env, &mut names)?;
                    (self.force_not_null, self.force_null) = (forced, force_null);
                    self.check_header(&names)?;
                }
                continue;
            }
            self.started = true;
            if &self.buffer[line.clone()] == END_MARK {
                self.ended = true;
                return Ok(false);
            }
            self.row = line.clone();
            return self.csv_fields(line, types, env, out);
        }
    }

    /// The next csv row: lines within quotes belong together.
    fn csv_line(&mut self, end: bool) -> Result<Option<std::ops::Range<usize>>> {
        let start = self.at;
        let mut at = self.scanned.max(start);
        while at < self.buffer.len() {
            let b = self.buffer[at];
            if self.quoted && b == self.escape && self.escape != self.quote {
                at += 2;
                continue;
            }
            if b == b'\n' {
                self.line += 1;
            }
            if b == self.quote {
                self.quoted = !self.quoted;
            } else if b == b'\n' && !self.quoted {
                self.at = at + 1;
                self.scanned = at + 1;
                let stop = if at > start && self.buffer[at - 1] == b'\r' { at - 1 } else { at };
                return Ok(Some(start..stop));
            }
            at += 1;
        }
        self.scanned = at;
        if !end || start >= self.buffer.len() {
            return Ok(None);
        }
        if self.quoted {
            return Err(bad("unterminated CSV quoted field"));
        }
        self.at = self.buffer.len();
        self.line += 1;
        Ok(Some(start..self.buffer.len()))
    }

    /// How many fields a line has.
    fn fields_of(&self, line: &std::ops::Range<usize>) -> usize {
        let csv = self.format == CopyFormat::Csv;
        let (mut fields, mut at, mut inside) = (1, line.start, false);
        while at < line.end {
            match self.buffer[at] {
                b if csv && inside && b == self.escape && self.escape != self.quote => at += 1,
                b if csv && b == self.quote => inside = !inside,
                b if b == self.delimiter && !inside => fields += 1,
                b'\\' if !csv => at += 1,
                _ => {}
            }
            at += 1;
        }
        fields
    }

    /// # Errors
    /// 22P04 unless the header has the names of the columns.
    fn check_header(&self, names: &[Value]) -> Result<()> {
        if names.len() != self.names.len() {
            let (given, wanted) = (names.len(), self.names.len());
            let what =
                format!("wrong number of fields in header line: field count is {given}, expected {wanted}");
            return Err(bad(what));
        }
        for (number, (given, wanted)) in names.iter().zip(&self.names).enumerate() {
            let got = match given.as_str() {
                Some(name) if name == wanted => continue,
                Some(name) => format!("\"{name}\""),
                None => format!("null value (\"{}\")", self.null),
            };
            let field = number + 1;
            let what = format!(
                "column name mismatch in header line field {field}: got {got}, expected \"{wanted}\""
            );
            return Err(bad(what));
        }
        Ok(())
    }

    /// A row with too few columns.
    #[cold]
    fn missing(&mut self, number: usize) -> SqlError {
        self.column = None;
        bad(format!("missing data for column \"{}\"", self.names[number]))
    }

    fn csv_fields(
        &mut self,
        line: std::ops::Range<usize>,
        types: &[Type],
        env: &Env,
        out: &mut Vec<Value>,
    ) -> Result<bool> {
        let mut at = line.start;
        let mut more = true;
        for (number, &ty) in types.iter().enumerate() {
            self.column = Some(number);
            if !more {
                return Err(self.missing(number));
            }
            self.field.clear();
            let mut was_quoted = false;
            let mut inside = false;
            more = false;
            while at < line.end {
                let b = self.buffer[at];
                let following = self.buffer.get(at + 1).copied().filter(|_| at + 1 < line.end);
                if inside {
                    if b == self.escape
                        && following.is_some_and(|next| next == self.quote || next == self.escape)
                    {
                        self.field.extend(following);
                        at += 2;
                        continue;
                    }
                    if b == self.quote {
                        inside = false;
                    } else {
                        self.field.push(b);
                    }
                } else if b == self.quote {
                    inside = true;
                    was_quoted = true;
                } else if b == self.delimiter {
                    more = true;
                    at += 1;
                    break;
                } else {
                    self.field.push(b);
                }
                at += 1;
            }
            let is_null = self.field == self.null.as_bytes()
                && (!was_quoted && !self.force_not_null[number] || was_quoted && self.force_null[number]);
            if is_null {
                out.push(Value::Null);
            } else {
                out.push(read(scaledb_types::utf8(&self.field)?, ty, env)?);
            }
        }
        self.column = None;
        if more {
            return Err(bad("extra data after last expected column"));
        }
        Ok(true)
    }

    fn binary_row(&mut self, types: &[Type], end: bool, out: &mut Vec<Value>) -> Result<bool> {
        if !self.started {
            let Some(header) = self.buffer.get(self.at..self.at + 19) else {
                return if end { Err(bad("COPY file signature not recognized")) } else { Ok(false) };
            };
            if &header[..11] != SIGNATURE {
                return Err(bad("COPY file signature not recognized"));
            }
            let flags = u32::from_be_bytes([header[11], header[12], header[13], header[14]]);
            if flags >> 16 != 0 {
                return Err(bad("unrecognized critical flags in COPY file header"));
            }
            let extension = u32::from_be_bytes([header[15], header[16], header[17], header[18]]) as usize;
            if self.buffer.len() < self.at + 19 + extension {
                return if end { Err(bad("invalid COPY file header")) } else { Ok(false) };
            }
            self.at += 19 + extension;
            self.started = true;
        }
        let mut at = self.at;
        // the end of the data ends the rows, too: not every client sends the trailer
        let Some(count) = self.bytes::<2>(&mut at).map(i16::from_be_bytes) else {
            let part = end && at < self.buffer.len();
            return if part { Err(bad("unexpected EOF in COPY data")) } else { Ok(false) };
        };
        if count == -1 {
            self.ended = true;
            return Ok(false);
        }
        if usize::try_from(count) != Ok(types.len()) {
            return Err(bad(format!("row field count is {count}, expected {}", types.len())));
        }
        let mut places = Vec::with_capacity(types.len());
        for _ in types {
            let Some(length) = self.bytes::<4>(&mut at).map(i32::from_be_bytes) else {
                return if end { Err(bad("unexpected EOF in COPY data")) } else { Ok(false) };
            };
            let Ok(length) = usize::try_from(length) else {
                if length != -1 {
                    return Err(bad("invalid field size"));
                }
                places.push(None);
                continue;
            };
            if at + length > self.buffer.len() {
                return if end { Err(bad("unexpected EOF in COPY data")) } else { Ok(false) };
            }
            places.push(Some(at..at + length));
            at += length;
        }
        self.line += 1;
        for (number, (place, &ty)) in places.into_iter().zip(types).enumerate() {
            self.column = Some(number);
            out.push(match place {
                None => Value::Null,
                Some(place) => Value::from_binary(&self.buffer[place], ty)?,
            });
        }
        self.column = None;
        self.at = at;
        Ok(true)
    }

    fn bytes<const N: usize>(&self, at: &mut usize) -> Option<[u8; N]> {
        let bytes = self.buffer.get(*at..*at + N)?.try_into().ok()?;
        *at += N;
        Some(bytes)
    }
}

/// The content of a field in the text format.
fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut at = 0;
    while at < raw.len() {
        if raw[at] != b'\\' || at + 1 == raw.len() {
            out.push(raw[at]);
            at += 1;
            continue;
        }
        let code = raw[at + 1];
        at += 2;
        match code {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let mut value = u32::from(code - b'0');
                let mut digits = 1;
                while digits < 3 && at < raw.len() && (b'0'..=b'7').contains(&raw[at]) {
                    value = value * 8 + u32::from(raw[at] - b'0');
                    at += 1;
                    digits += 1;
                }
                out.push(value as u8);
            }
            b'x' if raw.get(at).is_some_and(u8::is_ascii_hexdigit) => {
                let mut value = 0;
                let mut digits = 0;
                while digits < 2
                    && let Some(digit) = raw.get(at).and_then(|&b| char::from(b).to_digit(16))
                {
                    value = value * 16 + digit;
                    at += 1;
                    digits += 1;
                }
                out.push(value as u8);
            }
            other => out.push(other),
        }
    }
}

/// Data out of rows.
pub(super) struct Encoder {
    format: CopyFormat,
    delimiter: u8,
    null: String,
    header: bool,
    quote: u8,
    escape: u8,
    force_quote: Vec<bool>,
    text: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(copy: &Copy, force_quote: Vec<bool>) -> Self {
        Self {
            format: copy.format,
            delimiter: copy.delimiter,
            null: copy.null.clone(),
            header: copy.header,
            quote: copy.quote,
            escape: copy.escape,
            force_quote,
            text: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, columns: &[Column], out: &mut Vec<u8>) {
        match self.format {
            CopyFormat::Binary => {
                out.extend_from_slice(SIGNATURE);
                out.extend_from_slice(&[0; 8]);
            }
            _ if self.header => {
                for (number, column) in columns.iter().enumerate() {
                    if number > 0 {
                        out.push(self.delimiter);
                    }
                    self.text.clear();
                    self.text.extend_from_slice(column.name.as_bytes());
                    self.write_text(false, out);
                }
                out.push(b'\n');
            }
            _ => {}
        }
    }

    pub(super) fn is_binary(&self) -> bool {
        self.format == CopyFormat::Binary
    }

    pub(super) fn begin_row(&mut self, columns: usize, out: &mut Vec<u8>) {
        if self.format == CopyFormat::Binary {
            out.extend_from_slice(&(columns as i16).to_be_bytes());
        }
    }

    pub(super) fn value(&mut self, at: usize, env: &Env, ty: Type, value: &Value, out: &mut Vec<u8>) {
        if self.format == CopyFormat::Binary {
            if value.is_null() {
                out.extend_from_slice(&(-1i32).to_be_bytes());
                return;
            }
            let place = out.len();
            out.extend_from_slice(&[0; 4]);
            value.write_binary(ty, out);
            let length = (out.len() - place - 4) as i32;
            out[place..place + 4].copy_from_slice(&length.to_be_bytes());
            return;
        }
        if at > 0 {
            out.push(self.delimiter);
        }
        if value.is_null() {
            out.extend_from_slice(self.null.as_bytes());
            return;
        }
        self.text.clear();
        value.write_text(ty, env, &mut self.text);
        self.write_text(self.force_quote.get(at).copied().unwrap_or(false), out);
    }

    /// Writes the field that `text` holds.
    fn write_text(&self, force: bool, out: &mut Vec<u8>) {
        if self.format == CopyFormat::Csv {
            let special = |b: &u8| *b == self.delimiter || *b == self.quote || *b == b'\n' || *b == b'\r';
            let quote = force
                || self.text == self.null.as_bytes()
                || self.text == b"\\."
                || self.text.iter().any(special);
            if !quote {
                out.extend_from_slice(&self.text);
                return;
            }
            out.push(self.quote);
            for &b in &self.text {
                if b == self.quote || b == self.escape {
                    out.push(self.escape);
                }
                out.push(b);
            }
            out.push(self.quote);
            return;
        }
        for &b in &self.text {
            match b {
                8 => out.extend_from_slice(b"\\b"),
                12 => out.extend_from_slice(b"\\f"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                11 => out.extend_from_slice(b"\\v"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b if b == self.delimiter => out.extend_from_slice(&[b'\\', b]),
                b => out.push(b),
            }
        }
    }

    pub(super) fn end_row(&mut self, out: &mut Vec<u8>) {
        if self.format != CopyFormat::Binary {
            out.push(b'\n');
        }
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.format == CopyFormat::Binary {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }
}
