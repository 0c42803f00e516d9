//! Progress lines: one that is overwritten on a terminal, one per second elsewhere.

use crate::format;
use crate::output::{say, show};
use scaledb_workloads::driver::Progress;
use std::io::IsTerminal;

/// Where progress is shown.
pub(crate) struct Line {
    terminal: bool,
    /// What was shown last.
    last: Option<Progress>,
}

impl Line {
    /// On standard output.
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stdout().is_terminal(), last: None }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        const WIDTH: usize = 24;
        let part = progress.elapsed.as_secs_f64() / progress.total.as_secs_f64().max(f64::MIN_POSITIVE);
        let full = ((part * WIDTH as f64).round() as usize).min(WIDTH);
        let text = format!(
            "  [{}{}] {:>4.0} s  {:>11} txn/s  {:>9} conflicts/s{}",
            "#".repeat(full),
            ".".repeat(WIDTH - full),
            progress.elapsed.as_secs_f64(),
            format::count(progress.per_second as u64),
            format::count(progress.conflicts_per_second as u64),
            if progress.warming_up { "  (warm-up)" } else { "" },
        );
        if self.terminal {
            show!("\r{text:<98}");
        } else {
            say!("{text}");
        }
        self.last = Some(*progress);
    }

    /// Leaves the line on a terminal, with all of the time gone by: the last second is not reported by itself.
    pub(crate) fn end(&mut self) {
        if let Some(last) = self.last.take()
            && self.terminal
        {
            self.show(&Progress { elapsed: last.total, ..last });
            say!("");
        }
    }
}
