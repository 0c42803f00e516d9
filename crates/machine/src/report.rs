//! Where the time went: by what it was spent on, and by line.

use std::fmt;

/// Why a core lost time on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It writes what others write, too.
    Writers,
    /// It reads what another has written.
    ReadersAfterWrite,
    /// What it wants of the line is not what the other wrote.
    FalseSharing,
    /// It waits in a loop for what another will write.
    Spinning,
}

impl Cause {
    pub(crate) const ALL: [Self; 4] =
        [Self::Writers, Self::ReadersAfterWrite, Self::FalseSharing, Self::Spinning];

    /// A few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writers => "several write it",
            Self::ReadersAfterWrite => "read after a write",
            Self::FalseSharing => "false sharing",
            Self::Spinning => "waited for in a loop",
        }
    }
}

/// A line on which cores lost time.
#[derive(Clone, Debug, PartialEq)]
pub struct HotLine {
    /// What it is, as it was registered.
    pub name: String,
    /// Seconds of all cores.
    pub seconds: f64,
    /// How often a core had to wait for it.
    pub waits: u64,
    /// Seconds by cause; see [`Cause`].
    pub causes: [f64; 4],
    /// The byte of the line at which most time was lost.
    pub offset: usize,
}

impl HotLine {
    /// The cause of most of it.
    pub fn cause(&self) -> Cause {
        let most = |a: &Cause, b: &Cause| self.causes[*a as usize].total_cmp(&self.causes[*b as usize]);
        Cause::ALL.into_iter().max_by(most).expect("there are causes")
    }
}

/// What happened since the last report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Memory events.
    pub events: u64,
    /// Seconds of all cores, by what they were spent on.
    pub times: Vec<(&'static str, f64)>,
    /// Lines by the time that was lost on them, greatest first.
    pub lines: Vec<HotLine>,
    /// The same by name: what many lines of one structure lost together.
    pub names: Vec<HotLine>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: f64 = self.times.iter().map(|(_, seconds)| seconds).sum();
        let percent = |seconds: f64| seconds * 100.0 / total.max(f64::MIN_POSITIVE);
        for (what, seconds) in &self.times {
            writeln!(f, "  {:6.2} %  {what}", percent(*seconds))?;
        }
        for (title, lines) in [("structures", &self.names), ("lines", &self.lines)] {
            writeln!(f, "  {title} that cores lost time on")?;
            for line in lines.iter().take(20) {
                writeln!(
                    f,
                    "  {:6.2} %  {:>9} waits of {:5.0} ns  {:<21} {} +{}",
                    percent(line.seconds),
                    line.waits,
                    line.seconds * 1e9 / line.waits.max(1) as f64,
                    line.cause().name(),
                    line.name,
                    line.offset,
                )?;
            }
        }
        Ok(())
    }
}
