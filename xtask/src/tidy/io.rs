//! Files and the network belong to few crates: the engine can then run on a simulated disk and clock.

use super::{Finding, Tree, has_word};

const RULE: &str = "io";

/// Crates that may do I/O: those that face the system, or whoever runs tests and benchmarks.
const ALLOWED: &[&str] = &[
    "cli",
    "client",
    "cluster",
    "evidence",
    "figures",
    "log",
    "manycore",
    "occult-bench",
    "occult-lab",
    "scar-lab",
    "server",
    "verify",
    "workloads",
];

/// Paths and types that mean I/O.
const PATHS: &[&str] = &["std::fs", "std::net", "std::os", "File::open", "File::create"];
const TYPES: &[&str] = &["TcpStream", "TcpListener", "UdpSocket", "OpenOptions"];

/// The line between the engine and the person who runs it.
const PRINTS: &[&str] = &["println!", "eprintln!", "print!", "eprint!"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        if !file.is_rust()
            || !file.is_production()
            || file.krate().is_some_and(|krate| ALLOWED.contains(&krate))
        {
            continue;
        }
        for (number, line) in file.source.numbered().filter(|(_, line)| !line.test) {
            let code = &line.code;
            let io = PATHS.iter().find(|path| code.contains(**path));
            let io = io.or_else(|| TYPES.iter().find(|name| has_word(code, name)));
            if let Some(io) = io {
                let what = format!("no I/O here (`{io}`): it belongs to {}", ALLOWED.join(", "));
                found.push(file.finding(number, RULE, what));
            }
            if let Some(print) = PRINTS.iter().find(|print| has_word(code, print)) {
                let what = format!("a library does not print (`{print}`): return it to the caller");
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn io_in_the_engine_is_found() {
        let text = "use std::fs;\nlet s: TcpStream;\nprintln!(\"\");\n";
        let found = check(&Tree::of(&[("crates/acc/src/a.rs", text)]));
        assert_eq!(lines(&found).len(), 3);
    }

    #[test]
    fn io_elsewhere_passes() {
        let text = "use std::fs;\n";
        let places = ["crates/cli/src/main.rs", "crates/index/benches/b.rs", "xtask/src/main.rs"];
        assert!(check(&Tree::of(&places.map(|place| (place, text)))).is_empty());
    }
}
