//! The command as a user meets it.

use std::process::{Command, Output};

fn scaledb(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scaledb")).args(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn bad_arguments_are_explained() {
    let cases: [(&[&str], &str); 18] = [
        (&[], "Usage: scaledb"),
        (&["bench"], "<WORKLOAD>"),
        (&["bench", "tpcd"], "possible values: tpcc"),
        (&["bnch"], "similar subcommand exists: 'bench'"),
        (&["bench", "tpcc", "--threads", "0"], "0 is not in 1..=126"),
        (&["bench", "tpcc", "--threads", "many"], "invalid digit"),
        (&["bench", "tpcc", "--warehouses", "40000"], "40000 is not in 1..=32767"),
        (&["bench", "tpcc", "--seconds", "-1"], "unexpected argument '-1'"),
        (&["bench", "tpcc", "--seconds", "soon"], "a number of seconds is expected"),
        (&["bench", "ycsb-a", "--theta", "9"], "0 (uniform) to 4 is possible"),
        (&["bench", "ycsb-16", "--read-ratio", "101"], "101 is not in 0..=100"),
        (&["bench", "tpcc", "--theta", "0.5"], "--theta does not apply to tpcc"),
        (&["bench", "ycsb-a", "--read-ratio", "5"], "--read-ratio does not apply to ycsb-a"),
        (&["bench", "clock", "--index-updates", "collected"], "--index-updates does not apply to clock"),
        (&["bench", "ycsb-a", "--sql", "wire"], "--sql does not apply to ycsb-a"),
        (&["bench", "tpcc", "--connect", "host=127.0.0.1"], "--connect needs --sql wire"),
        (&["bench", "tpcc", "--sql", "embedded", "--pin"], "--pin does not apply to --sql"),
        (&["bench", "tpcc", "--sql", "wire", "--connect", "host=127.0.0.1 port=1"], "the connection failed"),
    ];
    for (args, message) in cases {
        let output = scaledb(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(message), "{args:?} said:\n{stderr}");
    }
}

