//! Time zones in texts: offsets and names.

use super::bad::{Bad, Parsed};
use super::fields::int;
use crate::zone::{self, Zone};

/// `+02`, `-0330`, `+05:30:15`, in seconds east.
pub(crate) fn parse_offset(text: &str) -> Parsed<i32> {
    let (sign, body) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return Err(Bad::Format),
    };
    let mut parts = body.split(':');
    let first = parts.next().unwrap_or("");
    let mut hours = int(first)?;
    let mut minutes = 0;
    let mut seconds = 0;
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => {
            if first.len() > 4 {
                seconds = hours % 100;
                hours /= 100;
            }
            if first.len() > 2 {
                minutes = hours % 100;
                hours /= 100;
            }
        }
        (Some(m), s, None) => {
            minutes = int(m)?;
            seconds = s.map_or(Ok(0), int)?;
        }
        _ => return Err(Bad::Format),
    }
    let total = hours * 3_600 + minutes * 60 + seconds;
    match i32::try_from(total) {
        Ok(total) if minutes < 60 && seconds < 60 && zone::is_offset(total) => Ok(sign * total),
        _ => Err(Bad::Offset),
    }
}

/// The zone of an abbreviation or a name.
pub(crate) fn named_zone(name: &str) -> Option<Zone> {
    Zone::abbreviated(name).or_else(|| Zone::named(name))
}
