//! What a figure is, and what measuring it gives.

use std::fmt;

/// A figure or table of a paper, and how to make it again.
pub struct Figure {
    /// What it is called on a command line, and its files: `scaledb-8a`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The published points that we have.
    pub published: Vec<Series>,
    /// Measures ours.
    #[allow(clippy::type_complexity)]
    pub measure: Box<dyn Fn(&Run<'_>) -> Result<Measured, Failure> + Send + Sync>,
}

impl Figure {
    /// Measures it.
    ///
    /// # Errors
    /// Those of the measurement.
    pub fn make(&self, run: &Run<'_>) -> Result<Evidence, Failure> {
        let Measured { series, notes } = (self.measure)(run)?;
        let series = series.into_iter().chain(self.published.iter().cloned()).collect();
        let (name, title, source) = (self.name, self.title, self.source);
        Ok(Evidence { name, title, source, x: self.x, y: self.y, series, notes })
    }
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figure").field("name", &self.name).field("title", &self.title).finish_non_exhaustive()
    }
}

/// A figure with all its points.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// As in [`Figure::name`].
    pub name: &'static str,
    /// As in [`Figure::title`].
    pub title: &'static str,
    /// As in [`Figure::source`].
    pub source: &'static str,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// Ours, then the published ones.
    pub series: Vec<Series>,
    /// What a reader has to know of the points.
    pub notes: Vec<String>,
}

impl Evidence {
    /// All values of x, each once, in order.
    pub fn xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }
}

/// What a measurement gives.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Curves.
    pub series: Vec<Series>,
    /// What a reader has to know of them: what is different from the paper, what is left out and why.
    pub notes: Vec<String>,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: &'static str,
    /// Where values lie on it.
    pub scale: Scale,
}

impl Axis {
    /// Equal steps, from zero.
    pub const fn linear(label: &'static str) -> Self {
        Self { label, scale: Scale::Linear }
    }

    /// Equal factors.
    pub const fn logarithmic(label: &'static str) -> Self {
        Self { label, scale: Scale::Logarithmic }
    }

    /// Names: the value is the number of one, from zero. The figure has bars then.
    pub const fn names(label: &'static str, names: &'static [&'static str]) -> Self {
        Self { label, scale: Scale::Names(names) }
    }
}

/// Where values lie on an axis.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors; what is not above zero cannot be shown.
    Logarithmic,
    /// Names, of x only.
    Names(&'static [&'static str]),
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How its points were made.
    pub made: Made,
    /// Its points.
    pub points: Vec<Point>,
}

impl Series {
    /// A curve without ranges.
    pub fn new(name: &str, made: Made, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point { x, y, range: None }).collect();
        Self { name: name.to_owned(), made, points }
    }

    /// Published points; `place` is where the paper says them.
    pub fn published(name: &str, place: &'static str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, Made::Published(place), points)
    }
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards: of several measurements, the median.
    pub y: f64,
    /// The least and the most of several measurements.
    pub range: Option<(f64, f64)>,
}

/// How points were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// By others; where they say so.
    Published(&'static str),
    /// On real processors: which machine.
    Real(String),
    /// In a simulation: of what.
    Simulated(String),
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(place) => write!(f, "published: {place}"),
            Self::Real(machine) => write!(f, "real: {machine}"),
            Self::Simulated(of) => write!(f, "simulated: {of}"),
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Seconds: whether a figure can be made. Its points mean little.
    Quick,
    /// Minutes.
    Full,
}

/// What a measurement is told.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// How much is measured.
    pub form: Form,
    /// Decides all that is random.
    pub seed: u64,
    /// Told what is measured now, a line at a time.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Run<'_> {
    /// The quick form, seed 1, in silence.
    pub fn quick() -> Self {
        Self { form: Form::Quick, seed: 1, progress: &|_| () }
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("form", &self.form).field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Why a figure is not there.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something that it needs is not at hand; the others can be made.
    #[error("{0}")]
    Missing(String),
    /// A page has no place for a figure, or no end of one.
    #[error("{0}")]
    Page(String),
    /// A file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The measurement failed.
    #[error(transparent)]
    Failed(#[from] Box<dyn std::error::Error + Send + Sync>),
}
