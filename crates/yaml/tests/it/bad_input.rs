//! Hostile input, and input that is merely odd. Case numbers are those of the project's list of bad
//! input.

use setpoint_yaml::{Class, Dialect, Kind, Scalar, Source, parse};

fn classes(text: &str) -> Vec<Class> {
    match parse(Source::new("bad.yaml", text)) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(|diagnostic| diagnostic.class).collect(),
    }
}

fn documents(text: &str) -> usize {
    parse(Source::new("odd.yaml", text)).expect("odd, but YAML").len()
}

#[test]
fn case_36_billion_laughs_stops_at_the_alias_limit() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let found = parse(Source::new("bomb.yaml", &text)).unwrap_err();
    let first = found.iter().next().unwrap();
    assert_eq!(first.class, Class::Limit);
    // The error is found while reading, at the level that multiplies, before anything is expanded.
    assert!(first.place.line <= 6, "stopped at line {}", first.place.line);
}

#[test]
fn case_36_a_long_scalar_cannot_be_multiplied_either() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 50].join(", "));
    assert_eq!(classes(&text), [Class::Limit]);
}

#[test]
fn case_36_many_aliases_of_little_things_are_counted() {
    let text = format!("a: &a x\nb: [{}]\n", vec!["*a"; 10_001].join(", "));
    assert_eq!(classes(&text), [Class::Limit]);
    let fine = format!("a: &a x\nb: [{}]\n", vec!["*a"; 9_000].join(", "));
    assert_eq!(classes(&fine), []);
}

#[test]
fn case_36_an_anchor_that_contains_itself_is_refused() {
    assert_eq!(classes("a: &a [*a]\n"), [Class::Alias]);
    assert_eq!(classes("a: *missing\n"), [Class::Alias]);
}

#[test]
fn case_37_depth_100_000_is_an_error_and_not_a_stack_overflow() {
    let deep = 100_000;
    assert_eq!(classes(&"[".repeat(deep)), [Class::Limit]);
    assert_eq!(classes(&"{a: ".repeat(deep)), [Class::Limit]);
    assert_eq!(classes(&"- ".repeat(deep)), [Class::Limit]);
    assert_eq!(classes(&"[\n".repeat(deep)), [Class::Limit]);
    let nested: String = (0..2_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(classes(&nested), [Class::Limit]);
}

#[test]
fn case_37_a_hundred_and_ten_levels_are_read_and_one_more_is_not() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(classes(&nested(110)), []);
    assert_eq!(classes(&nested(111)), [Class::Limit]);
}

#[test]
fn case_37_aliases_cannot_be_stacked_deeper_than_the_limit() {
    let mut text = format!("a0: &a0 {}{}\n", "[".repeat(50), "]".repeat(50));
    for level in 1..3 {
        text += &format!("a{level}: &a{level} {}*a{}{}\n", "[".repeat(40), level - 1, "]".repeat(40));
    }
    assert_eq!(classes(&text), [Class::Limit]);
}

#[test]
fn case_38_duplicate_keys_are_errors() {
    assert_eq!(classes("a: 1\nb: 2\na: 3\n"), [Class::Duplicate]);
    assert_eq!(classes("{a: 1, \"a\": 2}"), [Class::Duplicate]);
    let many: String = (0..100).map(|n| format!("k{}: {n}\n", n % 99)).collect();
    assert_eq!(classes(&many), [Class::Duplicate]);
    assert_eq!(classes("- a: 1\n- a: 2\n"), []);
}

#[test]
fn case_38_tags_outside_the_core_schema_are_refused() {
    assert_eq!(classes("a: !!python/object:os.system x\n"), [Class::Tag]);
    assert_eq!(classes("a: !foo {b: c}\nd: !bar e\n"), [Class::Tag, Class::Tag]);
    assert_eq!(classes("a: !!map [x]\n"), [Class::Tag]);
    assert_eq!(classes("a: !!binary aGk=\n"), [Class::Tag]);
    assert_eq!(classes("a: !!str 1\nb: !!seq []\nc: ! 2\n"), []);
}

