//! Where points come from: the simulator, as processes of their own, and the cores of this machine. A point that was
//! measured once is known: in this process, and in those that keep their points in the same file.

use crate::known::Known;
use crate::machine;
use crate::process;
use scaledb_evidence::{Failure, Made, Run};
use scaledb_manycore::{Answer, Ask, Build};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::thread;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// How long the simulator may take to say how it was built.
const TO_SAY_ITS_BUILD: Duration = Duration::from_secs(60);

/// What points are measured with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program `manycore`, built with `--cfg sim`; without it, what is simulated is missing.
    pub simulator: Option<PathBuf>,
    /// Whether the cores of this machine measure what they can.
    pub real: bool,
    /// Where points are kept, and found again.
    pub points: Option<PathBuf>,
    /// How long the simulator may take for one point.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { simulator: None, real: true, points: None, limit: Duration::from_secs(1_800) }
    }
}

/// Measures points.
#[derive(Debug)]
pub struct Lab {
    settings: Settings,
    known: Known,
    /// How the simulator was built, or what is wrong with it.
    build: OnceLock<Result<Build, String>>,
    measured: AtomicUsize,
    found: AtomicUsize,
}

impl Lab {
    /// One with these settings.
    ///
    /// # Errors
    /// The file of known points cannot be read.
    pub fn new(settings: Settings) -> Result<Self, Failure> {
        let known = Known::open(settings.points.as_deref())?;
        Ok(Self { settings, known, build: OnceLock::new(), measured: 0.into(), found: 0.into() })
    }

    /// How many points were measured so far, and how many were known already.
    pub fn counts(&self) -> (usize, usize) {
        // statistics
        (self.measured.load(Ordering::Relaxed), self.found.load(Ordering::Relaxed))
    }

    /// Measures points on simulated cores, as many at a time as this machine has real ones.
    ///
    /// # Errors
    /// [`Failure::Missing`] without a simulator, and with one of another build; what it says if it fails.
    pub fn simulated(&self, run: &Run<'_>, asks: &[Ask]) -> Result<Vec<Answer>, Failure> {
        let Some(simulator) = &self.settings.simulator else {
            return Err(Failure::Missing("the simulator has not been built: 'make simulator'".to_owned()));
        };
        let build = self.build.get_or_init(|| build_of(simulator)).as_ref();
        let build = build.map_err(|wrong| {
            Failure::Missing(format!(
                "{}: {wrong}; 'make simulator' builds the right one",
                simulator.display()
            ))
        })?;
        let by = format!("simulated, {}", in_words(build));
        let texts: Vec<String> = asks.iter().map(text_of).collect();
        let mut wanted: Vec<&String> =
            texts.iter().filter(|text| self.known.get(&by, text).is_none()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.found.fetch_add(texts.len() - wanted.len(), Ordering::Relaxed); // a statistic
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Failure> {
            // a ticket: it orders nothing else
            while let Some(text) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                (run.progress)(&format!("simulated: {text}"));
                let answer = ask(simulator, text, self.settings.limit)?;
                self.measured.fetch_add(1, Ordering::Relaxed); // a statistic
                self.known.insert(&by, text, answer)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..thread::cores()).map(|_| scope.spawn(work)).collect();
            // all end before one's failure is told: what they measured is kept
            let ended: Vec<_> =
                workers.into_iter().map(|worker| worker.join().expect("it does not panic")).collect();
            ended.into_iter().collect::<Result<(), _>>()
        })?;
        Ok(texts.iter().map(|text| self.known.get(&by, text).expect("it was measured")).collect())
    }

    /// Whether the cores of this machine are to measure anything.
    pub fn measures_real_cores(&self) -> bool {
        self.settings.real
    }

    /// Measures a point on the cores of this machine.
    ///
    /// # Errors
    /// Those of the measurement.
    pub fn real(&self, run: &Run<'_>, ask: &Ask) -> Result<Answer, Failure> {
        let (by, text) = (format!("{}, {}", machine::here(), in_words(&Build::this())), text_of(ask));
        if let Some(answer) = self.known.get(&by, &text) {
            self.found.fetch_add(1, Ordering::Relaxed); // a statistic
            return Ok(answer);
        }
        (run.progress)(&format!("real cores: {text}"));
        let answer = scaledb_manycore::measure(ask)?;
        self.measured.fetch_add(1, Ordering::Relaxed); // a statistic
        self.known.insert(&by, &text, answer.clone())?;
        Ok(answer)
    }
}

/// How simulated points are made.
pub fn simulated_on(machine: &str) -> Made {
    Made::Simulated(format!("the engine's own code on `{machine}`; evidence of sharing, not of nanoseconds"))
}

fn text_of(ask: &Ask) -> String {
    serde_json::to_string(ask).expect("plain data")
}

fn in_words(build: &Build) -> String {
    format!("{}, sources {}", if build.optimized { "optimized" } else { "not optimized" }, build.sources)
}

/// How a simulator was built, if it is one that can answer this program.
fn build_of(simulator: &Path) -> Result<Build, String> {
    let output = process::output(Command::new(simulator).arg("--build"), TO_SAY_ITS_BUILD)?;
    let build: Build = serde_json::from_slice(&output).map_err(|error| error.to_string())?;
    build.simulates_for(&Build::this())?;
    Ok(build)
}

fn ask(simulator: &Path, text: &str, limit: Duration) -> Result<Answer, Failure> {
    let failed = |what: String| Failure::Failed(format!("{}: {what} for {text}", simulator.display()).into());
    let output = process::output(Command::new(simulator).args(["--ask", text]), limit).map_err(failed)?;
    serde_json::from_slice(&output).map_err(|error| failed(error.to_string()))
}
