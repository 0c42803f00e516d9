//! The machine that this process runs on, in words.

use scaledb_evidence::Made;
use scaledb_sync::thread::cores;

/// How points that are measured here are made.
pub fn here() -> Made {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    Made::Real(format!(
        "{} of {model}",
        if cores() == 1 { "1 core".into() } else { format!("{} cores", cores()) }
    ))
}

/// 1, 2, 4 ... and all cores that this process may use.
pub fn core_counts() -> Vec<usize> {
    let most = cores();
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    counts.push(most);
    counts
}
