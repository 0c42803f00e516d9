//! What can be changed in a crate, as cargo-mutants lists it.

use std::ops::Range;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Genre {
    /// The body of a function becomes an expression.
    Body,
    /// An operator between two operands becomes another.
    Binary,
    /// An operator before an operand goes.
    Unary,
    /// A guard of an arm becomes true or false.
    Guard,
    /// An arm goes.
    Arm,
    /// A field of a struct expression goes; the base has it.
    Field,
}

/// One change.
#[derive(Clone, Debug)]
pub(super) struct Mutant {
    /// What cargo-mutants calls it, with its place.
    pub(super) name: String,
    /// Its file, from the root of the repository.
    pub(super) file: String,
    pub(super) genre: Genre,
    /// What it replaces, in bytes of the file.
    pub(super) span: Range<usize>,
    pub(super) replacement: String,
}

/// All mutants of a crate, in the order of their files and places.
pub(super) fn list(root: &Path, krate: &str) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--list", "--json", "--package", &format!("scaledb-{krate}")]);
    let output = command.output().map_err(|error| format!("cargo mutants does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo mutants lists nothing (is it installed?): {said}"));
    }
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let mut files: Vec<(String, String)> = Vec::new();
    all.iter()
        .map(|mutant| {
            let file = string(mutant, "file")?;
            if files.last().is_none_or(|(last, _)| *last != file) {
                let path = root.join(&file);
                let text =
                    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                files.push((file.clone(), text));
            }
            let text = &files[files.len() - 1].1;
            let at = |end: &str| offset(text, &mutant["span"][end]);
            Ok(Mutant {
                name: string(mutant, "name")?,
                genre: genre(&string(mutant, "genre")?)?,
                span: at("start")?..at("end")?,
                replacement: string(mutant, "replacement")?,
                file,
            })
        })
        .collect()
}

fn string(mutant: &Value, field: &str) -> Result<String, String> {
    mutant[field].as_str().map(str::to_owned).ok_or_else(|| format!("a mutant without {field}: {mutant}"))
}

fn genre(name: &str) -> Result<Genre, String> {
    Ok(match name {
        "FnValue" => Genre::Body,
        "BinaryOperator" => Genre::Binary,
        "UnaryOperator" => Genre::Unary,
        "MatchArmGuard" => Genre::Guard,
        "MatchArm" => Genre::Arm,
        "StructField" => Genre::Field,
        _ => return Err(format!("cargo mutants makes mutants of a kind that is new here: {name}")),
    })
}

/// The byte at a line and a column, which count from one, and characters.
fn offset(text: &str, place: &Value) -> Result<usize, String> {
    let number = |field: &str| {
        place[field].as_u64().map(|number| number as usize).ok_or_else(|| format!("no {field} in {place}"))
    };
    let (line, column) = (number("line")?, number("column")?);
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let before = text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>();
    Ok(start + before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_of_lines() {
        let place = |line: u64, column: u64| serde_json::json!({"line": line, "column": column});
        let text = "one\n\u{e9}two\n";
        assert_eq!(offset(text, &place(1, 1)), Ok(0));
        assert_eq!(offset(text, &place(2, 2)), Ok(6));
        assert!(offset(text, &serde_json::json!({})).is_err());
    }
}
