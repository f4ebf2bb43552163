//! Control documents as resources of the root app, and back.

use setpoint_core::bundle::Bundle;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_engine::accept::{ControlDocuments, NotRead, documents_of};
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};

use crate::scene::{CONTROL, app, documents, families, folder};

fn bundle_of(resources: Vec<Resource>) -> Bundle {
    let (root, engine) =
        ("setpoint/root".parse().expect("an app"), TargetIdentity::new("engine").expect("an identity"));
    Bundle::new(root, engine, resources).expect("documents make a bundle")
}

fn bundle(documents: &ControlDocuments) -> Bundle {
    bundle_of(documents.resources())
}

#[test]
fn documents_are_resources_of_their_kind_scope_and_name() {
    let bundle = bundle(&documents(&app("shop", "")));
    let keys: Vec<String> = bundle.resources().keys().map(ToString::to_string).collect();
    assert_eq!(
        keys,
        [
            "setpoint.dev/App web/shop",
            "setpoint.dev/Scope default/web",
            "setpoint.dev/Store default/platform",
            "setpoint.dev/Store web/web-state",
            "setpoint.dev/Target default/here",
            "setpoint.dev/Target default/vault",
        ]
    );
    let app = &bundle.resources().values().next().unwrap().resource;
    assert_eq!(app.body.get("spec").and_then(|spec| spec.get("target")), Some(&Value::str("here")));
}

#[test]
fn what_was_accepted_reads_back_as_it_was_written() {
    let more = "  parameters: { ratio: 0.5, small: 1.2e-7, large: 123456789012345678901234567890, word: \"n\\u00f6\\t\", deep: [{ a: null }, true] }\n  sync:\n    windows: [{ deny: \"0 18 * * 5\", for: 62h, zone: Europe/Berlin }]\n";
    let written = documents(&app("shop", more));
    let bundle = bundle(&written);
    let stored = Bundle::from_bytes(&bundle.to_bytes(), bundle.digest()).unwrap();
    let read = ControlDocuments::from_bundle(&stored, &families()).unwrap();
    let id = "web/shop".parse().unwrap();
    assert_eq!(read.apps()[&id].spec, written.apps()[&id].spec);
    assert_eq!(read.source(&id), written.source(&id));
    assert_eq!(bundle.digest(), self::bundle(&read).digest());
}

#[test]
fn a_bundle_whose_document_is_not_what_its_key_says_is_refused() {
    let mut resources = documents(&app("shop", "")).resources();
    resources[0].key = "setpoint.dev/App:web:other".parse().unwrap();
    let problems = ControlDocuments::from_bundle(&bundle_of(resources), &families()).unwrap_err();
    assert!(
        problems[0].to_string().starts_with("setpoint.dev/App web/other: the accepted bundle has another document")
    );
}

#[test]
fn the_order_of_files_and_what_lies_beside_them_changes_nothing() {
    let shop = app("shop", "");
    let one = MemoryTree::of([
        ("setpoint/a.yaml", CONTROL),
        ("setpoint/b/c.yaml", shop.as_str()),
        ("setpoint/README.md", "x"),
    ]);
    let two =
        MemoryTree::of([("setpoint/z.yaml", CONTROL), ("setpoint/a.yaml", shop.as_str()), ("apps/shop/x.yaml", "x")]);
    let read = |tree: &MemoryTree| bundle(&documents_of(tree, &folder(), &families()).unwrap().0).digest();
    assert_eq!(read(&one), read(&two));
}

#[test]
fn a_commit_elsewhere_leaves_the_read_set_in_force() {
    let tree = MemoryTree::of([("setpoint/a.yaml", CONTROL)]);
    let (_, reads) = documents_of(&tree, &folder(), &families()).unwrap();
    let path = |text| StorePath::new(text).unwrap();
    assert_eq!(reads.holds_on(&tree.with_file(&path("apps/x.yaml"), b"x")), Ok(true));
    assert_eq!(reads.holds_on(&tree.with_file(&path("setpoint/new.yaml"), b"")), Ok(false));
}

/// A store that does not respond.
#[derive(Debug)]
struct Silent;

impl Tree for Silent {
    fn read(&self, _: &StorePath) -> Result<Option<Blob>, StoreError> {
        Err(StoreError::unreachable("timed out"))
    }

    fn list(&self, _: &StorePath) -> Result<Option<Listing>, StoreError> {
        Err(StoreError::unreachable("timed out"))
    }

    fn id_at(&self, _: &StorePath) -> Result<Option<EntryId>, StoreError> {
        Err(StoreError::unreachable("timed out"))
    }

    fn real_path(&self, _: &StorePath) -> Result<Option<StorePath>, StoreError> {
        Err(StoreError::unreachable("timed out"))
    }
}

#[test]
fn a_store_that_does_not_answer_has_not_lost_its_documents() {
    let reason = UnknownReason::Unreachable { detail: "timed out".into() };
    assert_eq!(documents_of(&Silent, &folder(), &families()), Err(NotRead::Failed { reason }));
}
