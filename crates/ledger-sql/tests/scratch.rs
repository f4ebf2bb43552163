//! Tests that the scratch database may be lost at any time.

use setpoint_ledger_sql::{Scratch, ScratchError};

async fn put(scratch: &Scratch, area: &str, key: &str, value: &[u8]) -> Result<(), ScratchError> {
    scratch.change(area, vec![(key.to_owned(), Some(value.to_vec()))]).await
}

#[tokio::test]
async fn what_is_put_is_there_until_it_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let scratch = Scratch::open(folder.path()).await.expect("it opens");
    let rights = std::fs::metadata(folder.path().join("state.db")).expect("its file").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&rights) & 0o077, 0, "for one user only");
    put(&scratch, "cursor", "platform", b"1").await.expect("put");
    put(&scratch, "cursor", "platform", b"2").await.expect("put again");
    put(&scratch, "other", "platform", b"3").await.expect("put");
    assert_eq!(scratch.get("cursor", "platform").await.expect("get").as_deref(), Some(&b"2"[..]));
    scratch.remove("cursor", "platform").await.expect("removed");
    assert_eq!(scratch.get("cursor", "platform").await.expect("get"), None);
    scratch.clear("other").await.expect("cleared");
    assert_eq!(scratch.get("other", "platform").await.expect("get"), None);
}

#[tokio::test]
async fn a_damaged_one_is_replaced_by_an_empty_one() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("state.db"), b"this is no database, whatever its name says").expect("written");
    let scratch = Scratch::open(folder.path()).await.expect("it opens all the same");
    assert_eq!(scratch.get("cursor", "platform").await.expect("get"), None);
    put(&scratch, "cursor", "platform", b"1").await.expect("it can be used");
}
