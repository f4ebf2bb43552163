//! Tests of complete error messages.

use setpoint_documents::read_documents;

use crate::targets::targets;

#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    let found = read_documents("control.yaml", text, &targets()).expect_err("must be refused").to_string();
    assert_eq!(found, expected.trim_matches('\n'), "\n{found}");
}

#[test]
fn an_unknown_field_is_reported_with_the_nearest_name() {
    assert_refused(
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: platform }\nspec:\n  url: https://git.example/a.git\n  intervall: 30s\n",
        "
error[unknown]: unknown field `intervall`
 --> control.yaml:6:3
  |
6 |   intervall: 30s
  |   ^^^^^^^^^
  = help: did you mean `interval`?
",
    );
}

#[test]
fn a_misplaced_field_is_reported_with_its_parent() {
    let text = "apiVersion: setpoint.dev/v1
kind: App
metadata: { name: shop }
spec:
  component: shop
  environment: production
  inputs: [{ name: main, store: a, path: b }]
  target: prod
  prune: false
";
    assert_refused(
        text,
        "
error[unknown]: unknown field `prune`
 --> control.yaml:9:3
  |
9 |   prune: false
  |   ^^^^^
  = help: `prune` is a field of `spec.sync`
",
    );
}

#[test]
fn all_mistakes_of_a_file_are_reported_together() {
    let text = "apiVersion: setpoint.dev/v2
kind: Target
metadata: { name: 12 }
spec:
  kind: hots
  root: ../etc
---
apiVersion: setpoint.dev/v1
kind: Appp
---
kind: Notifier
apiVersion: setpoint.dev/v1
metadata: { name: chat }
spec: { format: [slack] }
";
    assert_refused(
        text,
        r#"
error[unknown]: unknown apiVersion `setpoint.dev/v2`
 --> control.yaml:1:13
  |
1 | apiVersion: setpoint.dev/v2
  |             ^^^^^^^^^^^^^^^
  = help: expected `setpoint.dev/v1`

error[type]: `name`: expected a string, got an integer
 --> control.yaml:3:19
  |
3 | metadata: { name: 12 }
  |                   ^^
  = help: put it in quotes: "12"

error[value]: `kind`: unknown value `hots`
 --> control.yaml:5:9
  |
5 |   kind: hots
  |         ^^^^
  = help: did you mean `host`?

error[value]: `root`: `../etc` is not an absolute path
 --> control.yaml:6:9
  |
6 |   root: ../etc
  |         ^^^^^^
  = help: remove `..` from the path

error[unknown]: unknown kind `Appp`
 --> control.yaml:9:7
  |
9 | kind: Appp
  |       ^^^^
  = help: did you mean `App`?

error[missing]: the field `url` is missing
  --> control.yaml:14:7
   |
14 | spec: { format: [slack] }
   |       ^^^^^^^^^^^^^^^^^^^
   = help: add `url:` to this mapping

error[type]: `format`: expected a string, got a list
  --> control.yaml:14:17
   |
14 | spec: { format: [slack] }
   |                 ^^^^^^^
   = help: replace it with a string
"#,
    );
}

#[test]
fn an_out_of_range_duration_is_reported_with_the_range() {
    assert_refused(
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: a }\nspec: { url: https://git.example/a.git, interval: 9999999h }\n",
        "
error[value]: `interval`: `9999999h` is out of range
 --> control.yaml:4:51
  |
4 | spec: { url: https://git.example/a.git, interval: 9999999h }
  |                                                   ^^^^^^^^
  = help: expected 1s to 1d
",
    );
}

#[test]
fn a_store_follows_a_branch_or_a_tag_and_a_pinned_one_has_a_history() {
    let head =
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: a }\nspec:\n  url: https://git.example/a.git\n";
    assert_refused(
        &format!("{head}  branch: main\n  tag: v1.2.3\n"),
        "
error[value]: `branch` and `tag` are both set; a store follows only one of them
 --> control.yaml:7:8
  |
7 |   tag: v1.2.3
  |        ^^^^^^
  = help: remove `branch` or `tag`
",
    );
    assert_refused(
        &format!("{head}  commit: 0123456789abcdef0123456789abcdef01234567\n  shallow: true\n"),
        "
error[value]: `commit` needs the history of the repository, and a shallow store has none
 --> control.yaml:7:12
  |
7 |   shallow: true
  |            ^^^^
  = help: remove `shallow`, or replace `commit` by a `tag`
",
    );
    assert_refused(
        &format!("{head}  tag: a..b\n  commit: 0123456\n"),
        "
error[value]: `tag`: `a..b` is not the name of a tag
 --> control.yaml:6:8
  |
6 |   tag: a..b
  |        ^^^^
  = help: use the name as `git tag` shows it, without `refs/tags/`

error[type]: `commit`: expected a string, got an integer
 --> control.yaml:7:11
  |
7 |   commit: 0123456
  |           ^^^^^^^
  = help: put it in quotes: \"0123456\"
",
    );
}

#[test]
fn a_parameter_that_substitution_would_change_is_refused() {
    let head = "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: { name: shop }\nspec:\n  component: shop\n  environment: prod\n  inputs: [{ name: main, store: platform, path: shop }]\n  target: here\n";
    assert_refused(
        &format!("{head}  parameters:\n    TAG: 1.20\n    ON: True\n"),
        "
error[value]: `parameters`: `1.20` means 1.2 in YAML and would be substituted as 1.2
  --> control.yaml:10:10
   |
10 |     TAG: 1.20
   |          ^^^^
   = help: write 1.2, or \"1.20\" in quotes to keep the text

error[value]: `parameters`: `True` means true in YAML and would be substituted as true
  --> control.yaml:11:9
   |
11 |     ON: True
   |         ^^^^
   = help: write true, or \"True\" in quotes to keep the text
",
    );
    for written in ["1.2", "\"1.20\"", "-3", "true", "0.5", "\"0x10\"", "1.20.0", "{ deep: 1.20 }"] {
        read_documents("control.yaml", &format!("{head}  parameters: {{ TAG: {written} }}\n"), &targets())
            .expect(written);
    }
}
