//! Where points come from: the simulator, as processes of their own, and the cores of this machine. A point that was
//! measured once in this process is known.

use scaledb_evidence::{Failure, Made, Run};
use scaledb_manycore::{Answer, Ask};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::thread;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Measures points.
#[derive(Debug)]
pub struct Lab {
    simulator: Option<PathBuf>,
    /// Answers by the text of what was asked, simulated ones and real ones apart.
    known: Mutex<HashMap<(bool, String), Answer>>,
}

impl Lab {
    /// One with this simulator, if there is one.
    pub fn new(simulator: Option<PathBuf>) -> Self {
        Self { simulator, known: Mutex::default() }
    }

    /// Measures points on simulated cores, as many at a time as this machine has real ones.
    ///
    /// # Errors
    /// [`Failure::Missing`] without a simulator; what it says if it fails.
    pub fn simulated(&self, run: &Run<'_>, asks: &[Ask]) -> Result<Vec<Answer>, Failure> {
        let Some(simulator) = &self.simulator else {
            return Err(Failure::Missing("the simulator has not been built: 'make simulator'".to_owned()));
        };
        let texts: Vec<String> = asks.iter().map(text_of).collect();
        let known = |text: &String| self.known.lock().contains_key(&(true, text.clone()));
        let mut wanted: Vec<&String> = texts.iter().filter(|text| !known(text)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Failure> {
            // a ticket: it orders nothing else
            while let Some(text) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                (run.progress)(&format!("simulated: {text}"));
                let answer = ask(simulator, text)?;
                self.known.lock().insert((true, (*text).clone()), answer);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..thread::cores()).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
        })?;
        let known = self.known.lock();
        Ok(texts.into_iter().map(|text| known[&(true, text)].clone()).collect())
    }

    /// Measures a point on the cores of this machine.
    ///
    /// # Errors
    /// Those of the measurement.
    pub fn real(&self, run: &Run<'_>, ask: &Ask) -> Result<Answer, Failure> {
        let key = (false, text_of(ask));
        if let Some(answer) = self.known.lock().get(&key) {
            return Ok(answer.clone());
        }
        (run.progress)(&format!("real cores: {}", key.1));
        let answer = scaledb_manycore::measure(ask)?;
        self.known.lock().insert(key, answer.clone());
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

fn ask(simulator: &Path, text: &str) -> Result<Answer, Failure> {
    let failed = |what: String| Failure::Failed(format!("{}: {what}", simulator.display()).into());
    let output = Command::new(simulator).args(["--ask", text]).output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{} for {text}: {}", output.status, errors.trim())));
    }
    let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|e| failed(e.to_string()))?;
    if answer.events.is_none() {
        return Err(failed("it was built without --cfg sim and measures real cores".to_owned()));
    }
    Ok(answer)
}
