//! Tests that the verifier is independent. Its findings are tested in `ledger-sql`, next to the
//! writer, which may depend on both crates.

use std::path::Path;

use setpoint_ledger_verify::{Key, VerifyError, verify};

#[test]
fn the_verifier_depends_on_no_other_crate_of_ours() {
    let manifest = include_str!("../Cargo.toml");
    let (_, dependencies) = manifest.split_once("[dependencies]").expect("the manifest lists dependencies");
    assert!(!dependencies.contains("setpoint-"), "a mistake shared with the writer would excuse itself");
    assert!(!dependencies.contains("path"), "{dependencies}");
}

#[tokio::test]
async fn a_file_that_is_no_ledger_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = verify(Path::new("/nowhere/ledger.db"), &[], &[]).await;
    assert!(matches!(missing, Err(VerifyError::Unreadable { .. })));
    let path = folder.path().join("empty.db");
    std::fs::write(&path, b"").expect("written");
    assert!(verify(&path, &[], &[]).await.is_err());
    std::fs::write(&path, b"SQLite format 3\0 and then nonsense".repeat(100)).expect("written");
    assert!(verify(&path, &[], &[]).await.is_err());
}

#[test]
fn a_key_must_match_its_own_id() {
    let text = "setpoint.test+00000000+AYqI46Nz/WSZL1GsXdhVD+ouuKMvSDZ8Vr+pEpMzYeeA";
    assert!(matches!(text.parse::<Key>(), Err(VerifyError::BadKey { .. })));
    assert!("nonsense".parse::<Key>().is_err());
}
