//! Figures of papers, made again: what a figure shows, which of its points are published, how ours are measured; and
//! its table, its CSV, and its picture, as SVG, as PNG and on a terminal. Knows no engine and no protocol.
//!
//! ```text
//!  Figure ── measure(&Run) ──► Measured ──► Evidence ──► table, csv, sketch, draw (SVG, PNG), a section of a page
//!    └─ published points ───────────────────────┘
//! ```
//!
//! A figure is a value:
//!
//! ```
//! use scaledb_evidence::{Axis, Evidence, Figure, Form, Made, Measured, Run, Series};
//!
//! let figure = Figure {
//!     name: "example-1",
//!     title: "Increments of one word",
//!     source: "Figure 1 of an example",
//!     x: Axis::linear("threads"),
//!     y: Axis::linear("times one thread"),
//!     published: vec![Series::published("theirs", "section 2", [(1.0, 1.0), (8.0, 7.5)])],
//!     measure: Box::new(|run: &Run<'_>| {
//!         let threads: &[u32] = if run.form == Form::Quick { &[1, 2] } else { &[1, 2, 4, 8] };
//!         let points = threads.iter().map(|&n| (f64::from(n), f64::from(n)));
//!         let ours = Series::new("ours", Made::Simulated("an example".into()), points);
//!         Ok(Measured { series: vec![ours], notes: vec!["No machine was asked.".into()] })
//!     }),
//! };
//! let evidence = figure.make(&Run::quick())?;
//! assert!(evidence.table().contains("theirs"));
//! let svg = scaledb_evidence::picture::svg(&evidence);
//! assert!(svg.contains("Increments of one word"));
//! # Ok::<(), scaledb_evidence::Failure>(())
//! ```

mod csv;
mod figure;
pub mod page;
pub mod picture;
mod scale;
mod sketch;
mod table;

pub use figure::{Axis, Evidence, Failure, Figure, Form, Made, Measured, Point, Run, Scale, Series};

use std::fs;
use std::path::Path;

impl Evidence {
    /// Writes `NAME.csv`, `NAME.svg` and `NAME.png` into a directory, which is made if it is not there.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        fs::create_dir_all(directory)?;
        let file = |ending: &str| directory.join(format!("{}.{ending}", self.name));
        fs::write(file("csv"), self.csv())?;
        fs::write(file("svg"), picture::svg(self))?;
        fs::write(file("png"), picture::png(self)?)?;
        Ok(())
    }
}
