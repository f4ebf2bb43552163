//! Field paths, and the nodes they lead to.

use super::*;
use crate::limits::Budget;
use crate::origin::Origin;
use crate::read::read;

#[track_caller]
fn splits(path: &str, parts: &[&str]) {
    assert_eq!(split(path).unwrap(), parts, "{path}");
}

#[test]
fn dots_separate_unless_they_are_escaped_or_in_brackets() {
    splits("spec.a", &["spec", "a"]);
    splits(".spec.a", &["spec", "a"]);
    splits(r"a.b\.c.d", &["a", "b.c", "d"]);
    splits("a.[name=x.y].b", &["a", "[name=x.y]", "b"]);
    splits("a.[b.c/d]", &["a", "b.c/d"]);
    splits("a.[b]", &["a", "[b]"]);
    splits("a.[b.c", &["a", "b.c"]);
    splits("a..b.", &["a", "", "b", ""]);
    splits("", &[""]);
}

#[test]
fn a_path_of_too_many_parts_is_refused() {
    assert_eq!(split(&"a.".repeat(100_000)), Err(PathError::TooLong { parts: 100_001 }));
}

#[test]
fn a_pattern_that_does_not_fit_itself_makes_nothing_without_an_end() {
    let mut node = read("test.yaml", "list: []", Origin::default()).unwrap().remove(0);
    let parts = split("list.[name=a+b].x").unwrap();
    let budget = Budget::default();
    let made = Matching::of(&mut node, &parts, Some(Leaf::Scalar), Origin::default(), &budget);
    assert!(matches!(made, Err(PathError::Unmade { .. })));
}
