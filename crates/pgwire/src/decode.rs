//! The messages of a client, read in place: strings and values are slices of the input buffer.
//!
//! A body is checked as a whole before anything of it is used, so that what is handed on needs no checks.

use crate::limits::{Limits, MAX_SMALL_BYTES};
use crate::outbox::Format;
use crate::report::{Report, Result, SqlState};

/// A message of a client.
#[derive(Debug)]
pub(crate) enum Request<'a> {
    Query(&'a str),
    Parse { name: &'a str, sql: &'a str, types: Oids<'a> },
    Bind(Bind<'a>),
    Describe { what: Target, name: &'a str },
    Execute { portal: &'a str, limit: u32 },
    Close { what: Target, name: &'a str },
    Flush,
    Sync,
    Terminate,
    CopyData,
    CopyDone,
    CopyFail(&'a str),
    FunctionCall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Statement,
    Portal,
}

/// The greatest body of a message of this type, or `None` if there is no such type.
pub(crate) fn limit(tag: u8, limits: &Limits) -> Option<usize> {
    match tag {
        b'Q' | b'P' | b'B' | b'F' | b'd' => Some(limits.message_bytes),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' => Some(MAX_SMALL_BYTES),
        _ => None,
    }
}

/// Reads a message.
///
/// # Errors
///
/// The body is not as the protocol says. The next message begins behind it all the same.
pub(crate) fn request(tag: u8, body: &[u8]) -> Result<Request<'_>> {
    let mut body = Body(body);
    let request = match tag {
        b'Q' => Request::Query(body.text()?),
        b'P' => Request::Parse { name: body.text()?, sql: body.text()?, types: Oids(body.array(4)?) },
        b'B' => Request::Bind(bind(&mut body)?),
        b'D' => Request::Describe { what: body.target("DESCRIBE")?, name: body.text()? },
        b'E' => Request::Execute {
            portal: body.text()?,
            // zero and, as in PostgreSQL, anything below mean all rows
            limit: u32::try_from(body.int()?).unwrap_or(0),
        },
        b'C' => Request::Close { what: body.target("CLOSE")?, name: body.text()? },
        b'H' => Request::Flush,
        b'S' => Request::Sync,
        b'X' => Request::Terminate,
        b'd' => {
            // used where a COPY waits for the data; dropped where the message becomes a request
            body.0 = &[];
            Request::CopyData
        }
        b'c' => Request::CopyDone,
        b'f' => Request::CopyFail(body.text()?),
        b'F' => {
            // refused, whatever it carries
            body.0 = &[];
            Request::FunctionCall
        }
        tag => return Err(Report::protocol(format!("invalid frontend message type {tag}"))),
    };
    if !body.0.is_empty() {
        return Err(Report::protocol("invalid message format"));
    }
    Ok(request)
}

/// Values for the parameters of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The portal's name.
    pub portal: &'a str,
    /// The statement's name.
    pub statement: &'a str,
    /// How each value is written.
    pub formats: Formats<'a>,
    /// The values.
    pub values: Values<'a>,
    /// How each column of the result is to be written.
    pub results: Formats<'a>,
}

impl<'a> Bind<'a> {
    /// The values, each with its format.
    pub fn iter(&self) -> impl Iterator<Item = (Format, Option<&'a [u8]>)> {
        let formats = self.formats;
        self.values.iter().enumerate().map(move |(i, value)| (formats.get(i), value))
    }
}

fn bind<'a>(body: &mut Body<'a>) -> Result<Bind<'a>> {
    let portal = body.text()?;
    let statement = body.text()?;
    let formats = body.formats()?;
    let count = body.count()?;
    if !formats.fit(count) {
        return Err(Report::protocol(format!(
            "bind message has {} parameter formats but {count} parameters",
            formats.len()
        )));
    }
    let start = body.0;
    for _ in 0..count {
        let length = body.int()?;
        // -1 is NULL, PostgreSQL takes no other negative length
        if length != -1 {
            let length = usize::try_from(length).map_err(|_| insufficient())?;
            body.take(length)?;
        }
    }
    let values = Values { bytes: &start[..start.len() - body.0.len()], count };
    Ok(Bind { portal, statement, formats, values, results: body.formats()? })
}

/// Type ids, of which 0 means that the server finds out.
#[derive(Clone, Copy, Debug)]
pub struct Oids<'a>(&'a [u8]);

impl<'a> Oids<'a> {
    /// The ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.0.chunks_exact(4).map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]))
    }
}

/// Format codes: none (all text), one for all, or one for each.
#[derive(Clone, Copy, Debug)]
pub struct Formats<'a>(&'a [u8]);

impl Formats<'_> {
    /// All text.
    pub const TEXT: Formats<'static> = Formats(&[]);

    /// How many codes there are.
    #[expect(clippy::len_without_is_empty, reason = "none means text for all, not no formats")]
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there are as many codes as `count` values allow.
    pub fn fit(&self, count: usize) -> bool {
        self.len() <= 1 || self.len() == count
    }

    /// The format of value number `i`.
    pub fn get(&self, i: usize) -> Format {
        let i = if self.len() == 1 { 0 } else { i };
        // checked to be 0 or 1
        if self.0.get(2 * i + 1) == Some(&1) { Format::Binary } else { Format::Text }
    }
}

