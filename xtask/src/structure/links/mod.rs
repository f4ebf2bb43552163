//! Checks the links of the documentation: a relative link leads to a file that exists, an anchor to
//! a heading, and the table of contents of the book names every page of it.

mod markdown;

use std::collections::BTreeMap;
use std::path::Path;

use super::Complaints;
use super::files;
use crate::process;
use markdown::Link;

/// The directory of the book, and its table of contents.
const BOOK: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

/// The pages of documentation by path, with their texts.
type Pages = BTreeMap<String, String>;

pub(super) fn all_links_work() -> anyhow::Result<Complaints> {
    Ok(broken(&pages()?, |file| process::root().join(file).exists()))
}

pub(super) fn the_summary_links_all_pages() -> anyhow::Result<Complaints> {
    unlisted(&pages()?)
}

fn pages() -> anyhow::Result<Pages> {
    files::pages()?.into_iter().map(|page| Ok((page.clone(), files::text_of(Path::new(&page))?))).collect()
}

/// Complains about links that lead nowhere.
fn broken(pages: &Pages, exists: impl Fn(&str) -> bool) -> Complaints {
    let mut complaints = Complaints::new();
    for (page, text) in pages {
        for Link { line, target } in markdown::links(text) {
            if let Some(problem) = problem(page, &target, pages, &exists) {
                complaints.push(format!("{page}:{line}: the link `{target}` {problem}"));
            }
        }
    }
    complaints
}

fn problem(page: &str, target: &str, pages: &Pages, exists: &impl Fn(&str) -> bool) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let Some(file) = resolve(page, path) else {
        return Some("leads out of the repository; write a path relative to the page".to_owned());
    };
    if page.starts_with(BOOK) && !file.starts_with(BOOK) {
        return Some(format!("leads out of {BOOK}, so it is dead in the book; name the file in backticks instead"));
    }
    let Some(text) = pages.get(&file) else {
        return (!exists(&file)).then(|| format!("leads to {file}, which does not exist; correct the path"));
    };
    let anchor = anchor.filter(|anchor| !markdown::anchors(text).contains(*anchor))?;
    Some(format!("leads to the heading #{anchor}, which {file} does not have; correct the anchor"))
}

/// Returns the path of a link relative to the root; `None` if it is absolute or above the root.
fn resolve(page: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(page.to_owned());
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." => {}
            // The first part of an absolute path is empty.
            "" if path.starts_with('/') => return None,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Complains about pages of the book that its table of contents does not name, or names twice.
fn unlisted(pages: &Pages) -> anyhow::Result<Complaints> {
    let Some(summary) = pages.get(SUMMARY) else {
        anyhow::bail!("{SUMMARY} not found; it is the table of contents of the book");
    };
    let listed: Vec<String> =
        markdown::links(summary).iter().filter_map(|link| resolve(SUMMARY, &link.target)).collect();
    let mut complaints = Complaints::new();
    for page in pages.keys().filter(|page| page.starts_with(BOOK) && *page != SUMMARY) {
        match listed.iter().filter(|entry| *entry == page).count() {
            0 => complaints.push(format!("{page} is not in {SUMMARY}; add it to a section")),
            1 => {}
            times => complaints.push(format!("{page} is in {SUMMARY} {times} times; keep one entry")),
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(of: &[(&str, &str)]) -> Pages {
        of.iter().map(|(page, text)| ((*page).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_link_to_a_page_a_file_a_heading_or_another_site_works() {
        let pages = pages(&[
            ("README.md", "[a](docs/a.md) [b](docs/a.md#the-words) [c](LICENSE) [d](https://example.org/x#y)\n"),
            ("docs/a.md", "## The words\n[up](#the-words) [b](./b.md) ![p](p.svg)\n"),
            ("docs/b.md", "[a](a.md)\n"),
        ]);
        assert_eq!(broken(&pages, |file| ["LICENSE", "docs/p.svg"].contains(&file)), Complaints::new());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_reported_with_its_line() {
        let pages = pages(&[
            ("README.md", "x\n[a](docs/none.md)\n\n[b](docs/a.md#none) [c](../x) [d](/etc)\n"),
            ("docs/a.md", "[e](#none) [f](../README.md) [g](p.svg)\n"),
        ]);
        let complaints = broken(&pages, |_| false);
        let beginnings: Vec<_> = complaints.iter().filter_map(|line| line.split(", ").next()).collect();
        assert_eq!(
            beginnings,
            [
                "README.md:2: the link `docs/none.md` leads to docs/none.md",
                "README.md:4: the link `docs/a.md#none` leads to the heading #none",
                "README.md:4: the link `../x` leads out of the repository; write a path relative to the page",
                "README.md:4: the link `/etc` leads out of the repository; write a path relative to the page",
                "docs/a.md:1: the link `#none` leads to the heading #none",
                "docs/a.md:1: the link `../README.md` leads out of docs/",
                "docs/a.md:1: the link `p.svg` leads to docs/p.svg",
            ]
        );
    }

    #[test]
    fn a_page_that_the_summary_omits_or_repeats_is_reported() {
        let summary = "# Summary\n\n- [A](a.md)\n  - [A again](a.md)\n- [B](b.md)\n";
        let pages =
            pages(&[(SUMMARY, summary), ("README.md", ""), ("docs/a.md", ""), ("docs/b.md", ""), ("docs/c.md", "")]);
        assert_eq!(
            unlisted(&pages).unwrap(),
            [
                "docs/a.md is in docs/SUMMARY.md 2 times; keep one entry",
                "docs/c.md is not in docs/SUMMARY.md; add it to a section"
            ]
        );
        assert!(unlisted(&Pages::new()).is_err(), "a book without a table of contents");
    }
}
