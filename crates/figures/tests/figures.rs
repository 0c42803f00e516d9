//! Every figure can be made.

use scaledb_evidence::{Failure, Figure, Run};
use scaledb_figures::lab::{Lab, Settings};
use scaledb_figures::select;
use scaledb_sync::Arc;
use std::collections::BTreeSet;

fn all() -> Vec<Figure> {
    scaledb_figures::all(&Arc::new(Lab::new(Settings::default()).expect("no file is read")))
}

#[test]
fn names_are_unique_and_say_the_paper() {
    let figures = all();
    let names: BTreeSet<_> = figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names.len(), figures.len());
    assert!(names.iter().all(|name| name.split_once('-').is_some_and(|(_, number)| !number.is_empty())));
}

#[test]
fn a_number_does_not_mean_those_that_begin_with_it() {
    let of = |name: &str| -> Vec<_> {
        let figures = select(all(), &[name.to_owned()]).unwrap_or_default();
        figures.into_iter().map(|figure| figure.name).collect()
    };
    assert_eq!(of("scaledb-10b"), ["scaledb-10b"]);
    assert!(!of("scaledb-1").contains(&"scaledb-10b"));
    assert!(of("scaledb-10").contains(&"scaledb-10b") && of("scaledb").contains(&"scaledb-10b"));
    assert_eq!(of("all").len(), all().len());
    assert!(of("nobody").is_empty());
}

/// Without a simulator, what is simulated is missing, and says so; nothing else may fail.
#[test]
fn every_figure_is_made_in_its_quick_form() {
    for figure in all() {
        match figure.make(&Run::quick()) {
            Ok(evidence) => {
                let ours = evidence.series.len() - figure.published.len();
                assert!(ours > 0 && !evidence.xs().is_empty(), "{} is empty", figure.name);
            }
            Err(Failure::Missing(what)) => eprintln!("{}: SKIPPED: {what}", figure.name),
            Err(other) => panic!("{}: {other}", figure.name),
        }
    }
}
