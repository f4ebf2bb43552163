//! Tests `contentFrom` of a host's `File`.

use setpoint_core::value::Value;
use setpoint_render::{Limits, Rendered};
use setpoint_store::MemoryTree;

use crate::scene::{path, problems, render_files, render_tree, render_with};

fn file(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: {name} }}\nspec: {{ path: /etc/{name}, {rest} }}\n"
    )
}

fn spec(rendered: &Rendered) -> &Value {
    rendered.resources[0].body.get("spec").expect("a host's file has a spec")
}

#[test]
fn text_is_taken_as_text_and_other_bytes_as_base64() {
    let tree = MemoryTree::of([
        ("app/a.yaml", file("motd", "contentFrom: files/motd").as_str()),
        ("app/files/motd", "hello\n"),
    ]);
    let rendered = render_tree(&tree).unwrap();
    assert_eq!(spec(&rendered).get("content"), Some(&Value::str("hello\n")));
    assert_eq!(spec(&rendered).get("contentFrom"), None);
    let rendered = render_tree(&tree.with_file(&path("app/files/motd"), &[0xff, 0x00])).unwrap();
    assert_eq!(spec(&rendered).get("contentBase64"), Some(&Value::str("/wA=")));
}

#[test]
fn a_file_that_is_content_is_no_declaration() {
    let rendered =
        render_files(&[("app/a.yaml", &file("conf", "contentFrom: conf.yaml")), ("app/conf.yaml", "debug: true\n")]);
    assert_eq!(spec(&rendered.unwrap()).get("content"), Some(&Value::str("debug: true\n")));
}

#[test]
fn a_declaration_cannot_hide_by_being_content() {
    let told = problems(render_files(&[
        ("app/a.yaml", &file("a", "contentFrom: b.yaml")),
        ("app/b.yaml", &file("b", "contentFrom: a.yaml")),
    ]));
    assert_eq!(told.len(), 2);
    assert!(
        told[0].starts_with("app/a.yaml:3: content is taken from `app/b.yaml`, which takes content from files itself")
    );
}

#[test]
fn a_change_of_the_content_alone_is_seen() {
    let tree = MemoryTree::of([("app/a.yaml", file("motd", "contentFrom: motd").as_str()), ("app/motd", "one")]);
    let rendered = render_tree(&tree).unwrap();
    let reads = rendered.reads.values().next().unwrap();
    assert_eq!(reads.holds_on(&tree), Ok(true));
    assert_eq!(reads.holds_on(&tree.with_file(&path("app/motd"), b"two")), Ok(false));
}

#[test]
fn what_cannot_be_taken_is_told_at_the_field() {
    for (named, told) in [
        ("missing", "`spec.contentFrom`: there is no file `app/missing`"),
        ("../secret", "`spec.contentFrom`: `../secret` is not a path within a store"),
        ("/etc/shadow", "`spec.contentFrom`: `/etc/shadow` is not a path within a store"),
        ("7", "`spec.contentFrom`: is not a text"),
        ("motd, content: x", "`spec.contentFrom`: the content is given twice"),
    ] {
        let text = file("motd", &format!("contentFrom: {named}"));
        let found = problems(render_files(&[("app/a.yaml", &text), ("secret", "s"), ("app/motd", "m")]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("app/a.yaml:4:") && found[0].contains(told), "{found:?}");
    }
    let text = file("motd", "contentFrom: motd");
    let tree = MemoryTree::of([("app/a.yaml", text.as_str()), ("app/motd", "m".repeat(300).as_str())]);
    let found = problems(render_with(tree, Limits { file_bytes: 299, ..Limits::default() }));
    assert!(found[0].contains("the file `app/motd` has 300 bytes, the limit is 299"), "{found:?}");
}
