//! Notifications as the nodes of a cluster hand them to each other: announcements of the engine.
//!
//! ```text
//!  announcement   database u32 │ sender u32 │ notification ...
//!  notification   length of the channel u8 │ length of the payload u16 │ channel │ payload
//! ```
//!
//! Numbers are little-endian. The notifications of a transaction are in several announcements if they are many.

use super::{MAX_CHANNEL, MAX_PAYLOAD, Notification};
use std::sync::Arc;

/// An announcement takes notifications until it has so many bytes.
const ENOUGH: usize = 32 << 10;

/// Announcements of what a session has said in a database.
pub fn encode(database: u32, sender: u32, said: &[Notification]) -> Vec<Vec<u8>> {
    let mut announcements: Vec<Vec<u8>> = Vec::new();
    for notification in said {
        // a hub takes no longer ones
        let (Ok(channel), Ok(payload)) =
            (u8::try_from(notification.channel.len()), u16::try_from(notification.payload.len()))
        else {
            continue;
        };
        if announcements.last().is_none_or(|last| last.len() >= ENOUGH) {
            announcements.push([database.to_le_bytes(), sender.to_le_bytes()].concat());
        }
        let Some(last) = announcements.last_mut() else { continue };
        last.push(channel);
        last.extend(payload.to_le_bytes());
        last.extend(notification.channel.as_bytes());
        last.extend(notification.payload.as_bytes());
    }
    announcements
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?))
}

/// The database of an announcement, and its notifications. None if it is not one as [`encode`] makes them: then nothing
/// of it is heard.
pub fn decode(mut bytes: &[u8]) -> Option<(u32, Vec<Notification>)> {
    let bytes = &mut bytes;
    let (database, sender) = (number(bytes)?, number(bytes)?);
    let mut said = Vec::new();
    while !bytes.is_empty() {
        let channel = usize::from(*take(bytes, 1)?.first()?);
        let payload = usize::from(u16::from_le_bytes(take(bytes, 2)?.try_into().ok()?));
        if !(1..=MAX_CHANNEL).contains(&channel) || payload > MAX_PAYLOAD {
            return None;
        }
        let text = |bytes| std::str::from_utf8(bytes).ok().map(Arc::from);
        let (channel, payload) = (text(take(bytes, channel)?)?, text(take(bytes, payload)?)?);
        said.push(Notification { sender, channel, payload });
    }
    Some((database, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(channel: &str, payload: &str) -> Notification {
        Notification { sender: 70_000, channel: channel.into(), payload: payload.into() }
    }

    #[test]
    fn what_is_encoded_comes_back_in_its_order() {
        let many: Vec<_> = (0..100).map(|i| said(&format!("c{i}"), &"p".repeat(i * 79))).collect();
        let announcements = encode(7, 70_000, &many);
        assert!(announcements.len() > 5 && announcements.iter().all(|one| one.len() < ENOUGH + 9_000));
        let back: Vec<_> = announcements.iter().map(|one| decode(one).expect("one of ours")).collect();
        assert!(back.iter().all(|(database, _)| *database == 7));
        assert_eq!(back.into_iter().flat_map(|(_, said)| said).collect::<Vec<_>>(), many);
        assert_eq!(encode(7, 1, &[]), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_refused_or_something_else() {
        let whole = &encode(1, 70_000, &[said("a", "payload"), said("\u{e4}\u{f6}", "")])[0];
        for length in 0..whole.len() {
            // between two notifications it is a shorter announcement
            let cut = decode(&whole[..length]);
            assert_eq!(cut.is_some(), [8, 19].contains(&length), "{length}");
        }
        for at in 0..whole.len() {
            for to in 0..=255 {
                let mut changed = whole.clone();
                changed[at] = to;
                if let Some((_, said)) = decode(&changed) {
                    assert!(said.len() <= 2 && said.iter().all(|one| !one.channel.is_empty()));
                }
            }
        }
        let no_channel = [&whole[..8], &[0, 0, 0]].concat();
        assert_eq!(decode(&no_channel), None);
    }
}
