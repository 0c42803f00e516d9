//! The hash of a key, for all hash structures of one database.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

/// Hashes keys with a seed of its own, so that nobody outside can choose keys that collide.
#[derive(Clone)]
pub struct KeyHasher(RapidSecrets);

impl KeyHasher {
    /// A hasher for one database.
    pub fn new(seed: u64) -> Self {
        Self(RapidSecrets::seed(seed))
    }

    /// The hash of an encoded key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_inline::<true, false, false>(key, &self.0)
    }
}