#[test]
fn help_names_every_workload() {
    let output = scaledb(&["bench", "--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    let workloads = [
        "tpcc",
        "tpcc-np",
        "tpcc-nd",
        "ycsb-a",
        "ycsb-f",
        "ycsb-16",
        "ycsb-1",
        "ycsb-read-insert",
        "smallbank",
        "seats",
        "epinions",
        "point-select",
        "point-update",
        "clock",
    ];
    assert!(workloads.iter().all(|w| help.contains(&format!("- {w}:"))), "{help}");
}

#[test]
fn demo_shows_and_checks_everything() {
    let output = scaledb(&["demo", "--small", "--seconds", "1.5", "--threads", "2"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    for part in [
        "2 warehouses",
        "listens at 127.0.0.1",
        "conflicts/s",
        "txn/s",
        "Stock-Level",
        "p99.9",
        "Conflicts",
        "One row that 8 connections update",
        "PostgreSQL",
        "nothing is lost",
    ] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    assert_eq!(shown.matches("  ok  ").count(), 12, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    assert!(!shown.contains('\r'), "a pipe is no terminal");
}

#[test]
fn bench_prints_json() {
    for args in [
        &["bench", "tpcc-nd", "--small", "--warehouses", "1"][..],
        &["bench", "tpcc", "--small", "--index-updates", "synchronous", "--snapshot-reads"],
        &["bench", "tpcc", "--small", "--sql", "embedded"],
        &["bench", "tpcc-np", "--small", "--sql", "wire"],
        &["bench", "ycsb-16", "--records", "1000"],
        &["bench", "ycsb-read-insert", "--records", "1000", "--read-ratio", "50"],
        &["bench", "smallbank", "--records", "1000"],
        &["bench", "seats", "--records", "1000"],
        &["bench", "seats", "--records", "1000", "--engine", "cicada", "--snapshot-reads"],
        &["bench", "epinions", "--records", "1000", "--index-updates", "synchronous"],
        &["bench", "epinions", "--records", "1000", "--engine", "cicada"],
    ] {
        let rest = ["--threads", "2", "--seconds", "0.6", "--warmup", "0.1", "--json"];
        let output = scaledb(&[args, &rest].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{args:?}: {e}\n{}{}", text(&output.stdout), text(&output.stderr)));
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", json["check"]);
        assert_eq!(json["workload"], args[1]);
        assert!(json["report"]["commits_per_second"].as_f64().unwrap() > 0.0);
        assert_ne!(json["check"], "not_made");
    }
}

#[test]
fn bench_prints_tables() {
    let output = scaledb(&["bench", "ycsb-f", "--records", "2000", "--seconds", "0.2", "--warmup", "0"]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("Read-Modify-Write") && shown.contains("Check of the database: ok"), "{shown}");
    assert!(!shown.contains("Scan"), "a class without transactions is left out");
    let output = scaledb(&["bench", "clock", "--seconds", "0.2", "--threads", "2"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("1 thread  ") && shown.contains("CLOCK_MONOTONIC"), "{shown}");
}

/// Runs a command whose output is closed when its first line has come; the status, and what it complains of.
fn head(args: &[&str]) -> (Option<i32>, String) {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaledb"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut out = BufReader::with_capacity(16, child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert!(!line.is_empty());
    drop(out);
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let data = tempfile::tempdir().expect("a directory");
    let data = data.path().to_str().expect("text");
    assert!(scaledb(&["shell", data, "-c", "create table t (id int primary key)"]).status.success());
    for args in [
        &["demo", "--alone", "--small", "--seconds", "0.3", "--threads", "1"][..],
        &["bench", "ycsb-f", "--records", "1000", "--seconds", "0.3", "--warmup", "0"],
        &["bench", "clock", "--seconds", "0.1"],
        &["check", data],
        &["log", "dump", data],
        &["shell", "-c", "select * from generate_series(1, 1000000) g"],
        &["shell", "--csv", "-c", "select * from generate_series(1, 1000000) g"],
        &["shell", "-c", "\\?"],
        &["bench", "--help"],
    ] {
        let (status, complaint) = head(args);
        assert_eq!((status, complaint.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_one() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaledb"));
    command.args(["bench", "clock", "--seconds", "0.1"]).stdout(full);
    let output = command.output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("standard output"), "{}", text(&output.stderr));
}

#[test]
#[cfg(feature = "repro")]
fn figures_are_listed_made_and_put_into_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.md");
    std::fs::write(&page, "<!-- figure scaledb-10b -->\n<!-- end of figure -->\nafter\n").unwrap();
    let (out, file) = (directory.path().join("pictures"), page.to_str().unwrap());
    let list = text(&scaledb(&["repro", "list"]).stdout);
    assert!(list.contains("scaledb-8a") && list.contains("cicada-t2"), "{list}");
    let made = scaledb(&[
        "repro",
        "scaledb-10b",
        "--quick",
        "--real",
        "--page",
        file,
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("1 of 1 figures"), "{}", text(&made.stdout));
    let csv = std::fs::read_to_string(out.join("scaledb-10b.csv")).unwrap();
    assert!(
        csv.lines().any(|line| line.starts_with("scaledb-10b,\"shared counter, real cores\",real,")),
        "{csv}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("(pictures/scaledb-10b.svg)") && page.ends_with("after\n"), "{page}");
}

#[test]
#[cfg(feature = "repro")]
fn an_unknown_figure_and_a_missing_simulator_are_told() {
    let unknown = scaledb(&["repro", "scaledb-99"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("there is no figure scaledb-99"), "{}", text(&unknown.stderr));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let failed = scaledb(&["repro", "cicada-7", "--quick", "--out", out, "--simulator", "/nowhere/manycore"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("/nowhere/manycore"), "{}", text(&failed.stderr));
}

/// `make evidence` takes long: what cannot be made must not cost the rest.
#[test]
#[cfg(feature = "repro")]
fn after_a_figure_that_cannot_be_made_the_others_are_and_the_end_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let args = ["repro", "scaledb-9b", "scaledb-10a", "--quick", "--real", "--out", out];
    let first = scaledb(&args);
    assert_eq!(first.status.code(), Some(1));
    assert!(text(&first.stderr).contains("missing: scaledb-9b"), "{}", text(&first.stderr));
    assert!(text(&first.stdout).contains("1 of 2 figures"), "{}", text(&first.stdout));
    assert!(directory.path().join("scaledb-10a.svg").is_file());
    assert!(!text(&first.stdout).contains("; 0 points measured and "), "{}", text(&first.stdout));
    // what is there is not measured again
    let second = text(&scaledb(&args).stdout);
    assert!(second.contains("; 0 points measured and "), "{second}");
    let again = text(&scaledb(&[&args[..], &["--again"]].concat()).stdout);
    assert!(!again.contains("; 0 points measured and "), "{again}");
}

#[test]
fn a_scaling_table_stops_at_the_cores_that_there_are() {
    let args =
        ["bench", "smallbank", "--scale", "1,2,120", "--seconds", "0.2", "--warmup", "0", "--records", "500"];
    let output = scaledb(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (table, left_out) = (text(&output.stdout), text(&output.stderr));
    assert!(table.contains("efficiency") && table.contains("\n  1 ") && table.contains("100.0 %"), "{table}");
    assert!(table.contains("Checks of the databases: ok") && !table.contains("\n  120 "), "{table}");
    assert!(left_out.contains("120 threads"), "{left_out}");
    let both = scaledb(&["bench", "smallbank", "--scale", "1", "--threads", "2"]);
    assert_eq!(both.status.code(), Some(2));
}
