//! Compares our trees with the recorded results of go-yaml v3, our reference
//! (`tests/baseline/record`): some fixed cases, and a sample of 1,500 generated ones, a fifth of
//! them errors.

use setpoint_yaml::{Document, Kind, Node, Source, Style, parse};

const CASES: &str = include_str!("../baseline/cases.txt");
const ANSWERS: &str = include_str!("../baseline/go-yaml.txt");

#[test]
fn texts_are_read_as_go_yaml_reads_them() {
    assert_eq!(CASES.lines().count(), ANSWERS.lines().count(), "record the answers again");
    for (case, answer) in CASES.lines().zip(ANSWERS.lines()) {
        let text = unquoted(case);
        let ours = match parse(Source::new("case", &text)) {
            Ok(documents) => shown(&documents),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(ours, answer, "of {case}");
    }
}

/// Returns the text of one line of the cases, which is a string as in JSON.
fn unquoted(case: &str) -> String {
    let inner = case.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("a case is in quotes");
    let mut text = String::new();
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let code: String = rest.by_ref().take(4).collect();
                text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            Some(escaped) => text.push(escaped),
            None => panic!("a lone backslash in {case}"),
        }
    }
    text
}

fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        '"' => "\\\"".to_owned(),
        '\\' => r"\\".to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn shown(documents: &[Document<'_>]) -> String {
    let mut parts = Vec::new();
    for document in documents {
        parts.push("document".to_owned());
        show(document.root(), &mut parts);
    }
    parts.join(" ")
}

fn show(node: Node<'_>, parts: &mut Vec<String>) {
    if node.is_alias() {
        parts.push(node.source_text().to_owned());
        return;
    }
    parts.extend(node.anchor().map(|name| format!("&{name}")));
    match node.kind() {
        Kind::Scalar(text) => parts.push(format!("{}{}", letter(node.style()), quoted(text))),
        Kind::Sequence(items) => {
            parts.push("[".to_owned());
            items.iter().for_each(|item| show(item, parts));
            parts.push("]".to_owned());
        }
        Kind::Mapping(entries) => {
            parts.push("{".to_owned());
            for (key, value) in entries.iter() {
                show(key, parts);
                show(value, parts);
            }
            parts.push("}".to_owned());
        }
    }
}

fn letter(style: Style) -> char {
    match style {
        Style::SingleQuoted => 's',
        Style::DoubleQuoted => 'd',
        Style::Literal => 'l',
        Style::Folded => 'f',
        Style::Plain | Style::Block | Style::Flow => 'p',
    }
}
