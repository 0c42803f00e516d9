//! A page in Markdown that shows figures: what stands between their marks is made anew, all else is left as it is.
//!
//! ```text
//! <!-- figure scaledb-8a -->
//! (picture, table, and how the points were made)
//! <!-- end of figure -->
//! ```

use crate::{Evidence, Failure};

/// The end of a figure's place.
const END: &str = "<!-- end of figure -->";

/// The names of the figures that a page has places for.
pub fn figures(page: &str) -> Vec<&str> {
    page.lines().filter_map(name_of).collect()
}

fn name_of(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- figure ")?.strip_suffix(" -->").map(str::trim)
}

/// Fills a figure's place. `pictures` is the directory of the pictures, as the page sees it.
///
/// # Errors
/// [`Failure::Page`]: the page has no place for this figure, or the place does not end.
pub fn fill(page: &str, evidence: &Evidence, pictures: &str) -> Result<String, Failure> {
    let mut lines = page.lines();
    let mut text = String::with_capacity(page.len());
    let mut found = false;
    while let Some(line) = lines.next() {
        text += line;
        text.push('\n');
        if name_of(line) == Some(evidence.name) {
            found = true;
            if !lines.by_ref().any(|line| line.trim() == END) {
                return Err(Failure::Page(format!("the place of {} has no \"{END}\"", evidence.name)));
            }
            text += &section(evidence, pictures);
            text += END;
            text.push('\n');
        }
    }
    match found {
        true => Ok(text),
        false => Err(Failure::Page(format!("the page has no \"<!-- figure {} -->\"", evidence.name))),
    }
}

fn section(evidence: &Evidence, pictures: &str) -> String {
    let Evidence { name, title, source, .. } = evidence;
    let mut text = format!("![{title}]({pictures}/{name}.svg)\n\n{source}; {}.\n\n", evidence.y.label);
    text += &evidence.markdown();
    text.push('\n');
    for line in evidence.origins().iter().chain(&evidence.notes) {
        text += &format!("- {line}\n");
    }
    text.push('\n');
    text
}
