//! Manifests: as much of `Cargo.toml` as the rules need.

/// A dependency as a manifest names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// None if the version is the workspace's, or there is only a path.
    pub(crate) version: Option<String>,
    pub(crate) path: bool,
    pub(crate) kind: Kind,
    /// From 1.
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Dev,
    Build,
    Workspace,
}

/// The dependencies of a manifest.
pub(crate) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section: Option<Kind> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            section = kind(header);
            // `[dependencies.name]`
            if let (None, Some((parent, name))) = (section, header.rsplit_once('.'))
                && let Some(kind) = kind(parent)
            {
                found.push(Dependency {
                    name: name.to_owned(),
                    version: None,
                    path: false,
                    kind,
                    line: number,
                });
            }
            continue;
        }
        let (Some(kind), Some((key, value))) = (section, line.split_once('=')) else { continue };
        if line.starts_with('#') {
            continue;
        }
        let key = key.trim();
        let name = key.split('.').next().unwrap_or(key).trim_matches('"');
        let value = value.trim();
        let version = if value.starts_with('"') { quoted(value) } else { field(value, "version") };
        let path = field(value, "path").is_some();
        // `name = { package = "real", ... }`
        let name = field(value, "package").unwrap_or_else(|| name.to_owned());
        found.push(Dependency { name, version, path, kind, line: number });
    }
    found
}

fn kind(header: &str) -> Option<Kind> {
    match header {
        "workspace.dependencies" => Some(Kind::Workspace),
        _ => match header
            .strip_prefix("target.")
            .map_or(header, |rest| rest.rsplit('.').next().unwrap_or(rest))
        {
            "dependencies" => Some(Kind::Normal),
            "dev-dependencies" => Some(Kind::Dev),
            "build-dependencies" => Some(Kind::Build),
            _ => None,
        },
    }
}

fn quoted(value: &str) -> Option<String> {
    value.split('"').nth(1).map(str::to_owned)
}

/// A string field of an inline table.
fn field(value: &str, name: &str) -> Option<String> {
    let at = super::words(value, name).find(|at| value[at + name.len()..].trim_start().starts_with('='))?;
    quoted(&value[at..])
}

/// The `name` of the package.
pub(crate) fn package(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    let line = lines.find(|line| line.starts_with("name") || line.starts_with('['))?;
    quoted(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_name_a_dependency() {
        let found = dependencies(
            "[package]\nname = \"p\"\n[dependencies]\na.workspace = true\nb = \"1.2\"\n# c = \"3\"\n\
             [target.'cfg(loom)'.dev-dependencies]\nd = { version = \"4\", features = [\"std\"] }\n\
             [dependencies.e]\nversion = \"5\"\n[workspace.dependencies]\nf = { path = \"crates/f\" }\n\
             [features]\ng = []\n",
        );
        let short: Vec<_> =
            found.iter().map(|d| (d.name.as_str(), d.version.as_deref(), d.path, d.kind, d.line)).collect();
        assert_eq!(
            short,
            [
                ("a", None, false, Kind::Normal, 4),
                ("b", Some("1.2"), false, Kind::Normal, 5),
                ("d", Some("4"), false, Kind::Dev, 8),
                ("e", None, false, Kind::Normal, 9),
                ("f", None, true, Kind::Workspace, 12),
            ]
        );
    }

    #[test]
    fn the_package_is_named() {
        assert_eq!(package("[package]\nname = \"scaledb-acc\"\n"), Some("scaledb-acc".to_owned()));
        assert_eq!(package("[workspace]\n"), None);
    }
}
