//! Each figure can be made.

use scaledb_scar_lab::figures::{Effort, FIGURES, select};
use std::time::Duration;

#[test]
fn every_figure_is_a_table_of_numbers() {
    let effort = Effort { measured: Duration::from_millis(60), rounds: 1, tiny: true, seed: 1 };
    for figure in FIGURES {
        let table = figure.make(&effort, &mut |_| ()).unwrap();
        assert!(table.rows.len() >= 2, "{}", figure.name);
        for (name, values) in &table.rows {
            assert_eq!(values.len(), table.columns.len(), "{} {name}", figure.name);
            assert!(values.iter().all(|value| value.is_finite()), "{} {name}: {values:?}", figure.name);
            assert!(values.iter().any(|&value| value > 0.0), "{} {name}: {values:?}", figure.name);
        }
        assert_eq!(table.csv(figure.x).lines().count(), table.rows.len() + 1);
    }
}

#[test]
fn a_name_means_one_figure_or_those_of_a_number() {
    let names = |name| select(name).iter().map(|figure| figure.name).collect::<Vec<_>>();
    assert_eq!(names("scar-7"), ["scar-7a", "scar-7b", "scar-7c"]);
    assert_eq!(names("scar-1"), Vec::<&str>::new());
    assert_eq!(names("scar-table-1"), ["scar-table-1"]);
    assert_eq!(names("scar").len(), FIGURES.len());
}
