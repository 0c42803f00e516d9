//! Tells which sources the program is built from: a simulator must be of the same as who asks it, and a point that was
//! measured holds for these sources alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let crates = Path::new("..");
    let (mut wanted, mut seen) = (vec!["manycore".to_owned()], BTreeSet::new());
    while let Some(name) = wanted.pop() {
        let manifest =
            fs::read_to_string(crates.join(&name).join("Cargo.toml")).expect("a crate has a manifest");
        let ours = |line: &str| Some(line.strip_prefix("scaledb-")?.split(['.', ' ']).next()?.to_owned());
        if seen.insert(name) {
            wanted.extend(manifest.lines().filter_map(ours).filter(|name| crates.join(name).is_dir()));
        }
    }
    let mut files = Vec::new();
    for name in &seen {
        let directory = crates.join(name);
        files.push(directory.join("Cargo.toml"));
        files_below(&directory.join("src"), &mut files);
        println!("cargo::rerun-if-changed={}", directory.join("src").display());
        println!("cargo::rerun-if-changed={}", directory.join("Cargo.toml").display());
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let text = fs::read(&file).expect("a source file can be read");
        for byte in file.to_string_lossy().bytes().chain(text) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3); // FNV-1a
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=MANYCORE_SOURCES={hash:016x}");
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a crate has sources") {
        let path = entry.expect("a directory can be read").path();
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}
