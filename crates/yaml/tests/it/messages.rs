//! Tests whole messages, because people read them.

use setpoint_yaml::{Source, parse};

#[track_caller]
fn says(text: &str, expected: &str) {
    let found = parse(Source::new("app.yaml", text)).expect_err("must be refused").to_string();
    assert_eq!(found, expected.trim_matches('\n'), "\n{found}");
}

#[test]
fn a_syntax_error_shows_the_line_and_what_was_expected() {
    says(
        "kind: App\nspec: a: b\n",
        "
error[syntax]: a mapping value is not allowed here
 --> app.yaml:2:8
  |
2 | spec: a: b
  |        ^
  = help: put a value that contains `: ` in quotes, or check the indentation
",
    );
}

#[test]
fn a_duplicate_key_shows_both_places() {
    says(
        "kind: App\nname: x\nkind: Store\n",
        "
error[duplicate]: the key `kind` is written twice
 --> app.yaml:3:1
  |
3 | kind: Store
  | ^^^^
 --> app.yaml:1:1
  |
1 | kind: App
  | ^^^^ first here
  = help: keep one of them
",
    );
}

#[test]
fn every_mistake_is_told_and_columns_count_characters() {
    says(
        "ä: {é: 1, é: 2}\n---\nb: !x y\nc: [\n",
        "
error[duplicate]: the key `é` is written twice
 --> app.yaml:1:11
  |
1 | ä: {é: 1, é: 2}
  |           ^
 --> app.yaml:1:5
  |
1 | ä: {é: 1, é: 2}
  |     ^ first here
  = help: keep one of them

error[tag]: the tag `!x` is not supported
 --> app.yaml:3:4
  |
3 | b: !x y
  |    ^^
  = help: only the tags of YAML's core schema are read (`!!str`, `!!int`, `!!map`, …); remove it

error[syntax]: a value is missing before this
 --> app.yaml:5:1
  |
5 | 
  | ^
  = help: expected a scalar, a sequence or a mapping
",
    );
}

#[test]
fn a_line_of_megabytes_is_cut_around_the_mistake() {
    let text = format!("{{a: {}, b: @}}", "x".repeat(1_000_000));
    let found = parse(Source::new("long.yaml", &text)).unwrap_err().to_string();
    assert!(found.len() < 1_000, "{} bytes", found.len());
    assert!(found.contains("b: @}"), "{found}");
}
