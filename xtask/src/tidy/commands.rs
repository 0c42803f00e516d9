//! The commands that pages show exist: targets of the Makefile, packages, test programs, benches, examples and features
//! of cargo, scripts, and the subcommands and options of `scaledb`.

use super::manifest;
use super::{File, Finding, Tree};

const RULE: &str = "commands";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages =
        tree.files.iter().filter(|file| file.path.ends_with(".md") && !file.path.starts_with("bench/"));
    pages.flat_map(|page| check_page(tree, page)).collect()
}

fn check_page(tree: &Tree, page: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, command) in commands(&page.text) {
        for what in check_command(tree, &command) {
            found.push(page.finding(line, RULE, format!("`{}`: {what}", command.trim())));
        }
    }
    found
}

/// What a page shows as code: the lines of its fenced blocks, joined where a backslash ends one, and code within lines.
fn commands(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut fenced, mut open) = (Vec::new(), false, None);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let (start, before) = open.take().unwrap_or((number, String::new()));
            let line = line.trim();
            match line.strip_suffix('\\') {
                Some(part) => open = Some((start, format!("{before}{part} "))),
                None => found.push((start, before + line)),
            }
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(|code| (number, code.to_owned())));
        }
    }
    found
}

/// What is wrong with a command, if it is one of those that are known.
fn check_command(tree: &Tree, command: &str) -> Vec<String> {
    let command = command.split(" #").next().unwrap_or_default();
    command.split("&&").flat_map(|part| check_part(tree, part)).collect()
}

fn check_part(tree: &Tree, command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    // RUSTFLAGS='--cfg loom' is two words
    let ours =
        |word: &str| matches!(word, "make" | "cargo" | "python3" | "scaledb" | "target/release/scaledb");
    let start = words.iter().position(|word| ours(word) || is_script(word));
    let Some(start) = start else { return Vec::new() };
    if !words[..start]
        .iter()
        .all(|word| word.contains('=') || matches!(*word, "--cfg" | "loom" | "shuttle" | "perturb"))
    {
        return Vec::new();
    }
    let rest = &words[start + 1..];
    match words[start] {
        "make" => rest
            .iter()
            .filter(|word| !word.contains('=') && !word.starts_with('-'))
            .filter(|target| !is_target(tree, target))
            .map(|target| format!("the Makefile has no target {target}"))
            .collect(),
        "cargo" => check_cargo(tree, rest),
        "scaledb" | "target/release/scaledb" => check_scaledb(tree, rest),
        "python3" => rest.first().into_iter().filter_map(|script| missing(tree, script)).collect(),
        script => missing(tree, script.trim_start_matches("./")).into_iter().collect(),
    }
}

fn is_script(word: &str) -> bool {
    word.starts_with("./") && !word.starts_with("./target")
}

fn missing(tree: &Tree, path: &str) -> Option<String> {
    (!tree.has(path)).then(|| format!("there is no {path}"))
}

fn is_target(tree: &Tree, target: &str) -> bool {
    let makefile = tree.file("Makefile").map_or("", |file| &file.text);
    makefile.lines().any(|line| line.strip_prefix(target).is_some_and(|rest| rest.starts_with(':')))
}

fn check_cargo(tree: &Tree, words: &[&str]) -> Vec<String> {
    let own = words.split(|word| *word == "--").next().unwrap_or_default();
    let given = words.get(own.len() + 1..).unwrap_or_default();
    let values = |names: &'static [&'static str]| {
        own.windows(2).filter(move |pair| names.contains(&pair[0])).map(|pair| pair[1])
    };
    let mut wrong = Vec::new();
    if own.first() == Some(&"run") && own.contains(&"scaledb-cli") {
        wrong.extend(check_scaledb(tree, given));
    }
    let mut crates = Vec::new();
    for package in values(&["-p", "--package"]) {
        match directory_of(tree, package) {
            Some(directory) => crates.push(directory),
            None => wrong.push(format!("there is no package {package}")),
        }
    }
    let named =
        |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c));
    for (option, place) in [("--test", "tests"), ("--bench", "benches"), ("--example", "examples")] {
        let targets = own.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1]);
        for target in targets.filter(|target| named(target)) {
            let there = |directory: &&str| {
                tree.has(&format!("{directory}/{place}/{target}.rs"))
                    || tree.has(&format!("{directory}/{place}/{target}/main.rs"))
            };
            if !crates.iter().any(there) {
                wrong.push(format!("none of its packages has {place}/{target}.rs"));
            }
        }
    }
    for feature in values(&["--features"]) {
        let declared = |directory: &&str| {
            let manifest = tree.file(&format!("{directory}/Cargo.toml")).map_or("", |file| &file.text);
            manifest.lines().any(|line| line.strip_prefix(feature).is_some_and(|rest| rest.starts_with(" =")))
        };
        if !crates.iter().any(declared) {
            wrong.push(format!("none of its packages has the feature {feature}"));
        }
    }
    wrong
}

