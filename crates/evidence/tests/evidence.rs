//! Figures are shown as they are.

use scaledb_evidence::{Axis, Evidence, Failure, Figure, Made, Measured, Run, Series, page, picture};

fn figure(x: Axis, y: Axis) -> Figure {
    Figure {
        name: "example-1",
        title: "Times one core",
        source: "Figure 1 of an example",
        x,
        y,
        published: vec![Series::published("theirs", "section 6, \"scaling\"", [(0.0, 1.0), (2.0, 6.4)])],
        measure: Box::new(|_| {
            let mut ours =
                Series::new("ours", Made::Real("2 cores".into()), [(0.0, 1.0), (1.0, 3.5), (2.0, 22.3)]);
            ours.points[2].range = Some((21.0, 24.0));
            Ok(Measured { series: vec![ours], notes: vec!["A note.".into()] })
        }),
    }
}

fn made(x: Axis, y: Axis) -> Evidence {
    figure(x, y).make(&Run::quick()).unwrap()
}

#[test]
fn a_table_has_a_row_per_x_and_a_gap_where_a_series_has_no_point() {
    let evidence = made(Axis::linear("cores"), Axis::linear("times"));
    assert_eq!(
        evidence.table(),
        "  cores             ours  theirs\n  0                    1       1\n  1                  3.5\n  \
         2      22.3 (21 to 24)     6.4\n"
    );
    assert!(evidence.markdown().starts_with("| cores | ours | theirs |\n|---|---:|---:|\n| 0 | 1 | 1 |\n"));
    assert_eq!(evidence.origins(), ["ours: real: 2 cores", "theirs: published: section 6, \"scaling\""]);
}

#[test]
fn quotes_and_commas_of_names_do_not_end_a_field() {
    let csv = made(Axis::linear("cores"), Axis::linear("times")).csv();
    assert_eq!(csv.lines().count(), 6);
    assert!(csv.contains("example-1,ours,real,2 cores,2,22.3,21,24\n"), "{csv}");
    assert!(csv.contains("example-1,theirs,published,\"section 6, \"\"scaling\"\"\",0,1,,\n"), "{csv}");
}

#[test]
fn every_kind_of_axis_is_drawn() {
    let names = Axis::names("way", &["none", "half", "all"]);
    for x in [Axis::linear("cores"), Axis::logarithmic("cores"), names] {
        for y in [Axis::linear("times"), Axis::logarithmic("times")] {
            let evidence = made(x, y);
            let svg = picture::svg(&evidence);
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            for text in ["Times one core", "ours (real)", "theirs (published)"] {
                assert!(svg.contains(text), "{text} is not in the picture");
            }
            let png = picture::png(&evidence).unwrap();
            assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
            assert!(png.len() > 5_000, "it is more than an empty one: {}", png.len());
            assert!(evidence.sketch().contains('*'));
        }
    }
}

#[test]
fn a_figure_without_points_is_drawn_without_them() {
    let mut evidence = made(Axis::linear("cores"), Axis::logarithmic("times"));
    evidence.series.iter_mut().for_each(|series| series.points.clear());
    assert!(picture::svg(&evidence).contains("ours"));
    assert!(evidence.sketch().contains("ours"));
    assert_eq!(evidence.table().lines().count(), 1);
}

#[test]
fn a_page_keeps_what_stands_outside_of_the_places() {
    let evidence = made(Axis::linear("cores"), Axis::linear("times"));
    let before = "# Page\n\n<!-- figure example-1 -->\nold\n<!-- end of figure -->\n\nWhat follows.\n";
    assert_eq!(page::figures(before), ["example-1"]);
    let after = page::fill(before, &evidence, "evidence").unwrap();
    assert!(
        after.starts_with("# Page\n\n<!-- figure example-1 -->\n![Times one core](evidence/example-1.svg)\n")
    );
    assert!(
        after.ends_with("- A note.\n\n<!-- end of figure -->\n\nWhat follows.\n") && !after.contains("old")
    );
    assert_eq!(page::fill(&after, &evidence, "evidence").unwrap(), after, "made twice, it is the same");
    let no_place = page::fill("# Page\n", &evidence, "evidence");
    assert!(matches!(no_place, Err(Failure::Page(_))));
    let no_end = page::fill("<!-- figure example-1 -->\nold\n", &evidence, "evidence");
    assert!(matches!(no_end, Err(Failure::Page(_))));
}

#[test]
fn the_files_of_a_figure_are_written() {
    let directory = std::env::temp_dir().join(format!("scaledb-evidence-{}", std::process::id()));
    made(Axis::linear("cores"), Axis::linear("times")).write(&directory).unwrap();
    let names = ["csv", "svg", "png"].map(|ending| directory.join(format!("example-1.{ending}")).exists());
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(names, [true; 3]);
}
