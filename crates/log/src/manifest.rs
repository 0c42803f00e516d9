//! The manifest: what the database consists of. A small text file, replaced as a whole.
//!
//! ```text
//!  SCALEDB MANIFEST 2            the format
//!  {"database":"...", ...}       one line of JSON
//!  crc32c 1a2b3c4d               of all bytes before this line
//! ```

use crate::disk::Disk;
use crate::error::{IoContext, LogError, Result};
use crate::layout::{DatabaseId, FORMAT, check_format};
use crate::name::{MANIFEST, manifest_in_preparation};
use scaledb_base::Timestamp;
use serde::{Deserialize, Serialize};

const TITLE: &str = "SCALEDB MANIFEST ";
const CRC: &str = "crc32c ";
/// A manifest beyond it is none: a catalog of all tables that there may be is smaller.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    #[serde(with = "id")]
    pub(crate) database: DatabaseId,
    pub(crate) engine: String,
    /// At least so many incarnations have begun.
    pub(crate) incarnation: u64,
    /// The log begins with this segment; earlier ones may be there, and mean nothing.
    pub(crate) first_segment: u64,
    /// The log that follows is durable up to here. If it ends earlier, a part of it is lost.
    #[serde(with = "ts")]
    pub(crate) required: Timestamp,
    pub(crate) next_checkpoint: u64,
    pub(crate) checkpoint: Option<CheckpointEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointEntry {
    pub(crate) id: u64,
    #[serde(with = "ts")]
    pub(crate) begin: Timestamp,
    /// The largest timestamp that the rows carry.
    #[serde(with = "ts")]
    pub(crate) newest: Timestamp,
    pub(crate) parts: Vec<PartEntry>,
    pub(crate) catalog: Catalog,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartEntry {
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    /// Over the checksums of its blocks.
    pub(crate) crc32c: u32,
}

/// The engine's catalog, readable if it is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Catalog {
    Text(String),
    Bytes(Vec<u8>),
}

impl Catalog {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

mod ts {
    use scaledb_base::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(ts: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(ts.raw())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let raw = u64::deserialize(from)?;
        crate::bytes::timestamp(raw).ok_or_else(|| D::Error::custom("a timestamp is too large"))
    }
}

mod id {
    use super::DatabaseId;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(id: &DatabaseId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DatabaseId, D::Error> {
        let hex = String::deserialize(from)?;
        DatabaseId::parse(&hex).ok_or_else(|| D::Error::custom("a database id has 32 hexadecimal digits"))
    }
}

impl Manifest {
    pub(crate) fn new(database: DatabaseId, engine: &str) -> Self {
        Self {
            database,
            engine: engine.to_owned(),
            incarnation: 0,
            first_segment: 1,
            required: Timestamp::ZERO,
            next_checkpoint: 1,
            checkpoint: None,
        }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_string(self).map_err(std::io::Error::other).context("write", MANIFEST)?;
        let mut text = format!("{TITLE}{FORMAT}\n{json}\n");
        text.push_str(&format!("{CRC}{:08x}\n", crc32c::crc32c(text.as_bytes())));
        Ok(text.into_bytes())
    }

    /// # Errors
    /// [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let damaged = |offset: usize, what: &str| LogError::damaged(MANIFEST, offset as u64, what);
        let text =
            std::str::from_utf8(bytes).map_err(|error| damaged(error.valid_up_to(), "it is no text"))?;
        let checked =
            text.strip_suffix('\n').and_then(|text| text.rfind('\n')).map(|at| text.split_at(at + 1));
        let Some((body, last)) = checked else { return Err(damaged(0, "it is cut off")) };
        let crc = last.strip_prefix(CRC).and_then(|last| last.strip_suffix('\n'));
        let crc = crc.filter(|hex| hex.len() == 8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        // the first and the last line are those of every format
        if crc != Some(crc32c::crc32c(body.as_bytes())) {
            return Err(damaged(body.len(), "it does not have its checksum"));
        }
        let first = body.strip_prefix(TITLE).and_then(|rest| rest.split_once('\n'));
        let Some((format, json)) = first else { return Err(damaged(0, "it is no manifest")) };
        match format.parse::<u32>() {
            Ok(found) => check_format(found, MANIFEST)?,
            Err(_) => return Err(damaged(TITLE.len(), "its format is unknown")),
        }
        let manifest: Self = serde_json::from_str(json)
            .map_err(|error| damaged(0, &format!("its content has no sense: {error}")))?;
        Ok(manifest)
    }

