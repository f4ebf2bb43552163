//! The declarations that a host accepts, and how mistakes are reported.

use setpoint_core::value::Value;
use setpoint_target::Target;
use setpoint_target_host::{API_VERSION, KINDS, check};

use crate::scene::{Scene, body};

fn problems(kind: &str, spec: Value) -> Vec<String> {
    let problems = check(kind, &body(kind, "it", spec)).expect_err("it has mistakes");
    problems.iter().map(ToString::to_string).collect()
}

fn text(fields: &[(&str, &str)]) -> Value {
    Value::map(fields.iter().map(|(name, value)| (*name, Value::str(value))))
}

#[test]
fn all_mistakes_are_told_at_once_each_with_what_would_be_right() {
    let spec = Value::map([
        ("path", Value::str("etc/motd")),
        ("contents", Value::str("x")),
        ("mode", Value::int(644)),
        ("sensitive", Value::str("yes")),
    ]);
    assert_eq!(
        problems("File", spec),
        [
            "`spec.contents`: is not a known field; did you mean `content`?",
            "`spec.path`: is not an absolute path; begin it with `/`",
            "`spec.content`: is missing; add `content:`, which may be an empty text, or `contentBase64:`",
            "`spec.mode`: is not a text; write the permissions as octal digits in quotes: \"0644\"",
            "`spec.sensitive`: is not a boolean; write `true` or `false`, without quotes",
        ]
    );
}

#[test]
fn fields_that_would_delete_what_nobody_claimed_say_so() {
    let spec = Value::map([("path", Value::str("/etc/conf.d")), ("purge", Value::Bool(true))]);
    let told = problems("Directory", spec);
    assert!(told[0].contains("only what an app has claimed is ever deleted"), "{told:?}");
}

#[test]
fn paths_modes_and_links_are_checked() {
    for (kind, spec, field) in [
        ("File", text(&[("path", "/a/../b"), ("content", "")]), "`spec.path`"),
        ("File", text(&[("path", "/a"), ("content", ""), ("contentBase64", "")]), "`spec.content`"),
        ("File", text(&[("path", "/a"), ("contentBase64", "***")]), "`spec.contentBase64`"),
        ("File", text(&[("path", "/a"), ("content", ""), ("mode", "0888")]), "`spec.mode`"),
        ("File", text(&[("path", "/a"), ("content", ""), ("mode", "00644")]), "`spec.mode`"),
        ("File", text(&[("path", "/a"), ("content", ""), ("owner", "a:b")]), "`spec.owner`"),
        ("Symlink", text(&[("path", "/a"), ("target", "")]), "`spec.target`"),
        ("Symlink", text(&[("path", "/a")]), "`spec.target`"),
        ("Directory", text(&[("path", "/")]), "`spec.path`"),
        ("Service", text(&[]), "`kind`"),
    ] {
        let told = problems(kind, spec);
        assert!(told.len() == 1 && told[0].starts_with(field), "{told:?}");
    }
}

#[test]
fn commands_are_checked() {
    let run =
        |words: &[&str]| Value::map([("command", Value::Seq(words.iter().map(|word| Value::str(word)).collect()))]);
    let with = |field: &'static str, value: Value| {
        let mut fields = vec![("check", run(&["/bin/true"])), ("apply", run(&["/bin/true"]))];
        fields.retain(|(name, _)| *name != field);
        fields.push((field, value));
        Value::map(fields)
    };
    let variable = |name: &str| Value::map([("name", Value::str(name)), ("value", Value::str("x"))]);
    for (field, value, told) in [
        ("check", run(&["true"]), "`spec.check.command[0]`: is not an absolute path"),
        ("apply", run(&[]), "`spec.apply.command`: is empty"),
        ("apply", Value::str("/bin/true"), "`spec.apply`: is not a mapping"),
        ("timeout", Value::str("1h"), "`spec.timeout`"),
        ("timeout", Value::int(5), "`spec.timeout`"),
        ("environment", Value::Seq(vec![variable("A"), variable("A")]), "`spec.environment[1].name`: is given twice"),
        ("environment", Value::Seq(vec![variable("A=B")]), "`spec.environment[0].name`"),
        ("cwd", Value::str("tmp"), "`spec.cwd`"),
        ("remove", run(&["/bin/true"]), "`spec.remove`"),
    ] {
        let found = problems("Command", with(field, value));
        assert!(found.len() == 1 && found[0].starts_with(told), "{found:?}");
    }
    assert!(check("Command", &body("Command", "it", with("timeout", Value::str("1500ms")))).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_of_the_place_and_not_of_the_document() {
    let scene = Scene::new();
    let key = |kind: &str, name: &str, spec: Value| {
        scene.target.key(API_VERSION, kind, &body(kind, name, spec)).map(|key| key.to_text())
    };
    let file = key("File", "one", text(&[("path", "/etc//motd"), ("content", "")]));
    let link = key("Symlink", "two", text(&[("path", "/etc/motd"), ("target", "/x")]));
    assert_eq!(file, Ok("file::/etc/motd".to_owned()));
    assert_eq!(file, link);
    let other = scene.target.key("v1", "ConfigMap", &Value::Null);
    assert!(other.is_err_and(|error| error.problem.contains(API_VERSION)));
}

#[test]
fn every_field_says_what_it_means() {
    for kind in KINDS {
        assert!(!kind.doc.is_empty() && !kind.fields.is_empty(), "{}", kind.name);
        assert!(kind.fields.iter().all(|field| field.doc.ends_with('.') && !field.holds.is_empty()), "{}", kind.name);
    }
}

#[test]
fn links_and_timeouts_have_a_longest_and_a_shortest() {
    let link = |length: usize| {
        check("Symlink", &body("Symlink", "it", text(&[("path", "/a"), ("target", &"x".repeat(length))])))
    };
    let run = Value::map([("command", Value::Seq(vec![Value::str("/bin/true")]))]);
    let within = |timeout: &str| {
        let spec = Value::map([("check", run.clone()), ("apply", run.clone()), ("timeout", Value::str(timeout))]);
        check("Command", &body("Command", "it", spec))
    };
    for (is_taken, name) in [
        (link(1).is_ok(), "1"),
        (link(4_095).is_ok(), "4095"),
        (within("1ms").is_ok(), "1ms"),
        (within("25s").is_ok(), "25s"),
        (link(4_096).is_err(), "4096"),
        (link(5_000).is_err(), "5000"),
        (within("0s").is_err(), "0s"),
        (within("25001ms").is_err(), "25001ms"),
        (within("60s").is_err(), "60s"),
    ] {
        assert!(is_taken, "{name}");
    }
}
