//! Tests with random trees and random readers: if a read set holds, reading again gives equal
//! results.

use proptest::prelude::*;
use setpoint_store::{EntryKind, MemoryTree, ReadSet, Recording, StorePath, Tree};

/// Few names, so that readers meet files, directories, links and missing paths about equally often.
const NAMES: [&str; 3] = ["a", "b", "c"];

fn paths() -> impl Strategy<Value = StorePath> {
    let names = prop::collection::vec(prop::sample::select(&NAMES[..]), 1..4);
    names.prop_map(|names| StorePath::new(&names.join("/")).expect("names of letters"))
}

/// A change of a tree.
#[derive(Clone, Debug)]
enum Change {
    /// A file whose text is itself a path, so that readers can follow content.
    File(StorePath, StorePath),
    Executable(StorePath, u8),
    Link(StorePath, String),
    Remove(StorePath),
}

fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => (paths(), paths()).prop_map(|(at, text)| Change::File(at, text)),
        1 => (paths(), 0..3u8).prop_map(|(at, n)| Change::Executable(at, n)),
        2 => (paths(), prop::sample::select(vec!["a", "b/c", "../a", "../b", ".", "c"]))
            .prop_map(|(at, to)| Change::Link(at, to.to_owned())),
        1 => paths().prop_map(Change::Remove),
    ];
    prop::collection::vec(change, 0..most)
}

fn changed(tree: &MemoryTree, changes: &[Change]) -> MemoryTree {
    changes.iter().fold(tree.clone(), |tree, change| match change {
        Change::File(at, text) => tree.with_file(at, text.as_str().as_bytes()),
        Change::Executable(at, n) => tree.with_executable(at, &[*n]),
        Change::Link(at, to) => tree.with_link(at, to),
        Change::Remove(at) => tree.without(at),
    })
}

/// One step of a reader. The next step depends on its result, like the steps of a renderer.
#[derive(Clone, Debug)]
enum Step {
    Read(StorePath),
    List(StorePath),
    Look(StorePath),
    /// Resolves a path, and reads the file next to the result.
    ReadBeside(StorePath),
    /// Reads the first existing path, like the search for `kustomization.yaml` under its names.
    ReadFirst(Vec<StorePath>),
    /// Reads a file and then the path in its text.
    Chase(StorePath),
    /// Lists a directory and reads every file in it.
    ReadAll(StorePath),
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        paths().prop_map(Step::Read),
        paths().prop_map(Step::List),
        paths().prop_map(Step::Look),
        paths().prop_map(Step::ReadBeside),
        prop::collection::vec(paths(), 1..4).prop_map(Step::ReadFirst),
        paths().prop_map(Step::Chase),
        paths().prop_map(Step::ReadAll),
    ];
    prop::collection::vec(step, 0..5)
}

/// Returns everything a reader could observe.
fn run(program: &[Step], tree: &dyn Tree) -> Vec<String> {
    let mut seen = Vec::new();
    let read = |path: &StorePath, seen: &mut Vec<String>| {
        let found = tree.read(path).map(|blob| blob.map(|blob| blob.bytes.to_vec()));
        seen.push(format!("{path}: {found:?}"));
        found.ok().flatten()
    };
    for step in program {
        match step {
            Step::Read(path) => drop(read(path, &mut seen)),
            Step::List(path) => seen.push(format!("{path}: {:?}", tree.list(path))),
            Step::Look(path) => seen.push(format!("{path}: {:?}", tree.id_at(path))),
            Step::ReadBeside(path) => {
                let real = tree.real_path(path);
                seen.push(format!("{path}: {real:?}"));
                if let Some(beside) = real.ok().flatten().and_then(|real| real.parent()?.join("a").ok()) {
                    read(&beside, &mut seen);
                }
            }
            Step::ReadFirst(paths) => drop(paths.iter().find_map(|path| read(path, &mut seen))),
            Step::Chase(path) => {
                let next = read(path, &mut seen).and_then(|bytes| String::from_utf8(bytes).ok());
                if let Some(next) = next.and_then(|text| StorePath::new(&text).ok()) {
                    read(&next, &mut seen);
                }
            }
            Step::ReadAll(path) => {
                let listing = tree.list(path);
                seen.push(format!("{path}: {}", if listing.is_ok() { "listed" } else { "Err(…)" }));
                let listing = listing.ok().flatten();
                for entry in listing.iter().flat_map(|listing| listing.entries.iter()) {
                    seen.push(format!("{} {:?}", entry.name, entry.kind));
                    if entry.kind != EntryKind::Directory {
                        read(&path.join(&entry.name).expect("a listed name is valid"), &mut seen);
                    }
                }
            }
        }
    }
    seen
}