    /// `None` if there is none.
    ///
    /// # Errors
    /// As [`Manifest::decode`]; [`LogError::Io`].
    pub(crate) fn read(disk: &dyn Disk) -> Result<Option<Self>> {
        let file = match disk.open(MANIFEST) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.context("open", MANIFEST)?,
        };
        let len = file.len().context("read", MANIFEST)?;
        if len > MAX_BYTES {
            return Err(LogError::damaged(MANIFEST, 0, "it is too long"));
        }
        let mut bytes = vec![0; len as usize];
        file.read_at(&mut bytes, 0).context("read", MANIFEST)?;
        Self::decode(&bytes).map(Some)
    }

    /// Puts this manifest in force: the old one is, or the new one, whatever happens.
    ///
    /// # Errors
    /// [`LogError::Io`]: either of them may be in force.
    pub(crate) fn install(&self, disk: &dyn Disk) -> Result<()> {
        let bytes = self.encode()?;
        let name = manifest_in_preparation();
        let file = disk.create(&name).context("create", &name)?;
        file.write_and_sync(&bytes, 0).context("write", &name)?;
        drop(file);
        disk.rename(&name, MANIFEST).context("replace", MANIFEST)?;
        disk.sync_names().context("sync the names of", &disk.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut manifest = Manifest::new(DatabaseId([7; 16]), "acc");
        manifest.checkpoint = Some(CheckpointEntry {
            id: 3,
            begin: Timestamp::start_of(5),
            newest: Timestamp::start_of(9),
            parts: vec![PartEntry { bytes: 10, rows: 2, crc32c: 77 }],
            catalog: Catalog::new("täbles\n".as_bytes()),
        });
        manifest
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let mut manifest = manifest();
        assert_eq!(Manifest::decode(&manifest.encode().unwrap()).unwrap(), manifest);
        if let Some(checkpoint) = &mut manifest.checkpoint {
            checkpoint.catalog = Catalog::new(&[0xff, 0]);
        }
        assert_eq!(Manifest::decode(&manifest.encode().unwrap()).unwrap(), manifest);
    }

    #[test]
    fn no_flipped_bit_and_no_prefix_is_a_manifest() {
        let bytes = manifest().encode().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let decoded = Manifest::decode(&flipped);
            // the case of a digit of the checksum has no meaning
            let same = decoded.as_ref().is_ok_and(|decoded| *decoded == manifest());
            assert!(
                matches!(decoded, Err(LogError::Damaged { .. })) || same && bit / 8 > bytes.len() - 10,
                "{bit}"
            );
        }
        for len in 0..bytes.len() {
            assert!(matches!(Manifest::decode(&bytes[..len]), Err(LogError::Damaged { .. })), "{len}");
        }
    }

    #[test]
    fn another_format_is_named() {
        let decoded = |format: u32| {
            let body = format!("SCALEDB MANIFEST {format}\nwhatever\n");
            let text = format!("{body}crc32c {:08x}\n", crc32c::crc32c(body.as_bytes()));
            Manifest::decode(text.as_bytes()).unwrap_err()
        };
        assert!(matches!(decoded(9), LogError::NewerFormat { found: 9, known: FORMAT, .. }));
        assert!(matches!(decoded(1), LogError::OlderFormat { found: 1, known: FORMAT, .. }));
    }
}
