//! What is in a message. What a server sends is read with bounds: a message that is cut off is an error.

use scaledb_pgwire::{Report, Severity, SqlState};
use std::io;

/// Appends a message; its length counts itself, not the tag.
pub fn write<R>(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    result
}

/// Appends a simple query; it ends at the first zero byte.
pub fn query(out: &mut Vec<u8>, sql: &str) {
    write(out, b'Q', |out| text(out, sql));
}

/// Appends a text and the zero byte behind it.
pub fn text(out: &mut Vec<u8>, value: &str) {
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

#[cold]
fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message is cut off")
}

/// Splits off the first bytes.
///
/// # Errors
/// The message has fewer bytes.
pub fn take<const N: usize>(body: &mut &[u8]) -> io::Result<[u8; N]> {
    let (first, rest) = body.split_first_chunk().ok_or_else(cut)?;
    *body = rest;
    Ok(*first)
}

/// Splits off a text that a zero byte ends.
///
/// # Errors
/// None does.
pub fn take_text<'a>(body: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let end = body.iter().position(|&byte| byte == 0).ok_or_else(cut)?;
    let (value, rest) = body.split_at(end);
    *body = &rest[1..];
    Ok(value)
}

/// The values of a DataRow: a count, then each value behind its length, -1 for NULL. Returns the count.
///
/// # Errors
/// The row is cut off; or of `value`.
pub fn row<'a>(
    mut body: &'a [u8],
    begin: impl FnOnce(usize),
    mut value: impl FnMut(Option<&'a [u8]>),
) -> io::Result<()> {
    let count = usize::from(u16::from_be_bytes(take(&mut body)?));
    begin(count);
    for _ in 0..count {
        let length = usize::try_from(i32::from_be_bytes(take(&mut body)?)).ok();
        let (bytes, rest) = body.split_at_checked(length.unwrap_or(0)).ok_or_else(cut)?;
        value(length.map(|_| bytes));
        body = rest;
    }
    Ok(())
}

/// The names and the types' oids of a RowDescription's columns.
///
/// # Errors
/// The message is cut off.
pub fn columns(mut body: &[u8]) -> io::Result<Vec<(String, u32)>> {
    let count = u16::from_be_bytes(take(&mut body)?);
    let mut columns = Vec::new();
    for _ in 0..count {
        let name = String::from_utf8_lossy(take_text(&mut body)?).into_owned();
        // table, column; type; size, modifier, format
        take::<6>(&mut body)?;
        columns.push((name, u32::from_be_bytes(take(&mut body)?)));
        take::<8>(&mut body)?;
    }
    Ok(columns)
}

/// The fields of an ErrorResponse or a NoticeResponse. What is unknown or cut off is passed over.
pub fn report(mut body: &[u8]) -> Box<Report> {
    let mut report = Report::error(SqlState::INTERNAL_ERROR, "");
    while let Ok([name]) = take(&mut body)
        && let Ok(value) = take_text(&mut body)
    {
        let value = String::from_utf8_lossy(value).into_owned();
        match name {
            b'V' => report.severity = Severity::parse(&value).unwrap_or(report.severity),
            b'C' => report.code = value.as_bytes().try_into().map_or(report.code, SqlState::new),
            b'M' => report.message = value.into(),
            b'D' => report.detail = Some(value),
            b'H' => report.hint = Some(value),
            b'P' => report.position = value.parse().ok(),
            b'W' => report.context = Some(value),
            b's' => report.schema = Some(value),
            b't' => report.table = Some(value),
            b'c' => report.column = Some(value),
            b'd' => report.data_type = Some(value),
            b'n' => report.constraint = Some(value),
            _ => {}
        }
    }
    report
}

/// The number at the end of a CommandComplete's tag: `INSERT 0 1`, `SELECT 12`, `BEGIN`.
pub fn affected(body: &[u8]) -> u64 {
    let digits = body.iter().rev().skip(1).take_while(|byte| byte.is_ascii_digit());
    digits
        .fold((0, 1_u64), |(sum, place), digit| {
            (place.wrapping_mul(u64::from(digit - b'0')).wrapping_add(sum), place.wrapping_mul(10))
        })
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_end_in_the_number_of_rows() {
        for (tag, rows) in
            [("INSERT 0 1\0", 1), ("SELECT 120\0", 120), ("BEGIN\0", 0), ("UPDATE 0\0", 0), ("", 0)]
        {
            assert_eq!(affected(tag.as_bytes()), rows, "{tag}");
        }
        affected(&[b'9'; 40]);
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let body = [&[0, 2][..], &[0, 0, 0, 1, 7], &[0xFF; 4]].concat();
        let mut values = Vec::new();
        row(&body, |count| assert_eq!(count, 2), |value| values.push(value)).unwrap();
        assert_eq!(values, [Some(&[7][..]), None]);
        for length in 0..body.len() {
            assert!(row(&body[..length], |_| (), |_| ()).is_err(), "{length}");
        }
    }

    #[test]
    fn columns_have_names_and_types() {
        let column = [&b"n\0"[..], &[0; 6], &23_u32.to_be_bytes(), &[0; 8]].concat();
        let body = [&[0, 1][..], &column].concat();
        assert_eq!(columns(&body).unwrap(), [("n".to_owned(), 23)]);
        for length in 0..body.len() {
            assert!(columns(&body[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn errors_are_told_by_their_fields() {
        let body = b"SFEHLER\0VFATAL\0C40001\0Mcould not serialize\0DIn table \"t\"\0P7\0\0";
        let report = report(body);
        assert_eq!((report.severity, report.code), (Severity::Fatal, SqlState::SERIALIZATION_FAILURE));
        assert_eq!((&*report.message, report.position), ("could not serialize", Some(7)));
        assert_eq!(report.detail.as_deref(), Some("In table \"t\""));
        for length in 0..body.len() {
            super::report(&body[..length]);
        }
    }
}
