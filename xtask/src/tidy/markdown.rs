//! Links of pages lead to files that exist, and the list of pages has them all.

use super::{File, Finding, Tree};

const RULE: &str = "links";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut found: Vec<Finding> = pages.flat_map(|page| check_page(tree, page)).collect();
    found.extend(unlisted(tree));
    found
}

/// Pages of `docs` that `docs/README.md` does not link to.
fn unlisted(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.file("docs/README.md") else { return Vec::new() };
    let linked: Vec<_> =
        list.text.lines().flat_map(links).filter_map(|link| resolve(&list.path, link)).collect();
    let pages = tree.files.iter().filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"));
    let unlisted = pages.filter(|page| page.path != list.path && !linked.contains(&page.path));
    unlisted.map(|page| list.finding(1, RULE, format!("{} is not listed here: list it", page.path))).collect()
}

fn check_page(tree: &Tree, page: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(page.text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for link in links(line) {
            let path = link.split('#').next().unwrap_or_default();
            let outside = path.contains("://") || path.starts_with("mailto:");
            if path.is_empty() || outside {
                continue;
            }
            if !resolve(&page.path, path).is_some_and(|path| path.is_empty() || tree.has(&path)) {
                found.push(page.finding(
                    number,
                    RULE,
                    format!("`{link}` leads nowhere: mend or remove the link"),
                ));
            }
        }
    }
    found
}

/// The targets of `[text](target)`, outside of `code`.
fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (i, part) in line.split('`').enumerate() {
        // a link's text may be code: its target then begins the next part
        let mut rest = if i % 2 == 0 { part } else { continue };
        if let Some(target) = rest.strip_prefix("](") {
            found.extend(target.split(')').next());
        }
        while let Some(at) = rest[1.min(rest.len())..].find("](").map(|at| at + 1) {
            rest = &rest[at + 2..];
            found.extend(rest.split(')').next());
            rest = rest.split_once(')').map_or("", |(_, rest)| rest);
        }
    }
    found
}

/// The path from the root that a page's relative link means; none if it leaves the repository.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b/c.md", ""), ("README.md", "")]);
        lines(&check(&tree)).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn dead_links_are_found() {
        assert_eq!(found("[x](y.md)\n[x](../../z)\n[ok](b/c.md) and [`x`](c.md)\n"), [1, 2, 3]);
    }

    #[test]
    fn a_page_that_is_not_listed_is_found() {
        let list = ("docs/README.md", "[a](a.md), [b](internals/b.md)");
        let pages = |extra| Tree::of(&[list, ("docs/a.md", ""), ("docs/internals/b.md", ""), (extra, "")]);
        assert!(check(&pages("README.md")).is_empty());
        assert_eq!(lines(&check(&pages("docs/internals/c.md"))), [("docs/README.md", 1)]);
    }

    #[test]
    fn live_links_pass() {
        let text = "[x](b/c.md#there) [`y`](../README.md) [d](b) [u](https://example.org) [h](#here)\n";
        assert!(found(text).is_empty());
        assert!(found("`a[i](j)`\n```\n[x](y)\n```\n").is_empty());
    }
}
