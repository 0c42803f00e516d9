//! The names of the files of a database directory.

/// Held by the process that has the database open.
pub(crate) const LOCK: &str = "LOCK";
/// Held by whoever needs all files to stay (a backup), and by the log while it removes or recycles files.
pub(crate) const HOLD: &str = "HOLD";
/// What the database consists of.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The end of a temporary name: what has it was never in force, and may be removed.
pub(crate) const NEW: &str = ".new";

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Lock,
    Manifest,
    Segment(u64),
    Checkpoint { id: u64, part: u16 },
    Temporary,
    Other,
}

impl Name {
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            LOCK | HOLD => return Self::Lock,
            MANIFEST => return Self::Manifest,
            _ => {}
        }
        if let Some(number) = name.strip_prefix("log-").and_then(|hex| number(hex, 16)) {
            return Self::Segment(number);
        }
        if let Some((id, part)) = name.strip_prefix("checkpoint-").and_then(|rest| rest.split_once('-'))
            && let (Some(id), Some(part)) = (number(id, 16), number(part, 4))
        {
            return Self::Checkpoint { id, part: part as u16 };
        }
        let ours = |stem: &str| {
            stem == MANIFEST || stem.starts_with("spare-") || matches!(Self::parse(stem), Self::Segment(_))
        };
        match name.strip_suffix(NEW) {
            Some(stem) if ours(stem) => Self::Temporary,
            _ => Self::Other,
        }
    }
}

/// Exactly as it is written: one file, one name.
fn number(hex: &str, digits: usize) -> Option<u64> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (hex.len() == digits && hex.bytes().all(lower)).then(|| u64::from_str_radix(hex, 16).ok())?
}

pub(crate) fn segment(number: u64) -> String {
    format!("log-{number:016x}")
}

/// A segment that is being prepared, before it gets its final name.
pub(crate) fn segment_in_preparation(number: u64) -> String {
    format!("log-{number:016x}{NEW}")
}

/// A segment that is not needed any more, and waits to become another.
pub(crate) fn spare(number: u64) -> String {
    format!("spare-{number:016x}{NEW}")
}

pub(crate) fn checkpoint(id: u64, part: u16) -> String {
    format!("checkpoint-{id:016x}-{part:04x}")
}

pub(crate) fn manifest_in_preparation() -> String {
    format!("{MANIFEST}{NEW}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_from_and_nothing_else_does() {
        assert_eq!(Name::parse(&segment(0x1f)), Name::Segment(0x1f));
        assert_eq!(Name::parse(&checkpoint(7, 0xab)), Name::Checkpoint { id: 7, part: 0xab });
        assert_eq!(["LOCK", "HOLD", "MANIFEST"].map(Name::parse), [Name::Lock, Name::Lock, Name::Manifest]);
        for name in [segment_in_preparation(3), spare(3), manifest_in_preparation()] {
            assert_eq!(Name::parse(&name), Name::Temporary);
        }
        for name in
            ["log-1", "log-000000000000001F", "log-+00000000000001f", "checkpoint-1-2", "x.new", ".new"]
        {
            assert_eq!(Name::parse(name), Name::Other, "{name}");
        }
    }
}