#[test]
fn case_38_merge_keys_add_what_is_not_written() {
    let text = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\nboth:\n  c: 9\n  <<: [*base, *more]\n";
    let documents = parse(Source::new("merge.yaml", text)).unwrap();
    let Kind::Mapping(both) = documents[0].root().get("both").unwrap().kind() else { panic!("a mapping") };
    let merged: Vec<String> =
        both.merged().iter().map(|(key, value)| format!("{}={}", key.source_text(), value.source_text())).collect();
    assert_eq!(merged, ["c=9", "a=1", "b=2"]);
    assert_eq!(classes("<<: 1\n"), [Class::Type]);
    assert_eq!(classes("\"<<\": 1\n"), []);
}

#[test]
fn case_38_scalars_are_read_by_fixed_rules() {
    let resolve = |text: &'static str| Dialect::GoYamlV2.resolve(text);
    assert_eq!(resolve("NO"), Scalar::Bool(false));
    assert_eq!(resolve("1e3"), Scalar::Float("1e3".into()));
    assert_eq!(resolve("0777"), Scalar::Int("511".into()));
}

#[test]
fn case_39_a_broken_document_refuses_the_whole_stream() {
    assert_eq!(classes("a: 1\n---\nb: [\n---\nc: 3\n"), [Class::Syntax]);
}

#[test]
fn case_40_streams_without_content_have_no_documents() {
    assert_eq!(documents(""), 0);
    assert_eq!(documents("\n\n  \n"), 0);
    assert_eq!(documents("# only\n# comments\n"), 0);
    assert_eq!(documents("\u{feff}"), 0);
}

#[test]
fn case_40_an_explicit_null_is_a_document_whose_root_is_null() {
    for text in ["---\n", "null\n", "~", "--- # nothing\n...\n", "---\r\n"] {
        let documents = parse(Source::new("null.yaml", text)).unwrap();
        assert_eq!(documents.len(), 1, "{text:?}");
        assert_eq!(documents[0].root().resolve(Dialect::GoYamlV2), Some(Ok(Scalar::Null)), "{text:?}");
    }
    assert_eq!(documents("---\n---\n"), 2);
}

#[test]
fn case_40_a_byte_order_mark_and_crlf_change_nothing() {
    let plain = parse(Source::new("a.yaml", "a: x\nb: |\n  y\n  z\n")).unwrap();
    let odd = parse(Source::new("a.yaml", "\u{feff}a: x\r\nb: |\r\n  y\r\n  z\r\n")).unwrap();
    for key in ["a", "b"] {
        let text = |documents: &[setpoint_yaml::Document<'_>]| match documents[0].root().get(key).unwrap().kind() {
            Kind::Scalar(text) => text.to_owned(),
            _ => panic!("a scalar"),
        };
        assert_eq!(text(&plain), text(&odd));
    }
}

#[test]
fn case_40_utf_16_is_refused_by_name() {
    for bytes in [b"\xff\xfea\0:\0".as_slice(), b"\xfe\xff\0a\0:".as_slice()] {
        let refused = Source::decode("utf16.yaml", bytes).unwrap_err().into_vec().remove(0);
        assert_eq!((refused.class, refused.message.as_str()), (Class::Encoding, "the file is UTF-16"));
    }
    let refused = Source::decode("latin1.yaml", b"a: b\nc: caf\xe9\n").unwrap_err().into_vec().remove(0);
    assert_eq!((refused.class, refused.place.line, refused.place.column), (Class::Encoding, 2, 7));
}

#[test]
fn case_43_control_characters_are_refused_and_shown_escaped() {
    let found = parse(Source::new("a.yaml", "name: a\u{7}b\n")).unwrap_err().to_string();
    assert!(found.contains(r"the character \u{7} is not allowed"), "{found}");
    assert!(!found.contains('\u{7}'), "{found}");
}

#[test]
fn a_text_beyond_8_mib_is_refused() {
    assert_eq!(classes(&"#".repeat(8 * 1024 * 1024 + 1)), [Class::Limit]);
}

#[test]
fn a_text_of_millions_of_documents_is_refused() {
    assert_eq!(classes(&"---\n".repeat(2_000_000)), [Class::Limit]);
    assert_eq!(documents(&"---\n".repeat(20_000)), 20_000);
}

#[test]
fn case_43_a_tag_cannot_hide_control_characters_in_its_escapes() {
    let found = parse(Source::new("a.yaml", "a: !%1b%5b2J%e2%80%ae x\n")).unwrap_err().to_string();
    assert!(found.contains(r"`!\u{1b}[2J\u{202e}`"), "{found}");
}
