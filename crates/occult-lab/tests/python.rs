//! The client for Python, against real servers.
//!
//! `make test-occult` builds the wheel and names the interpreter that has it. Elsewhere the test says that it is
//! skipped.

mod support;

use scaledb_occult_lab::{Options, Shape, Weather};
use std::process::Command;
use std::time::Duration;

#[test]
fn python_does_not_see_less_than_rust() {
    let Some(python) = std::env::var_os("SCALEDB_OCCULT_PYTHON") else {
        eprintln!("SKIPPED: no SCALEDB_OCCULT_PYTHON (make test-occult sets it where there is a Python)");
        return;
    };
    let late = Weather { one_way: Duration::from_millis(20), cut: false };
    let options =
        Options { shape: Shape { masters: 3, replicas: true }, weather: late, ..Options::default() };
    let Some(lab) = support::lab(&options) else { return };
    let seeds: Vec<String> = lab.seeds().into_iter().map(|at| format!("redis://{at}")).collect();
    let near = |datacenter| {
        let pairs = lab.addresses(datacenter).into_iter();
        let pairs: Vec<String> = pairs.map(|(from, to)| format!("\"{from}\":\"{to}\"")).collect();
        format!("{{{}}}", pairs.join(","))
    };
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../occult-python/tests/client.py"))
        .env("OCCULT_SEEDS", seeds.join(","))
        .env("OCCULT_ADDRESSES", format!("[{},{}]", near(0), near(1)))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.trim() == "ok", "{out}\n{err}");
}
