//! Options by name, for what only one engine understands.

use scaledb_base::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Options for an engine: names and values. The interface knows none of them; the engine that gets them checks each
/// with [`EngineOptions::check`], so that a name that it does not have is an error and not passed over.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<OptionValue>>")]
pub struct EngineOptions(BTreeMap<String, OptionValue>);

/// The value of an option. It is written as JSON: the forms differ in their types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A number.
    Integer(u64),
    /// A word.
    Word(String),
    /// A length of time.
    Time(Duration),
}

/// An option that an engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: OptionType,
    /// What it is, in a sentence.
    pub help: &'static str,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionType {
    /// A number.
    Integer,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A length of time.
    Time,
}

impl EngineOptions {
    /// No options.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The options with one more, or with another value for it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OptionValue>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets an option.
    pub fn set(&mut self, name: &str, value: impl Into<OptionValue>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds what an engine does not understand. It has the options of `specs`.
    ///
    /// # Errors
    /// [`Error::UnknownOption`], [`Error::BadOption`].
    pub fn check(&self, engine: &'static str, specs: &[OptionSpec]) -> Result<()> {
        for (name, value) in &self.0 {
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Error::UnknownOption { engine, name: name.clone(), known });
            };
            let fits = match (spec.takes, value) {
                (OptionType::Integer, OptionValue::Integer(_)) | (OptionType::Time, OptionValue::Time(_)) => {
                    true
                }
                (OptionType::Word(words), OptionValue::Word(word)) => words.contains(&word.as_str()),
                _ => false,
            };
            if !fits {
                return Err(Error::BadOption { name: name.clone(), expected: spec.takes.describe() });
            }
        }
        Ok(())
    }

    /// The number that was set.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(OptionValue::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// The word that was set.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(OptionValue::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The time that was set.
    pub fn time(&self, name: &str) -> Option<Duration> {
        match self.0.get(name) {
            Some(OptionValue::Time(time)) => Some(*time),
            _ => None,
        }
    }
}

/// An option without a value is as good as none.
impl From<BTreeMap<String, Option<OptionValue>>> for EngineOptions {
    fn from(given: BTreeMap<String, Option<OptionValue>>) -> Self {
        Self(given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

impl OptionType {
    fn describe(self) -> String {
        match self {
            Self::Integer => "a number".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Time => "a length of time".to_owned(),
        }
    }
}

impl From<u64> for OptionValue {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for OptionValue {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<Duration> for OptionValue {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec { name: "batch", takes: OptionType::Integer, help: "Entries of a batch." },
        OptionSpec { name: "epoch", takes: OptionType::Time, help: "How long a batch grows." },
        OptionSpec { name: "way", takes: OptionType::Word(&["short", "long"]), help: "The way." },
    ];

    #[test]
    fn what_an_engine_does_not_have_is_an_error_with_a_sentence() {
        let good =
            EngineOptions::new().with("batch", 7).with("epoch", Duration::from_millis(3)).with("way", "long");
        good.check("x", SPECS).unwrap();
        assert_eq!((good.integer("batch"), good.word("way")), (Some(7), Some("long")));
        assert_eq!((good.time("epoch"), good.time("batch")), (Some(Duration::from_millis(3)), None));
        let why = |options: EngineOptions, specs| options.check("x", specs).unwrap_err().to_string();
        assert_eq!(
            why(EngineOptions::new().with("bacth", 7), SPECS),
            "engine x has no option bacth; it has: batch, epoch, way"
        );
        assert_eq!(why(good, &[]), "engine x has no option batch; it has: none");
        assert_eq!(why(EngineOptions::new().with("batch", "7"), SPECS), "option batch takes a number");
        assert_eq!(
            why(EngineOptions::new().with("way", "wide"), SPECS),
            "option way takes one of short, long"
        );
    }
}
