//! The figures of the papers behind this software, and how each is made again: `scaledb repro` prints and draws them.
//!
//! ```text
//!  all(&Lab) ──► [Figure] ── real cores: workloads and structures in this process
//!                         ├─ more cores than there are: the program `manycore`, built with `--cfg sim`
//!                         ├─ several nodes: threads that speak TCP, `scaledb-scar-lab`
//!                         └─ Occult: clusters in virtual time, and real redis-servers (`scaledb-occult-bench`)
//! ```
//!
//! A figure of another paper is a module beside [`scaledb`] and a line of [`all`]. Published points are those that the
//! text of a paper says: nothing is read off a picture.

pub mod cicada;
mod curves;
mod known;
pub mod lab;
pub mod machine;
pub mod occult;
mod process;
pub mod scaledb;
pub mod scar;

use lab::Lab;
use scaledb_evidence::Figure;
use scaledb_sync::Arc;

/// All figures, in the order of the papers. What one has measured, the others do not measure again.
pub fn all(lab: &Arc<Lab>) -> Vec<Figure> {
    let mut figures = scaledb::figures(lab);
    figures.extend(cicada::figures(lab));
    figures.extend(occult::figures());
    figures.extend(scar::figures());
    figures
}

/// Those figures that one of `names` means: itself, those of a paper (`cicada`), those of one number (`scaledb-8`), or
/// `all`. The first name that means none is handed back.
///
/// # Errors
/// That name.
pub fn select(mut figures: Vec<Figure>, names: &[String]) -> Result<Vec<Figure>, String> {
    let means = |name: &str, figure: &Figure| {
        let rest = figure.name.strip_prefix(name);
        name == "all" || rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if let Some(nothing) = names.iter().find(|name| !figures.iter().any(|figure| means(name, figure))) {
        return Err(nothing.clone());
    }
    figures.retain(|figure| names.iter().any(|name| means(name, figure)));
    Ok(figures)
}
