//! A copy of the tree, in which files may have another text.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy's root, and the texts that its files have in the tree.
pub(super) struct Copy {
    pub(super) root: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
}

impl Copy {
    /// Of the files that git knows or would add.
    pub(super) fn of(tree: &Path, root: PathBuf) -> Result<Self, String> {
        let mut git = Command::new("git");
        git.current_dir(tree).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let output = git.output().map_err(|error| format!("git does not start: {error}"))?;
        let names = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        let mut files = BTreeMap::new();
        for name in names.split_terminator('\0') {
            // one that git still knows may be gone
            if let Ok(bytes) = std::fs::read(tree.join(name)) {
                files.insert(name.to_owned(), bytes);
            }
        }
        Ok(Self { root, files })
    }

    /// Brings all files to their texts; a file that has its text already is not touched, so that cargo compiles anew
    /// only what has changed.
    pub(super) fn write(&self, others: &BTreeMap<String, String>) -> Result<(), String> {
        self.remove_unknown(Path::new("crates"), others)?;
        let own = self.files.iter().filter(|(name, _)| !others.contains_key(*name));
        let own = own.map(|(name, bytes)| (name, bytes.as_slice()));
        let others = others.iter().map(|(name, text)| (name, text.as_bytes()));
        for (name, bytes) in own.chain(others) {
            let path = self.root.join(name);
            if std::fs::read(&path).is_ok_and(|there| there == bytes) {
                continue;
            }
            let folder = path.parent().unwrap_or(&self.root);
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The text of a file of the tree.
    pub(super) fn text(&self, name: &str) -> Result<&str, String> {
        let bytes = self.files.get(name).ok_or_else(|| format!("{name} is not in the tree"))?;
        std::str::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))
    }

    /// A fingerprint of a file of the tree.
    pub(super) fn print_of(&self, name: &str) -> u64 {
        fingerprint(self.files.get(name))
    }

    /// A fingerprint of all crates.
    pub(super) fn print_of_all(&self) -> u64 {
        fingerprint(self.files.iter().filter(|(name, _)| name.starts_with("crates/")).collect::<Vec<_>>())
    }

    /// Removes what an earlier copy had, and this one has not.
    fn remove_unknown(&self, folder: &Path, others: &BTreeMap<String, String>) -> Result<(), String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(folder)) else { return Ok(()) };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            let name = path.to_string_lossy();
            if entry.path().is_dir() {
                self.remove_unknown(&path, others)?;
            } else if !self.files.contains_key(&*name) && !others.contains_key(&*name) {
                std::fs::remove_file(entry.path()).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        Ok(())
    }
}

/// The same each time.
pub(super) fn fingerprint(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
