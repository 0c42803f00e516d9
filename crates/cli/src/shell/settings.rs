//! What the user has set: formats, variables.

use std::collections::BTreeMap;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A table
    #[default]
    Aligned,
    /// Values with a separator between them
    Unaligned,
    /// Comma-separated values
    Csv,
    /// An array of objects
    Json,
}

impl Format {
    pub(crate) const NAMES: [(&'static str, Self); 4] = [
        ("aligned", Self::Aligned),
        ("unaligned", Self::Unaligned),
        ("csv", Self::Csv),
        ("json", Self::Json),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

/// Whether each value has a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expanded {
    Off,
    On,
    /// Where the table is wider than the terminal.
    Auto,
}

/// What the user has set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) format: Format,
    pub(crate) expanded: Expanded,
    pub(crate) tuples_only: bool,
    pub(crate) null: String,
    pub(crate) separator: String,
    /// The width that tables must fit, if it is not the terminal's.
    pub(crate) width: Option<usize>,
    pub(crate) timing: bool,
    pub(crate) quiet: bool,
    pub(crate) variables: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            format: Format::Aligned,
            expanded: Expanded::Off,
            tuples_only: false,
            null: String::new(),
            separator: "|".to_owned(),
            width: None,
            timing: false,
            quiet: false,
            variables: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Whether the first error ends a script.
    pub(crate) fn stops_on_error(&self) -> bool {
        self.variables.get("ON_ERROR_STOP").and_then(|value| switch(value)).unwrap_or(false)
    }

    /// The columns of the terminal; `None` if results go elsewhere.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width.or_else(|| terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| w.0.into()))
    }
}

/// A switch as psql reads it.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}
