//! Points of curves over cores: a workload on an engine, or a mechanism of one, on so many of them. In builds with
//! `--cfg sim` the cores are simulated, else they are those of this machine.
//!
//! ```text
//!  Ask { subject, cores, machine, ... } ── measure ──► Answer { per_second, aborts, report, where the time went }
//!      └──── as JSON: manycore --ask '{...}' ────────────┘
//! ```
//!
//! An [`Ask`] can be sent to another build of the program `manycore`: so an ordinary build gets simulated points.

mod ask;
mod build;
mod measure;
mod mechanism;
mod shape;

pub use ask::{Answer, Ask, Mechanism, Subject, Tuning, Way};
pub use build::Build;
pub use measure::{Failure, measure};
pub use shape::Shape;
