//! Tests of the comparison of two renders.

use super::*;

fn told(ours: &str, theirs: &str) -> String {
    compare(ours, theirs).to_string()
}

/// Returns a resource with these lines after its name.
fn map(name: &str, rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{rest}")
}

#[test]
fn equal_renders_are_equal() {
    assert_eq!(compare("a: 1\n", "a: 1\n"), Shadow::Equal);
    assert_eq!(compare("", ""), Shadow::Equal);
}

#[test]
fn fields_are_told_by_their_paths_and_without_their_values() {
    let ours = map("a", "data:\n  b.c: secret1\n  d: x\nspec:\n  list:\n  - k: 1\n  - k: 2\n  - k: 3\n");
    let theirs = map("a", "data:\n  b.c: secret2\n  e: x\nspec:\n  list:\n  - k: 1\n  - k: '2'\n");
    assert_eq!(
        told(&ours, &theirs),
        "v1 ConfigMap a: data[\"b.c\"], data.d (only ours), data.e (only theirs), spec.list[1].k, spec.list[2] (only ours)"
    );
}

#[test]
fn resources_that_one_render_lacks_are_named_with_their_namespace() {
    let (a, b) = (map("a", ""), map("b", "  namespace: n\n"));
    assert_eq!(told(&format!("{a}---\n{b}"), &a), "v1 ConfigMap n/b: only in ours");
    assert_eq!(told(&b, &format!("{a}---\n{b}")), "v1 ConfigMap a: only in theirs");
}

#[test]
fn another_order_is_told_once_and_not_because_of_a_resource_that_is_missing() {
    let (a, b, c) = (map("a", ""), map("b", ""), map("c", ""));
    let ours = format!("{a}---\n{b}---\n{c}");
    assert_eq!(told(&ours, &format!("{b}---\n{a}---\n{c}")), "v1 ConfigMap a: has another position in theirs");
    assert_eq!(told(&ours, &format!("{b}---\n{c}")), "v1 ConfigMap a: only in ours");
}

#[test]
fn the_same_values_in_another_form_are_told_by_line() {
    let (ours, theirs) = (map("b", "data:\n  x: \"w\"\n"), map("b", "data:\n  x: w\n"));
    let first = map("a", "");
    assert_eq!(
        told(&format!("{first}---\n{ours}"), &format!("{first}---\n{theirs}")),
        "v1 ConfigMap b: the same values, formatted differently from line 11 of ours on"
    );
    assert_eq!(
        told(&ours, &format!("{ours}\n")),
        "v1 ConfigMap b: the same values, formatted differently from line 8 of ours on"
    );
}

#[test]
fn a_key_in_quotes_is_the_same_key() {
    let (ours, theirs) = (map("a", "data:\n  \"y\": 1\n"), map("a", "data:\n  'y': 1\n"));
    assert_eq!(told(&ours, &theirs), "v1 ConfigMap a: the same values, formatted differently from line 6 of ours on");
}

#[test]
fn two_of_the_same_name_are_compared_one_by_one() {
    let (first, second, other) = (map("a", "x: 1\n"), map("a", "x: 2\n"), map("a", "x: 3\n"));
    assert_eq!(told(&format!("{first}---\n{second}"), &format!("{first}---\n{other}")), "v1 ConfigMap a (number 2): x");
}

#[test]
fn a_render_that_is_no_yaml_is_told_for_both() {
    let text = told("a: [", "b: {");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("our render is not YAML: ") && lines[1].starts_with("their render is not YAML: "),
        "{text}"
    );
}

#[test]
fn what_is_told_is_bounded_however_much_differs() {
    let render = |value: &str| -> String {
        let fields: String = (0..200).map(|n| format!("  f{n}{}: {value}\n", "x".repeat(500))).collect();
        (0..300)
            .map(|n| format!("{}---\n", map(&format!("{n}{}", "y".repeat(500)), &format!("data:\n{fields}"))))
            .collect()
    };
    let text = told(&render("1"), &render("2"));
    assert!(text.ends_with("\nand 290 more"), "{}", &text[text.len() - 100..]);
    assert!(text.contains(" and 195 more\n") && text.len() < 15_000, "{}", text.len());
}

#[test]
fn names_cannot_move_a_cursor() {
    let text = told(&map("\"\\e[2J\"", "x: 1\n"), &map("\"\\e[2J\"", "\"\\e]\": 1\n"));
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2J"), "{text}");
}
