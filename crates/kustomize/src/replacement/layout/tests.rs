//! Texts, and kustomize's output for them with `a` set to 9.

use super::*;
use crate::field_path::at_mut;
use crate::node::Content;
use crate::read::read_first;

const WRITTEN: &[(&str, &str)] = &[
    ("a: 1\n\n# foot\n", "a: 9\n\n# foot"),
    ("a: 1\nb: | # ind\n  t\n", "a: 9\nb: | # ind\n  t"),
    ("a: 1\n# c#\nc: \n# end\n", "a: 9\n# c#\nc:\n\n# end"),
    ("# head\n\na: 1\n", "# head\n\na: 9"),
    ("# one\n# two\na: 1\n", "# one\n# two\na: 9"),
    ("# text\n\n# field\na: 1\n", "# text\n\n# field\na: 9"),
    ("a:   1   # line\n", "a: 9 # line"),
    ("list:\n  - x # c\n  - y\na: 1\n", "list:\n- x # c\n- y\na: 9"),
    ("list:\n# first\n- x\n\n# second\n- y\n# foot\na: 1\n", "list:\n# first\n- x\n# second\n- y\n# foot\na: 9"),
    ("b: # key\n  c: 1\n  # last of b\na: 1\n", "b: # key\n  c: 1\n  # last of b\na: 9"),
    (
        "b:\n    c:\n        d: 1 # deep\n\n    # foot of c\n\n# head of a\na: 1\n",
        "b:\n  c:\n    d: 1 # deep\n    # foot of c\n# head of a\na: 9",
    ),
    (
        "l:\n- # of the item\n  k: v\n-\n  # of the field\n  k: v\na: 1\n",
        "l:\n- # of the item\n  k: v\n- # of the field\n  k: v\na: 9",
    ),
    ("b: [1, # one\n  2] # two\na: 1\n", "b: [1, # one\n  2] # two\na: 9"),
    ("a: \"1\"\n# foot\n\nb: 2\n", "a: \"9\"\n# foot\nb: 2"),
    ("---\n# head\na: 1\n", "# head\na: 9"),
    ("a: 1 # x\n...\n", "a: 9 # x"),
    ("b: >-\n  one\n\n  two\na: 1\n", "b: >-\n  one\n\n  two\na: 9"),
    ("b: 'one\n\n  two'\na: 1 # l\n", "b: 'one\n\n  two'\na: 9 # l"),
    ("x: &x 1\na: 1 # l\ny: *x\n", "x: &x 1\na: 9 # l\ny: *x"),
    ("x: &x {k: v}\ny:\n  <<: *x # m\na: 1\n", "x: &x {k: v}\ny:\n  !!merge <<: *x # m\na: 9"),
    ("a: 1\nb: <<\n", "a: 9\nb: !!merge <<"),
    ("a: 1\n  # further in\nb: 2\n", "a: 9\n# further in\nb: 2"),
    ("b:\n  c: 1\n # between\na: 1\n", "b:\n  c: 1\n  # between\na: 9"),
    ("a: ~ # null\n", "a: !!null 9 # null"),
    ("a: 1\n\n\n\n# far\n\n\nb: 2\n", "a: 9\n# far\nb: 2"),
];

fn set(text: &str, path: &str) -> Result<String, Unwritten> {
    let mut now = read_first(text).unwrap().unwrap();
    let place = vec![Step::Field(path.into())];
    if let Some(Content::Scalar(own)) = at_mut(&mut now, &place).map(|node| &mut node.content) {
        own.text = "9".into();
    }
    write(&now, text, &[path.to_owned()], &[place])
}

#[test]
fn comments_blank_lines_and_anchors_are_where_kustomize_has_them() {
    for (text, written) in WRITTEN {
        assert_eq!(set(text, "a").as_deref(), Ok(*written), "{text}");
    }
}

#[test]
fn what_may_be_written_otherwise_is_refused() {
    let long = format!("a: 1\n{}: 2\n", "k".repeat(129));
    for (text, why) in [
        ("a: 1 # c\r\n", Unwritten::Comment),
        ("b: [x,\n\t# c\n  y]\na: 1\n", Unwritten::Comment),
        ("? b # c\n: 1\na: 1\n", Unwritten::Comment),
        ("a: 1\n---\nb: 2\n", Unwritten::Documents),
        ("a: 1\nb: !!map {}\n", Unwritten::Tag),
        ("a: 1\n&x b: 2\n", Unwritten::Key),
        ("a: 1\nb: 'x\u{2028}y'\n", Unwritten::Lines),
        ("x: &x 1\na: *x\n", Unwritten::Alias),
        ("x: &x {a: 1}\n<<: *x\n", Unwritten::Alias),
        // Go adds an empty line to the block.
        ("a: 1\nb: |+\n  t\n\n# end\n", Unwritten::Changed),
        (&long, Unwritten::Key),
    ] {
        assert_eq!(set(text, "a"), Err(why), "{text}");
    }
}

#[test]
fn a_text_of_nothing_but_comments_takes_little_time() {
    let deep: String = (0..100).map(|depth| format!("{:depth$}k:\n", "")).collect();
    let text = format!("a: 1\nb:\n{}{}", deep.replace("k:", " k:"), "# c\n\n".repeat(50_000));
    assert!(set(&text, "a").is_ok_and(|written| written.ends_with("# c")));
}
