//! The text of messages, whole: it is what a person sees.

use setpoint_documents::read_documents;

#[track_caller]
fn says(text: &str, expected: &str) {
    let found = read_documents("control.yaml", text).expect_err("must be refused").to_string();
    assert_eq!(found, expected.trim_matches('\n'), "\n{found}");
}

#[test]
fn an_unknown_field_names_the_one_that_was_meant() {
    says(
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
fn a_field_at_the_wrong_place_is_sent_to_its_parent() {
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
    says(
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
fn a_kind_has_one_rule_of_health_and_a_name_without_a_version() {
    let head =
        "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: prod }\nspec:\n  kind: kubernetes\n  health:\n";
    says(
        &format!("{head}    - {{ kind: apps/v1/Deployment, healthy: 'true' }}\n"),
        "
error[value]: `kind`: `apps/v1/Deployment` is not a kind
 --> control.yaml:7:15
  |
7 |     - { kind: apps/v1/Deployment, healthy: 'true' }
  |               ^^^^^^^^^^^^^^^^^^
  = help: write `Kind` for the core group and `group/Kind` for others, without a version
",
    );
    says(
        &format!("{head}    - {{ kind: Pod, healthy: 'true' }}\n    - {{ kind: Pod, healthy: 'false' }}\n"),
        "
error[duplicate]: `Pod` has two rules
 --> control.yaml:7:5
  |
7 |     - { kind: Pod, healthy: 'true' }
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = help: keep one of them
",
    );
}

#[test]
fn every_mistake_of_a_file_is_told_at_once() {
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
    says(
        text,
        r#"
error[unknown]: unknown apiVersion `setpoint.dev/v2`
 --> control.yaml:1:13
  |
1 | apiVersion: setpoint.dev/v2
  |             ^^^^^^^^^^^^^^^
  = help: expected `setpoint.dev/v1`

error[type]: `name`: expected a string, found an integer
 --> control.yaml:3:19
  |
3 | metadata: { name: 12 }
  |                   ^^
  = help: put it in quotes: "12"

error[value]: `kind`: `hots` is not one of the known words
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
  = help: a path may not lead upwards: remove `..`

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

error[type]: `format`: expected a string, found a list
  --> control.yaml:14:17
   |
14 | spec: { format: [slack] }
   |                 ^^^^^^^
   = help: replace it by a string
"#,
    );
}

#[test]
fn a_duration_out_of_range_says_the_range() {
    says(
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
    says(
        &format!("{head}  branch: main\n  tag: v1.2.3\n"),
        "
error[value]: a store follows a branch or a tag, and both are given
 --> control.yaml:7:8
  |
7 |   tag: v1.2.3
  |        ^^^^^^
  = help: keep `branch`, or keep `tag`
",
    );
    says(
        &format!("{head}  commit: 0123456789abcdef0123456789abcdef01234567\n  shallow: true\n"),
        "
error[value]: `commit` is looked for in a history, and a shallow store has none
 --> control.yaml:7:12
  |
7 |   shallow: true
  |            ^^^^
  = help: remove `shallow`, or name the commit by a `tag` alone
",
    );
    says(
        &format!("{head}  tag: a..b\n  commit: 0123456\n"),
        "
error[value]: `tag`: `a..b` is not the name of a tag
 --> control.yaml:6:8
  |
6 |   tag: a..b
  |        ^^^^
  = help: use the name as `git tag` shows it, without `refs/tags/`

error[type]: `commit`: expected a string, found an integer
 --> control.yaml:7:11
  |
7 |   commit: 0123456
  |           ^^^^^^^
  = help: put it in quotes: \"0123456\"
",
    );
}

#[test]
fn a_parameter_that_would_be_put_in_as_something_else_is_refused() {
    let head = "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: { name: shop }\nspec:\n  component: shop\n  environment: prod\n  inputs: [{ name: main, store: platform, path: shop }]\n  target: here\n";
    says(
        &format!("{head}  parameters:\n    TAG: 1.20\n    ON: True\n"),
        "
error[value]: `parameters`: `1.20` is read as 1.2, and would be put in as that
  --> control.yaml:10:10
   |
10 |     TAG: 1.20
   |          ^^^^
   = help: write 1.2 if that is meant, or \"1.20\" in quotes

error[value]: `parameters`: `True` is read as true, and would be put in as that
  --> control.yaml:11:9
   |
11 |     ON: True
   |         ^^^^
   = help: write true if that is meant, or \"True\" in quotes
",
    );
    for written in ["1.2", "\"1.20\"", "-3", "true", "0.5", "\"0x10\"", "1.20.0", "{ deep: 1.20 }"] {
        read_documents("control.yaml", &format!("{head}  parameters: {{ TAG: {written} }}\n")).expect(written);
    }
}