fn reads_of(program: &[Step], tree: &dyn Tree) -> (Vec<String>, ReadSet) {
    let recording = Recording::new(tree);
    let seen = run(program, &recording);
    (seen, recording.into_reads())
}

fn holds(reads: &ReadSet, tree: &dyn Tree) -> bool {
    // A link that forms a circle on the new tree is an error there: then nothing is skipped.
    reads.holds_on(tree).unwrap_or(false)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn if_a_read_set_holds_on_a_tree_then_reading_it_again_gives_equal_results(
        base in changes(12), later in changes(3), program in programs(),
    ) {
        let before = changed(&MemoryTree::default(), &base);
        let after = changed(&before, &later);
        let (seen, reads) = reads_of(&program, &before);
        if holds(&reads, &after) {
            prop_assert_eq!(seen, run(&program, &after));
        }
    }

    #[test]
    fn a_change_where_nobody_looked_leaves_the_read_set_holding(
        base in changes(12), program in programs(), text in "[a-z]{0,4}",
    ) {
        let before = changed(&MemoryTree::default(), &base);
        let after = before.with_file(&StorePath::new("elsewhere/x").unwrap(), text.as_bytes());
        let (_, reads) = reads_of(&program, &before);
        // A failed reader must not be skipped, nor one that may have followed a link to the root:
        // any change changes it.
        let whole = run(&program, &before).iter().all(|seen| !seen.contains("Err("));
        let to_root = |change: &Change| matches!(change, Change::Link(_, to) if to == "." || to.starts_with(".."));
        if whole && !base.iter().any(to_root) {
            prop_assert!(holds(&reads, &after));
        }
    }

    #[test]
    fn a_read_set_survives_being_written_down(base in changes(12), program in programs()) {
        let tree = changed(&MemoryTree::default(), &base);
        let (_, reads) = reads_of(&program, &tree);
        let text = serde_json::to_string(&reads).unwrap();
        prop_assert_eq!(serde_json::from_str::<ReadSet>(&text).unwrap(), reads);
    }
}

fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("paths of tests are valid")
}

#[test]
fn a_file_that_appears_where_one_was_missed_ends_the_skip() {
    let tree = MemoryTree::of([("app/kustomization.yaml", "x")]);
    let recording = Recording::new(&tree);
    assert_eq!(recording.read(&path("app/Kustomization")).unwrap(), None);
    assert!(recording.read(&path("app/kustomization.yaml")).unwrap().is_some());
    let reads = recording.into_reads();
    assert!(holds(&reads, &tree));
    assert!(!holds(&reads, &tree.with_file(&path("app/Kustomization"), b"y")));
}

#[test]
fn a_new_file_in_a_listed_folder_ends_the_skip() {
    let tree = MemoryTree::of([("app/a.yaml", "x"), ("other/b.yaml", "x")]);
    let recording = Recording::new(&tree);
    recording.list(&path("app")).unwrap();
    let reads = recording.into_reads();
    assert!(holds(&reads, &tree.with_file(&path("other/c.yaml"), b"y")));
    assert!(!holds(&reads, &tree.with_file(&path("app/c.yaml"), b"y")));
}

#[test]
fn a_reader_that_met_an_error_is_never_skipped() {
    let tree = MemoryTree::default().with_link(&path("a"), "a");
    let recording = Recording::new(&tree);
    assert!(recording.read(&path("a")).is_err());
    assert!(!holds(&recording.into_reads(), &tree));
}
