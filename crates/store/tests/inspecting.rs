//! Tests the content that no version may have.

use std::sync::Arc;

use setpoint_store::memory::MemoryObjects;
use setpoint_store::{Entry, EntryKind, Inspector, Limits, MemoryTree, ObjectId, StoreError, StorePath};

fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("paths of tests are valid")
}

fn inspect(tree: &MemoryTree) -> Result<(), StoreError> {
    Inspector::new(Limits::default()).inspect(tree.objects(), tree.root())
}

fn entry(name: &str, kind: EntryKind, id: &ObjectId) -> Entry {
    Entry { name: Arc::from(name), kind, id: id.clone() }
}

/// Inspects a version whose directory `sub` holds entries that [`MemoryTree`] would not accept.
fn inspect_raw(entries: &[(&str, EntryKind)]) -> Result<(), StoreError> {
    let mut objects = MemoryObjects::default();
    let blob = objects.put_blob(Arc::from(*b"x"));
    let sub = objects.put_folder(entries.iter().map(|(name, kind)| entry(name, *kind, &blob)).collect());
    let root = objects.put_folder(vec![entry("sub", EntryKind::Directory, &sub)]);
    Inspector::new(Limits::default()).inspect(&objects, &root)
}

fn refusal(result: Result<(), StoreError>) -> String {
    match result {
        Err(error @ StoreError::Refused { .. }) => error.to_string(),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn an_ordinary_version_passes() {
    let tree = MemoryTree::of([("README.md", "x"), (".gitignore", "x"), ("apps/shop/a.yaml", "x"), ("apps/ü", "x")])
        .with_link(&path("apps/current"), "shop/../shop")
        .with_link(&path("dangling"), "apps/nothing");
    assert_eq!(inspect(&tree), Ok(()));
}

#[test]
fn names_that_mean_something_else_on_another_system_are_refused_with_their_place() {
    for name in [".git", ".GIT", "git~1", ".g\u{200c}it", "..", ".", "a\\b", "a\0b", "a/b", "a\r", ""] {
        let text = refusal(inspect_raw(&[(name, EntryKind::File)]));
        assert!(text.contains("`sub/"), "{name:?}: {text}");
    }
}

#[test]
fn two_names_that_are_one_on_another_system_are_refused() {
    for (a, b) in [("README", "readme"), ("caf\u{e9}", "cafe\u{301}")] {
        let text = refusal(inspect_raw(&[(a, EntryKind::File), (b, EntryKind::File)]));
        assert!(text.contains("same name on some systems"), "{text}");
    }
}

#[test]
fn a_submodule_is_refused_and_the_way_out_is_told() {
    let text = refusal(inspect_raw(&[("vendor", EntryKind::Submodule)]));
    assert!(text.contains("`sub/vendor` is a submodule") && text.contains("second input"), "{text}");
}

#[test]
fn links_that_lead_out_are_refused_even_if_they_come_back() {
    for target in ["/proc/self/environ", "../../x", "../../a/x", "a\\b", ""] {
        let tree = MemoryTree::of([("a/x", "x")]).with_link(&path("a/link"), target);
        refusal(inspect(&tree));
    }
}

#[test]
fn links_that_go_in_a_circle_or_through_more_than_eight_are_refused() {
    refusal(inspect(&MemoryTree::default().with_link(&path("a"), "b").with_link(&path("b"), "a")));
    let chain = |length: usize| {
        (0..length).fold(MemoryTree::of([("end", "x")]), |tree, n| {
            let target = if n + 1 == length { "end".to_owned() } else { format!("l{}", n + 1) };
            tree.with_link(&path(&format!("l{n}")), &target)
        })
    };
    assert_eq!(inspect(&chain(8)), Ok(()));
    refusal(inspect(&chain(9)));
}

#[test]
fn more_files_than_the_limit_are_refused() {
    let limits = Limits { files: 2, ..Limits::default() };
    let tree = MemoryTree::of([("a", "1"), ("b/c", "2")]);
    assert_eq!(Inspector::new(limits).inspect(tree.objects(), tree.root()), Ok(()));
    let tree = tree.with_file(&path("b/d"), b"3");
    let text = refusal(Inspector::new(limits).inspect(tree.objects(), tree.root()));
    assert!(text.contains("3 files") && text.ends_with("; split the repository"), "{text}");
}

#[test]
fn folders_that_hold_each_other_many_times_are_counted_without_walking_each_path() {
    let mut objects = MemoryObjects::default();
    let blob = objects.put_blob(Arc::from(*b"x"));
    let mut folder = objects.put_folder(vec![entry("x", EntryKind::File, &blob)]);
    // Ten names for the same directory, at each of thirty levels: 10^30 files in thirty objects.
    for _ in 0..30 {
        let names: Vec<_> = (0..10).map(|n| format!("d{n}")).collect();
        folder = objects.put_folder(names.iter().map(|name| entry(name, EntryKind::Directory, &folder)).collect());
    }
    assert!(refusal(Inspector::new(Limits::default()).inspect(&objects, &folder)).contains("files"));
}

#[test]
fn depth_is_bounded_also_where_a_folder_was_inspected_at_a_lesser_depth() {
    let mut objects = MemoryObjects::default();
    let blob = objects.put_blob(Arc::from(*b"x"));
    let mut folder = objects.put_folder(vec![entry("x", EntryKind::File, &blob)]);
    let inspector = Inspector::new(Limits::default());
    for depth in 2..=33 {
        folder = objects.put_folder(vec![entry("d", EntryKind::Directory, &folder)]);
        assert_eq!(inspector.inspect(&objects, &folder).is_ok(), depth <= 32, "depth {depth}");
    }
}

#[test]
fn an_object_that_is_missing_is_damage_and_not_an_empty_folder() {
    let mut objects = MemoryObjects::default();
    let root = objects.put_folder(vec![entry("gone", EntryKind::Directory, &ObjectId::new("nowhere"))]);
    let result = Inspector::new(Limits::default()).inspect(&objects, &root);
    assert!(matches!(result, Err(StoreError::Damaged { .. })), "{result:?}");
}
