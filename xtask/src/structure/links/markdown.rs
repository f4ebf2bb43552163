//! Reads links and headings from a page of Markdown: as much of the syntax as our pages use, without
//! a parser. Code is no text: what it contains is neither a link nor a heading.

use std::collections::{BTreeMap, BTreeSet};

/// A link or picture, with the number of its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) line: usize,
    pub(super) target: String,
}

/// Returns the targets of all links and pictures: inline, and of definitions (`[name]: target`).
pub(super) fn links(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (first, block) in blocks(page) {
        let text = without_code(&block);
        for (at, _) in text.match_indices("](") {
            let line = first + text[..at].matches('\n').count();
            links.extend(target(&text[at + 2..]).map(|target| Link { line, target }));
        }
        for (number, line) in text.lines().enumerate() {
            let definition = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'));
            let target = definition.and_then(|rest| rest.split_once("]:")).map(|(_, target)| target.trim());
            let target = target.and_then(|target| target.split_whitespace().next());
            links.extend(target.map(|target| Link { line: first + number, target: target.to_owned() }));
        }
    }
    links
}

/// Returns the anchors of all headings, as GitHub and mdBook form them.
pub(super) fn anchors(page: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, block) in blocks(page) {
        for text in block.lines().filter_map(heading) {
            let anchor = anchor(text);
            let count = counts.entry(anchor.clone()).or_default();
            anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
            *count += 1;
        }
    }
    anchors
}

/// Returns the text of a heading, if the line is one.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim().trim_end_matches('#').trim_end())
}

/// Returns the anchor of a heading: its words in lower case, joined by hyphens.
fn anchor(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    // Of a link only its words count.
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the target that begins after `](`: up to the closing parenthesis, without a title.
fn target(text: &str) -> Option<String> {
    let mut depth = 0_u32;
    let end = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        false
    })?;
    let target = text[..end].split_whitespace().next()?;
    Some(target.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// Returns the blocks of text between blank lines, without fenced code, each with the number of its
/// first line.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_open = false;
    for (number, line) in page.lines().enumerate() {
        let text = line.trim();
        let is_fence = match fence {
            Some(open) => text.starts_with(open) && text.trim_start_matches(['`', '~']).is_empty(),
            None => text.starts_with("```") || text.starts_with("~~~"),
        };
        if is_fence {
            let length = text.len() - text.trim_start_matches(['`', '~']).len();
            fence = if fence.is_some() { None } else { Some(&text[..length]) };
        }
        if is_fence || fence.is_some() || text.is_empty() {
            is_open = false;
            continue;
        }
        match blocks.last_mut().filter(|_| is_open) {
            Some((_, block)) => *block = format!("{block}\n{line}"),
            None => blocks.push((number + 1, line.to_owned())),
        }
        is_open = true;
    }
    blocks
}

/// Returns a block with spaces in place of its inline code. Lines stay lines.
fn without_code(block: &str) -> String {
    let mut text = String::new();
    let mut rest = block;
    while let Some(start) = rest.find('`') {
        let (before, code) = rest.split_at(start);
        text.push_str(before);
        let length = code.len() - code.trim_start_matches('`').len();
        let (ticks, inside) = code.split_at(length);
        match end_of_code(inside, length) {
            Some(end) => {
                text.extend(inside[..end].chars().map(|c| if c == '\n' { c } else { ' ' }));
                rest = &inside[end + length..];
            }
            // A lone backtick is text.
            None => {
                text.push_str(ticks);
                rest = inside;
            }
        }
    }
    text + rest
}

/// Returns the place of the next run of exactly so many backticks.
fn end_of_code(text: &str, length: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(start) = text[from..].find('`').map(|at| from + at) {
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == length {
            return Some(start);
        }
        from = start + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(page: &str) -> Vec<(usize, String)> {
        links(page).into_iter().map(|Link { line, target }| (line, target)).collect()
    }

    #[test]
    fn links_pictures_and_definitions_are_found() {
        let page = "a [b](c.md#d) ![e](f.svg \"title\")\n| [g](<h.md>) |\n\n[i]: j.md\n[^1]: no.md [k](l_(m).md)\n";
        let expected =
            [(1, "c.md#d"), (1, "f.svg"), (2, "h.md"), (5, "l_(m).md"), (4, "j.md")].map(|(n, t)| (n, t.to_owned()));
        assert_eq!(targets(page), expected);
    }

    #[test]
    fn code_contains_no_links_and_no_headings() {
        let page = "`[a](b)` and `` ` [c](d) ``, `over\ntwo [e](f) lines` [g](h)\n\n```sh\n# not a heading\n[i](j)\n```\n\
                    ~~~\n```\n[k](l)\n~~~\n[m](n) a lone ` backtick\n";
        assert_eq!(targets(page), [(2, "h".to_owned()), (12, "n".to_owned())]);
        assert_eq!(anchors(page), BTreeSet::new());
    }

    #[test]
    fn anchors_are_those_of_github() {
        let page =
            "# What `cannot` be changed?\n## 1. Build\n## A [link](x.md), *too*\n## Same\n### Same\n#no heading\n";
        let expected = ["1-build", "a-link-too", "same", "same-1", "what-cannot-be-changed"];
        assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), expected);
    }
}
