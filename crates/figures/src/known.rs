//! Points that were measured: in this process, and, in a file, by others before it. A run that was interrupted goes on
//! from there.
//!
//! The file has a line of JSON per point. It is only appended to; a line that was cut off is no point.

use scaledb_evidence::Failure;
use scaledb_manycore::Answer;
use scaledb_sync::lock::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// What it was measured with: the machine, and the sources of what ran.
    by: String,
    ask: String,
    answer: Answer,
}

#[derive(Debug, Default)]
struct KnownPoints {
    /// By what they were measured with, and what was asked.
    answers: HashMap<(String, String), Answer>,
    file: Option<File>,
}

/// Known points.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<KnownPoints>);

impl Known {
    /// Those of a file, which is made when the first one is added.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let answers = lines.map(|line| ((line.by, line.ask), line.answer)).collect();
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut file = File::options().create(true).append(true).open(path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self(Mutex::new(KnownPoints { answers, file: Some(file) })))
    }

    pub(crate) fn get(&self, by: &str, ask: &str) -> Option<Answer> {
        self.0.lock().answers.get(&(by.to_owned(), ask.to_owned())).cloned()
    }

    pub(crate) fn insert(&self, by: &str, ask: &str, answer: Answer) -> Result<(), Failure> {
        let (by, ask) = (by.to_owned(), ask.to_owned());
        let line = Line { by: by.clone(), ask: ask.clone(), answer: answer.clone() };
        let line = serde_json::to_string(&line).expect("plain data") + "\n";
        let mut state = self.0.lock();
        state.answers.insert((by, ask), answer);
        // at once, so that what two processes append does not mix
        state.file.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Known;
    use scaledb_manycore::Answer;

    fn answer(per_second: f64) -> Answer {
        Answer { per_second, abort_percent: 0.0, report: None, events: None, times: String::new() }
    }

    #[test]
    fn points_are_found_again_but_not_those_of_other_sources_or_cut_off_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("below/points.jsonl");
        let known = Known::open(Some(&path)).unwrap();
        known.insert("one", "a", answer(1.5)).unwrap();
        known.insert("one", "b", answer(2.5)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        let known = Known::open(Some(&path)).unwrap();
        assert_eq!(known.get("one", "a").map(|answer| answer.per_second), Some(1.5));
        assert!(known.get("one", "b").is_none() && known.get("two", "a").is_none());
        known.insert("one", "c", answer(3.5)).unwrap();
        let known = Known::open(Some(&path)).unwrap();
        assert_eq!(known.get("one", "c").map(|answer| answer.per_second), Some(3.5));
    }
}