/// Values: `count` times a length and as many bytes, checked.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Values<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values; NULL is `None`.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut body = Body(self.bytes);
        (0..self.count).map(move |_| {
            let length = body.int().ok()?;
            body.take(usize::try_from(length).ok()?).ok()
        })
    }
}

/// What is left of a body.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(insufficient)?;
        self.0 = rest;
        Ok(taken)
    }

    fn int(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A count of 16 bits: clients that send more than 32,767 parameters mean it unsigned.
    fn count(&mut self) -> Result<usize> {
        let bytes = self.take(2)?;
        Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }

    /// A count and as many things of `size` bytes.
    fn array(&mut self, size: usize) -> Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count * size)
    }

    fn formats(&mut self) -> Result<Formats<'a>> {
        let codes = self.array(2)?;
        for code in codes.chunks_exact(2) {
            if !matches!(code, [0, 0 | 1]) {
                let code = i16::from_be_bytes([code[0], code[1]]);
                let what = format!("unsupported format code: {code}");
                return Err(Report::error(SqlState::INVALID_PARAMETER_VALUE, what));
            }
        }
        Ok(Formats(codes))
    }

    /// A string up to its NUL.
    fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Report::protocol("invalid string in message"))?;
        let text = self.take(end)?;
        self.0 = &self.0[1..];
        utf8(text)
    }

    fn target(&mut self, message: &str) -> Result<Target> {
        match self.take(1)?[0] {
            b'S' => Ok(Target::Statement),
            b'P' => Ok(Target::Portal),
            other => Err(Report::protocol(format!("invalid {message} message subtype {other}"))),
        }
    }
}

/// The text, if it is UTF-8.
///
/// # Errors
///
/// PostgreSQL's: `22021` with the first bytes that are not.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let bad = &bytes[error.valid_up_to()..];
        let bad = &bad[..error.error_len().unwrap_or(bad.len()).min(bad.len())];
        let hex: Vec<String> = bad.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let what = format!("invalid byte sequence for encoding \"UTF8\": {}", hex.join(" "));
        Report::error(SqlState::CHARACTER_NOT_IN_REPERTOIRE, what)
    })
}

fn insufficient() -> Box<Report> {
    Report::protocol("insufficient data left in message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(tag: u8, body: &[u8]) -> String {
        request(tag, body).map(|_| ()).unwrap_err().code.as_str().to_owned()
    }

    #[test]
    fn a_bind_is_read_in_place() {
        let body = b"p\0s\0\0\x01\0\x01\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0\0\x02\0\0\0\x01";
        let Request::Bind(bind) = request(b'B', body).unwrap() else { panic!() };
        assert_eq!((bind.portal, bind.statement), ("p", "s"));
        let values: Vec<_> = bind.iter().collect();
        let all = Format::Binary;
        assert_eq!(values, [(all, Some(&b"ab"[..])), (all, None), (all, Some(&b""[..]))]);
        assert_eq!((bind.results.get(0), bind.results.get(1)), (Format::Text, Format::Binary));
    }

    #[test]
    fn counts_and_lengths_that_do_not_fit_are_refused() {
        assert_eq!(code(b'B', b"\0\0\0\x02\0\0\0\0\0\x01\0\0\0\0\0\0"), "08P01"); // two formats, one value
        assert_eq!(code(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"), "08P01"); // a length of -2
        assert_eq!(code(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xffa\0\0"), "08P01"); // a length beyond the message
        assert_eq!(code(b'B', b"\0\0\xff\xff"), "08P01"); // formats beyond the message
        assert_eq!(code(b'B', b"\0\0\0\x01\0\x02\0\0\0\0"), "22023"); // format 2
        assert_eq!(code(b'P', b"\0select\0\0\x02\0\0\0\0"), "08P01"); // two types, one there
        assert_eq!(code(b'E', b"\0\0\0"), "08P01");
        assert_eq!(code(b'D', b"Xa\0"), "08P01");
        assert_eq!(code(b'S', b"x"), "08P01");
    }

    #[test]
    fn strings_end_once_and_are_utf8() {
        assert_eq!(code(b'Q', b"select"), "08P01");
        assert_eq!(code(b'Q', b"a\0b\0"), "08P01");
        assert_eq!(code(b'Q', b""), "08P01");
        assert_eq!(code(b'Q', b"\xc3\x28\0"), "22021");
        assert_eq!(code(b'Q', b"a\xe2\x82\0"), "22021");
    }

    #[test]
    fn no_prefix_of_a_message_panics() {
        let bind = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\x01\0\0";
        let parse = b"name\0select $1\0\0\x01\0\0\0\x17";
        for (tag, body) in [(b'B', &bind[..]), (b'P', &parse[..])] {
            assert!(request(tag, body).is_ok());
            for end in 0..body.len() {
                assert!(request(tag, &body[..end]).is_err(), "{end}");
            }
        }
    }
}
