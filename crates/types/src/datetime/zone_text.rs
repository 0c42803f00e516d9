//! Time zones in texts: offsets and names.

use super::bad::{Bad, Parsed};
use crate::zone::{self, Zone};

/// `+02`, `-0330`, `+05:30:15`, in seconds east. What is missing behind a colon is zero.
pub(crate) fn parse_offset(text: &str) -> Parsed<i32> {
    let (sign, body) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return Err(Bad::Format),
    };
    let (mut hours, mut rest) = take_number(body)?;
    let (mut minutes, mut seconds) = (0, 0);
    if rest.is_empty() && body.len() > 2 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    for part in [&mut minutes, &mut seconds] {
        let Some(behind) = rest.strip_prefix(':') else { break };
        (*part, rest) = take_number(behind)?;
    }
    if minutes >= 60 || seconds >= 60 {
        return Err(Bad::Offset);
    }
    match i32::try_from(hours * 3_600 + minutes * 60 + seconds) {
        Ok(total) if !zone::is_offset(total) => Err(Bad::Offset),
        _ if !rest.is_empty() => Err(Bad::Format),
        Ok(total) => Ok(sign * total),
        Err(_) => Err(Bad::Offset),
    }
}

/// The digits at the start of a text, zero if there are none, and what follows them.
fn take_number(text: &str) -> Parsed<(i64, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let v = if digits.is_empty() { 0 } else { digits.parse::<i32>().map_err(|_| Bad::Offset)? };
    Ok((v.into(), rest))
}

/// The zone of an abbreviation or a name.
pub(crate) fn named_zone(name: &str) -> Option<Zone> {
    Zone::abbreviated(name).or_else(|| Zone::named(name))
}

/// The zone of a word of a date that is no abbreviation: a name, or one as POSIX writes it.
pub(crate) fn punctuated_zone(name: &str) -> Option<Zone> {
    Zone::named(name).or_else(|| Zone::posix(name))
}
