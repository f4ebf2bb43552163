//! Tests that a render is a function of its reads: the order of listings has no effect (S12), and
//! an unchanged read set means equal output.

use proptest::prelude::*;
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};

use crate::scene::{object, path, render_tree, render_with};

/// A tree that lists every directory in reverse order.
#[derive(Debug)]
struct Backwards(MemoryTree);

impl Tree for Backwards {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        self.0.read(path)
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        let reversed =
            |listing: Listing| Listing { entries: listing.entries.iter().rev().cloned().collect(), ..listing };
        Ok(self.0.list(path)?.map(reversed))
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.0.id_at(path)
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.0.real_path(path)
    }
}

fn trees() -> impl Strategy<Value = MemoryTree> {
    let paths = prop::sample::select(vec![
        "app/a.yaml",
        "app/b/c.yml",
        "app/b-c.json",
        "app/b/d.md",
        "app/z/y/x.yaml",
        "b.yaml",
    ]);
    let text = prop_oneof![
        3 => (0..6u8).prop_map(|n| object("A", &format!("x{n}"))),
        1 => Just("kind: broken".to_owned()),
        1 => Just(String::new()),
    ];
    prop::collection::vec((paths, text), 1..6)
        .prop_map(|files| MemoryTree::of(files.iter().map(|(path, text)| (*path, text.as_str()))))
}

proptest! {
    #[test]
    fn the_order_of_a_listing_changes_nothing(tree in trees()) {
        prop_assert_eq!(render_with(Backwards(tree.clone()), Default::default()), render_tree(&tree));
    }

    #[test]
    fn where_the_read_set_holds_the_render_is_equal(tree in trees(), at in prop::sample::select(vec!["app/a.yaml", "app/b/d.md", "b.yaml"]), text in "[a-z]{0,3}") {
        let Ok(rendered) = render_tree(&tree) else { return Ok(()) };
        let changed = tree.with_file(&path(at), text.as_bytes());
        let holds = rendered.reads.values().next().unwrap().holds_on(&changed).unwrap();
        if holds {
            prop_assert_eq!(render_tree(&changed), Ok(rendered));
        } else {
            prop_assert!(at.starts_with("app/"), "what is outside of the input has no say");
        }
    }
}
