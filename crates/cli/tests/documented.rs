//! The commands that the pages show: each of them runs here, or the table below says why it does not, and what runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Commands that are not run here, by how they begin, and why.
const NOT_HERE: &[(&str, &str)] = &[
    ("make ", "make test and make demo run these targets, or they are longer ones that are called by hand"),
    ("./.ci/run", "runs this test"),
    ("cargo test ", "runs tests for as long as it is told; make test runs the same tests for a short time"),
    ("cargo run --release -p scaledb-manycore ", "make test-sim builds the simulated machine and runs on it"),
    (
        "target/release/scaledb repro scaledb-8a",
        "needs the simulator; the tests of crates/figures make figures",
    ),
    ("target/release/scaledb repro cicada", "likewise"),
    ("target/release/scaledb repro occult", "the tests of crates/figures make each in its quick form"),
    ("target/release/scaledb repro scar", "the tests of crates/figures make each figure in its quick form"),
    ("scaledb serve ", "does not end by itself: tests/served runs servers"),
    ("scaledb shell --connect ", "needs a server: tests/shell.rs connects to one"),
];

/// How the pages run the command from a checkout; here it is built already.
const FROM_CHECKOUT: &[&str] = &["cargo run --release -p scaledb-cli -- ", "target/release/scaledb "];

/// What makes a benchmark or a demonstration of a page a short one: `(command, options)`.
const SHORTER: &[(&str, &str)] = &[
    ("scaledb bench ", " --small --warmup 0.1 --seconds 0.3"),
    ("scaledb demo", " --small --alone --exit --threads 2 --seconds 1"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, the guide for contributors, and all pages in docs.
fn pages() -> Vec<PathBuf> {
    fn add(directory: &Path, pages: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, pages);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    add(&root().join("docs"), &mut pages);
    pages.sort();
    pages
}

/// The commands in the shell blocks of a page: without comments, and with lines joined where a backslash ends one.
fn commands(page: &str) -> Vec<String> {
    let (mut commands, mut shell, mut other, mut open) = (Vec::new(), false, false, String::new());
    for line in page.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            let is_shell = matches!(language, "sh" | "bash" | "console");
            (shell, other) = (!shell && !other && is_shell, !shell && !other && !is_shell);
        } else if shell {
            // a comment begins behind a space, which no command here has in quotes
            let command = line.split(" #").next().unwrap_or_default().trim();
            if command.starts_with('#') {
                continue;
            }
            match command.strip_suffix('\\') {
                Some(part) => open.push_str(part),
                None => {
                    let command = std::mem::take(&mut open) + command;
                    commands.extend(Some(command).filter(|command| !command.is_empty()));
                }
            }
        }
    }
    commands
}

/// A command without the variables that it sets.
fn bare(command: &str) -> &str {
    let mut rest = command;
    while let Some((name, behind)) = rest.split_once('=') {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            break;
        }
        // a value in quotes, or one that ends at the next space
        let end = match behind.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map(|end| end + 2),
            None => behind.find(' '),
        };
        let Some(end) = end else { break };
        rest = behind[end..].trim_start();
    }
    rest
}

/// What is run here for a command of a page; `None` if the table has it.
fn run_as(command: &str) -> Option<String> {
    let command = bare(command);
    if NOT_HERE.iter().any(|(start, _)| command.starts_with(start)) {
        return None;
    }
    let command = match FROM_CHECKOUT.iter().find_map(|start| command.strip_prefix(start)) {
        Some(arguments) => format!("scaledb {arguments}"),
        None => command.to_owned(),
    };
    let Some((_, options)) = SHORTER.iter().find(|(start, _)| command.starts_with(start)) else {
        return Some(command);
    };
    if command.ends_with("--help") {
        return Some(command);
    }
    let mut words: Vec<&str> = command.split_whitespace().collect();
    if let Some(at) = words.iter().position(|word| *word == "--seconds") {
        words.drain(at..at + 2);
    }
    Some(words.join(" ") + options)
}

#[test]
fn every_command_of_the_pages_runs() {
    let directory = std::env::temp_dir().join(format!("scaledb-documented-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_scaledb")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut used = vec![false; NOT_HERE.len()];
    let mut ran = Vec::new();
    // the shell of a page selects from this table
    let setup = "scaledb shell data -c 'create table t (id int primary key)'".to_owned();
    let mut shown = vec![("the test".to_owned(), setup)];
    for page in pages() {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        for command in commands(&std::fs::read_to_string(&page).unwrap()) {
            shown.push((name.clone(), command));
        }
    }
    for (page, command) in shown {
        let Some(run) = run_as(&command) else {
            for (row, used) in NOT_HERE.iter().zip(&mut used) {
                *used |= bare(&command).starts_with(row.0);
            }
            continue;
        };
        if ran.contains(&run) {
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", &run])
            .current_dir(&directory)
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{page}: {command}\nrun as {run}: {}\n{said}", output.status);
        ran.push(run);
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(ran.len() > 6, "the commands are found: {ran:?}");
    for ((start, _), used) in NOT_HERE.iter().zip(used) {
        assert!(used, "no page shows a command that begins with `{start}`: remove the row");
    }
}

#[test]
fn commands_are_read_from_pages_as_a_shell_would() {
    let page = "```sh\nA=1 B='x y' make a \\\n    b   # why\n# no command\n\n```\ntext\n```rust\nlet no = 1;\n```\n\
                ```console\nscaledb bench tpcc --seconds 10 --threads 2\n```\n";
    assert_eq!(commands(page), ["A=1 B='x y' make a b", "scaledb bench tpcc --seconds 10 --threads 2"]);
    assert_eq!(bare("A=1 B='x y' make a b"), "make a b");
    assert_eq!(bare("make X=1"), "make X=1");
    assert_eq!(run_as("A=1 make a"), None);
    let short = run_as(&format!("{}bench tpcc --seconds 10 --threads 2", FROM_CHECKOUT[0])).unwrap();
    assert_eq!(short, format!("scaledb bench tpcc --threads 2{}", SHORTER[0].1));
    assert_eq!(run_as("scaledb bench --help").as_deref(), Some("scaledb bench --help"));
}