/// The files that say what the command line of `scaledb` is.
const ARGUMENTS: &[&str] = &[
    "crates/cli/src/args.rs",
    "crates/cli/src/args/bench.rs",
    "crates/cli/src/args/cluster.rs",
    "crates/cli/src/shell/mod.rs",
];

/// Subcommands are variants of the enum `Command`; options are fields of the structs of arguments, or have their name
/// in an attribute.
fn check_scaledb(tree: &Tree, words: &[&str]) -> Vec<String> {
    let texts = ARGUMENTS.iter().filter_map(|path| tree.file(path)).map(|file| file.text.as_str());
    let lines: Vec<&str> = texts.flat_map(str::lines).map(str::trim).collect();
    let mut wrong = Vec::new();
    if let Some(subcommand) = words.first().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
    {
        let variant = |line: &&str| {
            let name = line.split(['(', ',', ' ']).next().unwrap_or_default();
            line.starts_with(|c: char| c.is_ascii_uppercase()) && name.to_lowercase() == *subcommand
        };
        if !lines.iter().any(variant) {
            wrong.push(format!("scaledb has no subcommand {subcommand}"));
        }
    }
    for option in words.iter().filter_map(|word| word.strip_prefix("--")).filter(|option| !option.is_empty())
    {
        let option = option.split('=').next().unwrap_or_default();
        let field = format!("pub(crate) {}:", option.replace('-', "_"));
        let named = format!("long = \"{option}\"");
        let there = |line: &&str| line.starts_with(&field) || line.contains(&named);
        if !matches!(option, "help" | "version") && !lines.iter().any(there) {
            wrong.push(format!("scaledb has no option --{option}"));
        }
    }
    wrong
}

/// The directory of a package of the workspace.
fn directory_of<'a>(tree: &'a Tree, package: &str) -> Option<&'a str> {
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let mut named =
        manifests.filter(|file| manifest::package(&file.text).is_some_and(|name| name == package));
    named.next().and_then(|file| file.path.strip_suffix("/Cargo.toml"))
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(page: &str) -> Vec<usize> {
        let manifest = "[package]\nname = \"scaledb-verify\"\n[features]\nmutations = []\n";
        let files = [
            ("docs/a.md", page),
            ("Makefile", "test: tidy ## All\ntidy:\n"),
            ("bench/a.py", ""),
            (".ci/run", ""),
            ("crates/verify/Cargo.toml", manifest),
            ("crates/verify/tests/histories.rs", ""),
            ("crates/verify/tests/log/main.rs", ""),
            ("crates/cli/Cargo.toml", "[package]\nname = \"scaledb-cli\"\n"),
            (ARGUMENTS[0], "enum Command {\n    Bench(BenchArgs),\n}\n    pub(crate) read_ratio: u8,\n"),
        ];
        lines(&check(&Tree::of(&files))).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn commands_of_what_is_there_pass() {
        assert!(found("`make test` and `make tidy SEED=1`, but `make` alone is a word\n").is_empty());
        assert!(
            found("`scaledb bench tpcc --read-ratio=5 --help`, `cargo run -p scaledb-cli -- bench`\n")
                .is_empty()
        );
        let block = "```sh\nA=1 cargo test -p scaledb-verify --test histories   # --test gone\n\
                     RUSTFLAGS='--cfg loom' B=2 \\\n  cargo test -p scaledb-verify --features mutations --test log -- --test x\n\
                     ./.ci/run\npython3 bench/a.py\n```\n";
        assert_eq!(found(block), [0; 0]);
    }

    #[test]
    fn commands_of_what_is_not_there_are_found() {
        assert_eq!(found("`make gone`\n"), [1]);
        assert_eq!(found("\n`cargo test -p scaledb-gone`\n"), [2]);
        assert_eq!(found("`cargo test -p scaledb-verify --test gone`\n"), [1]);
        assert_eq!(found("`cargo test -p scaledb-verify --features gone`\n"), [1]);
        assert_eq!(found("`scaledb gone` and `scaledb bench tpcc --gone`\n"), [1, 1]);
        assert_eq!(found("`cargo run -p scaledb-cli -- gone`\n"), [1]);
        assert_eq!(found("```sh\nA=1 \\\n  ./gone.sh\npython3 gone.py\n```\n"), [2, 4]);
    }
}
