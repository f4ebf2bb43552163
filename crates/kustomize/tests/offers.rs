//! If kustomize itself accepts an input that is rejected here, and nothing is lost by it, the error
//! suggests it, and in no other case.

use crate::hostile::{MAP, ONE, refused, with};

const OFFER: &str = ", or let kustomize itself render it (`kustomize.external`)";

fn resource(more: &str) -> String {
    told(&[("app/kustomization.yaml", ONE.to_owned()), ("app/a.yaml", format!("{MAP}{more}"))])
}

fn kustomization(more: &str) -> String {
    told(&with(more))
}

fn told<T: AsRef<[u8]>>(files: &[(&str, T)]) -> String {
    refused(files).to_string()
}

/// Returns a replacement into a text that holds YAML.
fn replaced(text: &str) -> String {
    let replacement =
        "replacements:\n- {sourceValue: '2', targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x.a]}]}\n";
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {text:?}}}\n");
    told(&[("app/kustomization.yaml", format!("{ONE}{replacement}")), ("app/a.yaml", map)])
}

fn json(operation: &str) -> String {
    kustomization(&format!("patches:\n- {{target: {{kind: ConfigMap}}, patch: '[{operation}]'}}\n"))
}

#[test]
fn what_kustomize_itself_takes_is_offered_to_be_rendered_by_it() {
    let utf_16 =
        |text: &str| -> Vec<u8> { format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for told in [
        resource("x: !mine a\n"),
        resource("x: !!binary aGVsbG8=\n"),
        kustomization("namePrefix: !mine a\n"),
        told(&[("app/kustomization.yaml", ONE.as_bytes().to_vec()), ("app/a.yaml", utf_16(MAP))]),
        told(&[("app/kustomization.yaml", utf_16(ONE)), ("app/a.yaml", MAP.as_bytes().to_vec())]),
        json(r#"{"op": "add", "path": "data/z", "value": "1"}"#),
        kustomization("---\na: [\n"),
        kustomization("# one\n...\n]]\n"),
        replaced("a: 1 # c\r\n"),
        replaced("a: 1\nb: !!map {}\n"),
        replaced("a: 1\n&x b: 2\n"),
        replaced("x: &x 1\na: *x\n"),
    ] {
        assert!(told.ends_with(OFFER), "{told}");
    }
}

#[test]
fn what_kustomize_refuses_or_loses_or_cannot_do_where_it_is_confined_is_not_offered() {
    for told in [
        resource("x: {1: a}\n"),
        resource("---\na: [\n"),
        kustomization("a: [\n---\nb: c\n"),
        kustomization("namePrefix: !!int a\n"),
        kustomization("helmCharts: [{name: a}]\n"),
        kustomization("components: ['https://example.com/a/b']\n"),
        json(r#"{"op": "remove", "path": "/none"}"#),
        told(&[("app/kustomization.yaml", ONE.as_bytes()), ("app/a.yaml", b"a: \xff\n")]),
        replaced("a: 1\n---\nb: 2\n"),
        replaced("a: 1\nb: |+\n  t\n\n# end\n"),
    ] {
        assert!(!told.contains("kustomize.external"), "{told}");
    }
}
