//! Reading a tree: the content of nodes and their positions in the source.

use proptest::prelude::*;
use setpoint_yaml::{Kind, Node, Source, Style, parse};

/// Visits every node below `node`, itself included.
fn walk<'d>(node: Node<'d>, visit: &mut impl FnMut(Node<'d>)) {
    visit(node);
    if node.is_alias() {
        return;
    }
    match node.kind() {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| walk(item, visit)),
        Kind::Mapping(entries) => entries.iter().for_each(|(key, value)| {
            walk(key, visit);
            walk(value, visit);
        }),
    }
}

fn written(text: &str) -> Vec<(Style, String, u32, u32)> {
    let documents = parse(Source::new("a.yaml", text)).expect("is YAML");
    let mut found = Vec::new();
    for document in &documents {
        walk(document.root(), &mut |node| {
            found.push((node.style(), node.source_text().to_owned(), node.line(), node.column()));
        });
    }
    found
}

#[test]
fn spans_are_the_bytes_a_value_is_written_in() {
    let text = "a: &x !!str 'it''s' # c\nb:\n- |-\n  one\n  two\n\n# end\n- {k: [v]}\n- \nc: p\n  q # c\n";
    let expected = [
        (Style::Block, "a: &x !!str 'it''s' # c\nb:\n- |-\n  one\n  two\n\n# end\n- {k: [v]}\n- \nc: p\n  q", 1, 1),
        (Style::Plain, "a", 1, 1),
        (Style::SingleQuoted, "'it''s'", 1, 13),
        (Style::Plain, "b", 2, 1),
        (Style::Block, "- |-\n  one\n  two\n\n# end\n- {k: [v]}\n-", 3, 1),
        (Style::Literal, "|-\n  one\n  two", 3, 3),
        (Style::Flow, "{k: [v]}", 8, 3),
        (Style::Plain, "k", 8, 4),
        (Style::Flow, "[v]", 8, 7),
        (Style::Plain, "v", 8, 8),
        (Style::Plain, "", 9, 2),
        (Style::Plain, "c", 10, 1),
        (Style::Plain, "p\n  q", 10, 4),
    ];
    let expected = expected.map(|(style, text, line, column)| (style, text.to_owned(), line, column));
    assert_eq!(written(text), expected);
}

#[test]
fn an_alias_reads_as_its_anchor_and_stands_where_it_is_written() {
    let documents = parse(Source::new("a.yaml", "a: &x {k: v}\nb: *x\n")).unwrap();
    let alias = documents[0].root().get("b").unwrap();
    assert!(alias.is_alias());
    assert_eq!((alias.source_text(), alias.line()), ("*x", 2));
    assert!(matches!(alias.get("k").unwrap().kind(), Kind::Scalar("v")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(source) = Source::decode("any", &bytes)
            && let Err(found) = parse(source)
        {
            prop_assert!(!found.to_string().is_empty());
        }
    }

    #[test]
    fn arbitrary_text_never_panics_and_spans_slice_the_source(text in "[-a-c:?\\[\\]{},#&*!|>'\"%@ \t\r\n\u{e9}\u{2028}\u{85}0-2]{0,60}") {
        match parse(Source::new("any", &text)) {
            Ok(documents) => for document in &documents {
                walk(document.root(), &mut |node| {
                    let span = node.span();
                    assert!(span.start() <= span.end() && text.get(span.start()..span.end()).is_some());
                    if let (Style::Plain, Kind::Scalar(value), false) = (node.style(), node.kind(), node.is_alias())
                        && !node.source_text().contains(['\r', '\n', '\u{85}', '\u{2028}'])
                    {
                        assert_eq!(value, node.source_text());
                    }
                });
            },
            Err(found) => prop_assert!(!found.to_string().is_empty()),
        }
    }
}
