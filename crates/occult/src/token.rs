//! A causal timestamp as a short text, that goes with a web request to another client or another datacenter.

use std::str::FromStr;

use crate::{Malformed, Timestamp};

/// The first characters: the kind and version of the text.
const PREFIX: &str = "oc1.";

/// The longest text that is read. The exact timestamp of all slots has less.
const MAX_TEXT: usize = 256 << 10;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a causal token ({0}): tokens are made by Session::token and begin with oc1.")]
pub struct BadToken(&'static str);

impl From<Malformed> for BadToken {
    fn from(error: Malformed) -> Self {
        Self(error.0)
    }
}

impl Timestamp {
    /// The token: letters, digits, `-`, `_` and a dot, so that it needs no quoting in addresses, cookies and headers.
    pub fn to_token(&self) -> String {
        let bytes = self.to_bytes();
        let mut text = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4);
        text.push_str(PREFIX);
        for group in bytes.chunks(3) {
            let mut word = [0; 3];
            word[..group.len()].copy_from_slice(group);
            let word = u32::from_be_bytes([0, word[0], word[1], word[2]]);
            for digit in 0..=group.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize]));
            }
        }
        text
    }
}

impl FromStr for Timestamp {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let digits = text.strip_prefix(PREFIX).ok_or(BadToken("another beginning"))?.as_bytes();
        if digits.len() > MAX_TEXT {
            return Err(BadToken("too long"));
        }
        let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
        for group in digits.chunks(4) {
            if group.len() == 1 {
                return Err(BadToken("cut short"));
            }
            let mut word = 0;
            for (at, digit) in group.iter().enumerate() {
                let value =
                    DIGITS.iter().position(|known| known == digit).ok_or(BadToken("a foreign letter"))?;
                word |= (value as u32) << (18 - 6 * at);
            }
            let [_, all @ ..] = word.to_be_bytes();
            let (used, unused) = all.split_at(group.len() - 1);
            if unused.iter().any(|byte| *byte != 0) {
                return Err(BadToken("bits after the end"));
            }
            bytes.extend_from_slice(used);
        }
        Ok(Timestamp::from_bytes(&bytes)?)
    }
}
