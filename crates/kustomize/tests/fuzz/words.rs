//! The building blocks of generated cases. The lists are short, so that parts match: a patch its
//! target, a reference its name.

use super::dice::Dice;
use super::document::{Yaml, quoted, raw, text};

pub(super) const NAMES: &[&str] = &["web", "db", "cache", "web-conf", "app", "job"];
pub(super) const NAMESPACES: &[&str] = &["prod", "test", "default", "kube-system"];
pub(super) const KEYS: &[&str] = &["app", "tier", "env", "app.kubernetes.io/name", "note"];
pub(super) const DATA_KEYS: &[&str] = &["key", "config.yaml", "a.b", "url", "json"];
pub(super) const CONTAINERS: &[&str] = &["app", "sidecar", "init", "web"];
pub(super) const IMAGES: &[&str] = &[
    "nginx",
    "nginx:1.7.9",
    "postgres:1.8.0",
    "docker.io/library/nginx:latest",
    "registry.example.com:5000/team/web:v1",
    "registry.example.com:5000/team/web",
    "alpine@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
    "nginx:1.7.9@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
];
pub(super) const IMAGE_NAMES: &[&str] =
    &["nginx", "postgres", "alpine", "docker.io/library/nginx", "registry.example.com:5000/team/web", "web", "ngin."];

/// Scalars that people should avoid.
const ODD: &[&str] = &[
    "null",
    "~",
    "",
    "\"\"",
    "''",
    "yes",
    "no",
    "On",
    "off",
    "y",
    "\"yes\"",
    "'no'",
    "true",
    "\"true\"",
    "False",
    "004",
    "\"004\"",
    "0x1F",
    "0o14",
    "0b101",
    "1_000",
    "1e3",
    "1.0",
    "0.10",
    ".5",
    "5.",
    ".inf",
    "-.Inf",
    ".NaN",
    "-0",
    "+1",
    "12e03",
    "2020-01-01",
    "\"2020-01-01\"",
    "2020-01-01T00:00:00Z",
    "2001-12-14 21:59:43.10 -5",
    "12:30:45",
    "😀",
    "\"smile \\U0001F600\"",
    "'it''s'",
    "\"a\\tb\"",
    "\"a\\nb\"",
    "\"trailing \"",
    "\" leading\"",
    "!!str 5",
    "!!int \"5\"",
    "!!str yes",
    "!!float 3",
    "!!bool \"true\"",
    "!!null x",
    "!!binary aGVsbG8=",
    "!custom x",
    "{}",
    "[]",
    "\"a: b\"",
    "\"# no remark\"",
    "a#b",
    "a:b",
    "http://example.com:80/a?b=c",
    "\"- x\"",
    "\"{x}\"",
    "12345678901234567890",
    "-9223372036854775808",
    "9223372036854775807",
    "1e400",
    "1.7976931348623157e308",
    "123456789.123456789",
    "0.1",
    "1e21",
    "1e20",
    "1e-7",
    "\"=\"",
    "\"<<\"",
    "\"~\"",
    "é",
    "\"\\u0001\"",
    "\"\\u2028\"",
    "\"\\ufeff\"",
    "\"\\x7f\"",
    "\"\\x85\"",
    "\"null\"",
    "$(VAR)",
    "$$(VAR)",
    "\"$(VAR\"",
    "a b c",
    "'multi\n\n  line'",
    "\"fold \\\n  ed\"",
    "plain\n  folded",
    "a very long text that goes on and on beyond the eighty columns at which some writers break lines, for sure it does",
    "'%x'",
    "'@x'",
    "'`x`'",
    "'!x'",
    "'&x'",
    "'*x'",
    "'|'",
    "'>'",
    "'?'",
    "'-'",
    "'--- x'",
    "'...'",
    "\"\\\\\"",
    "'\"'",
    "0",
    "-1",
    "1",
    "3.14",
    "v1",
    "1.2.3",
    "1.10",
    "08",
    "0777",
    "1__0",
    "0_",
    "_1",
    "0x",
    "+.inf",
    "NULL",
    "Null",
    "NaN",
    "nan",
];

pub(super) fn odd(dice: &mut Dice) -> Yaml {
    match dice.below(10) {
        0 => Yaml::Lines(lines(dice)),
        _ => match dice.pick(ODD) {
            "" if dice.has_flow => raw("null"),
            odd => raw(odd),
        },
    }
}

/// Returns a text of several lines.
pub(super) fn lines(dice: &mut Dice) -> String {
    const LINES: &[&str] = &[
        "",
        "a: b",
        "  deeper",
        "key = value",
        "# remark",
        "trailing  ",
        "tab\there",
        "😀 smile",
        "- item",
        "\"quoted\"",
        "{\"a\": 1}",
        "$(VAR)",
        "a line that is rather long, so that whoever likes to fold lines has a reason to fold this one here, in the middle",
    ];
    let mut text = String::new();
    for _ in 0..=dice.below(4) {
        text.push_str(dice.pick(LINES));
        text.push('\n');
    }
    if dice.percent(30) {
        text.pop();
    }
    if text.trim().is_empty() { "x\n".to_owned() } else { text }
}

/// Returns a value that is read as a string.
pub(super) fn value(dice: &mut Dice) -> String {
    const VALUES: &[&str] = &[
        "web",
        "prod",
        "a",
        "1",
        "true",
        "hello world",
        "a,b,c",
        "http://web:80/path",
        "",
        "yes",
        "1.5",
        "$(VAR)-x",
        "db",
        "😀",
        "x=y",
        "null",
    ];
    dice.pick(VALUES).to_owned()
}

/// Returns a value in one of the notations that are read as a string.
pub(super) fn value_text(dice: &mut Dice) -> Yaml {
    let value = value(dice);
    match dice.below(4) {
        0 if !value.contains('\'') => raw(format!("'{value}'")),
        1 => raw(quoted(&value)),
        _ => text(&value),
    }
}
