//! How a database is opened.

use crate::rules::Rules;
use crate::techniques::Techniques;
use scaledb_base::Result;
use scaledb_durability::Durability;
use scaledb_engine::{EngineOptions, OptionSpec, OptionType};
use scaledb_sync::clock::Source;
use std::time::Duration;

/// Where timestamps come from (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clocks {
    /// All workers read the synchronized clock of the machine.
    #[default]
    Synchronized,
    /// Each worker counts the time by itself, and catches up with the others now and then: for machines
    /// whose processors do not agree about the time.
    Loose,
}

/// What the order of timestamps promises about transactions that have nothing in common (section 3.1).
/// Serializable they are in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Consistency {
    /// A transaction that begins after another has committed comes after it: strict serializability. With
    /// [`Clocks::Synchronized`] that costs a commit nothing, unless its timestamp was boosted. With
    /// [`Clocks::Loose`] a commit waits until every running transaction has a larger timestamp.
    #[default]
    External,
    /// Only the order of each worker's own transactions is kept, and what
    /// [`observe`](crate::CicadaWorker::observe) tells it to come after.
    Causal,
}

/// Settings of a [`Cicada`](crate::Cicada) database. The default suits most uses.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes that rows and indexes may take: by default, six tenths of what the machine or the control group of the
    /// process has. Beyond, writes fail with [`OutOfMemory`](scaledb_base::Error::OutOfMemory); a part is kept for
    /// deletes and updates in place. What running transactions remember may take a third as much, beside this;
    /// beyond, they fail with [`TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    pub memory_budget: u64,
    /// Bytes of memory to take from the system when the database is opened, and to keep ready.
    pub reserve: u64,
    /// The clock, if not the best that the machine has.
    pub clock: Option<Source>,
    /// Where timestamps come from.
    pub clocks: Clocks,
    /// What their order promises.
    pub consistency: Consistency,
    /// How much later a transaction's timestamp is after a conflict (section 3.1).
    pub boost: Duration,
    /// Workers look this often for what they may reclaim (section 3.8).
    pub quiescence: Duration,
    /// Rows of up to this many words of 8 bytes are inlined (section 3.3); 0: none.
    pub inline_words: usize,
    /// Guards of an index: read timestamps for keys and leaves without one of their own.
    pub guards: usize,
    /// A background thread reclaims for idle workers and regulates the backoff. Without it, that is done
    /// only by workers as they run transactions.
    pub background: bool,
    /// Where the database is kept on disk; `None`: in memory only.
    pub durability: Option<Durability>,
    /// The longest pause after a conflict; `None`: whatever serves the throughput best (section 3.9).
    pub backoff: Option<Duration>,
    /// Techniques in use: all, except to measure them.
    pub techniques: Techniques,
    /// Protocol rules in force: all, except in tests.
    pub rules: Rules,
}

impl Default for Config {
    fn default() -> Self {
        let model = scaledb_sync::MODEL;
        Self {
            memory_budget: if model { u64::MAX } else { scaledb_log::machine::default_budget() },
            reserve: 0,
            clock: None,
            clocks: Clocks::default(),
            consistency: Consistency::default(),
            boost: Duration::from_micros(1),
            quiescence: Duration::from_micros(10),
            inline_words: 27,
            guards: if model { 4 } else { 4096 },
            background: !model,
            durability: None,
            backoff: None,
            techniques: Techniques::default(),
            rules: Rules::default(),
        }
    }
}

/// The names of Cicada's own settings.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "clocks",
        takes: OptionType::Word(&["synchronized", "loose"]),
        help: "Where timestamps come from.",
    },
    OptionSpec {
        name: "consistency",
        takes: OptionType::Word(&["external", "causal"]),
        help: "What the order of timestamps promises about transactions that have nothing in common.",
    },
    OptionSpec {
        name: "inline_bytes",
        takes: OptionType::Integer,
        help: "Rows of up to this many bytes are inlined; 0: none.",
    },
    OptionSpec {
        name: "quiescence",
        takes: OptionType::Time,
        help: "Workers look this often for what they may reclaim.",
    },
    OptionSpec { name: "backoff", takes: OptionType::Time, help: "The longest pause after a conflict." },
    #[cfg(feature = "ablations")]
    OptionSpec {
        name: "without",
        takes: OptionType::Word(&["wait", "latest", "sort", "precheck"]),
        help: "A technique to do without.",
    },
];

impl Config {
    /// Takes over what is set by name.
    ///
    /// # Errors
    /// [`Error::UnknownOption`](scaledb_base::Error::UnknownOption),
    /// [`Error::BadOption`](scaledb_base::Error::BadOption).
    pub fn set(&mut self, options: &EngineOptions) -> Result<()> {
        options.check("cicada", OPTIONS)?;
        match options.word("clocks") {
            Some("synchronized") => self.clocks = Clocks::Synchronized,
            Some("loose") => self.clocks = Clocks::Loose,
            _ => {}
        }
        match options.word("consistency") {
            Some("external") => self.consistency = Consistency::External,
            Some("causal") => self.consistency = Consistency::Causal,
            _ => {}
        }
        let inline = options.integer("inline_bytes");
        self.inline_words = inline.map_or(self.inline_words, |bytes| (bytes / 8) as usize);
        self.quiescence = options.time("quiescence").unwrap_or(self.quiescence);
        self.backoff = options.time("backoff").or(self.backoff);
        #[cfg(feature = "ablations")]
        if let Some(technique) = options.word("without") {
            use crate::techniques::Technique;
            self.techniques = Techniques::without(match technique {
                "wait" => Technique::WaitForPending,
                "latest" => Technique::LatestOnly,
                "sort" => Technique::SortByContention,
                _ => Technique::CheckEarly,
            });
        }
        Ok(())
    }
}
