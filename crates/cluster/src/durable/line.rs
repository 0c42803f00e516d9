//! The bytes of a node's log: each is an entry of the log of `scaledb-log`.
//!
//! ```text
//!   0  format: u32, little end first, and a head      whose directory it is
//!   1  a life                                         it goes on with what is there
//!   2  a life                                         it begins with nothing
//!   3  an entry of the state machine
//! ```

use super::DirectoryError;
use crate::codec::{self, FORMAT, Malformed};
use crate::rows::Rows;
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Entry, NodeId};
use serde::{Deserialize, Serialize};

const HEAD: u8 = 0;
const LIFE: u8 = 1;
const ANEW: u8 = 2;
const ENTRY: u8 = 3;

/// Whose directory it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) cluster: String,
    pub(super) name: String,
    pub(super) node: NodeId,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Head(Head),
    Life(Incarnation),
    Anew(Incarnation),
    Entry(Entry<Rows>),
}

/// The format, and what is behind it.
fn of_format(bytes: &[u8]) -> Result<&[u8], DirectoryError> {
    let cut = || DirectoryError::Malformed(Malformed::new("a line is cut off"));
    let (format, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let found = u32::from_le_bytes(*format);
    if found == FORMAT { Ok(rest) } else { Err(DirectoryError::Format { found }) }
}

impl Line {
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        match self {
            Self::Head(head) => {
                out.push(HEAD);
                out.extend(FORMAT.to_le_bytes());
                codec::push(head, out)
            }
            Self::Life(life) => {
                out.push(LIFE);
                codec::push(life, out)
            }
            Self::Anew(life) => {
                out.push(ANEW);
                codec::push(life, out)
            }
            Self::Entry(entry) => {
                out.push(ENTRY);
                codec::push(entry, out)
            }
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DirectoryError> {
        Ok(match bytes.split_first() {
            Some((&HEAD, rest)) => Self::Head(codec::decode(of_format(rest)?)?),
            Some((&LIFE, rest)) => Self::Life(codec::decode(rest)?),
            Some((&ANEW, rest)) => Self::Anew(codec::decode(rest)?),
            Some((&ENTRY, rest)) => Self::Entry(codec::decode(rest)?),
            _ => return Err(Malformed::new("a line of no known kind").into()),
        })
    }
}

/// What a checkpoint says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Catalog {
    pub(super) head: Head,
    pub(super) lives: Vec<Incarnation>,
    /// The entry with which it began.
    pub(super) begin: Entry<Rows>,
}

impl Catalog {
    pub(super) fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let mut out = FORMAT.to_le_bytes().to_vec();
        codec::push(self, &mut out)?;
        Ok(out)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DirectoryError> {
        Ok(codec::decode(of_format(bytes)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_scar::{Epoch, Time};

    fn bytes(line: &Line) -> Vec<u8> {
        let mut bytes = Vec::new();
        line.encode(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn lines_come_back_and_another_format_is_refused() {
        let head = Head { cluster: "c".to_owned(), name: "n".to_owned(), node: NodeId(3) };
        let entry = Entry::Whole(Epoch(5), Time(7));
        let life = Incarnation(9);
        for line in [Line::Head(head.clone()), Line::Life(life), Line::Anew(life), Line::Entry(entry.clone())]
        {
            let bytes = bytes(&line);
            assert_eq!(Line::decode(&bytes).unwrap(), line);
            for end in 0..bytes.len() {
                assert!(Line::decode(&bytes[..end]).is_err(), "{line:?} {end}");
            }
        }
        for found in [FORMAT - 1, FORMAT + 1] {
            let mut of_another = bytes(&Line::Head(head.clone()));
            of_another[1..5].copy_from_slice(&found.to_le_bytes());
            let refused = Line::decode(&of_another);
            assert!(matches!(refused, Err(DirectoryError::Format { found: told }) if told == found));
            let mut catalog =
                Catalog { head: head.clone(), lives: vec![life], begin: entry.clone() }.encode().unwrap();
            catalog[..4].copy_from_slice(&found.to_le_bytes());
            assert!(matches!(Catalog::decode(&catalog), Err(DirectoryError::Format { .. })));
        }
    }
}
