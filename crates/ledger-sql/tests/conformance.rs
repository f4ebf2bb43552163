//! Runs the suite of every ledger on the SQLite ledger.

use std::fs;
use std::future::Future;
use std::pin::Pin;

use setpoint_ledger::Ledger;
use setpoint_ledger::conformance::{CASES, Harness};

use crate::scene::{Place, opened, origin};

impl Harness for Place {
    fn open(&self) -> Pin<Box<dyn Future<Output = Box<dyn Ledger>> + '_>> {
        Box::pin(async { Box::new(opened(&self.options()).await) as Box<dyn Ledger> })
    }

    fn back_up(&self) {
        copy(self, "data", "copy");
    }

    fn restore(&self) {
        copy(self, "copy", "data");
    }
}

fn copy(place: &Place, from: &str, to: &str) {
    place.settle();
    let (from, to) = (place.root.path().join(from), place.root.path().join(to));
    fs::create_dir_all(&to).expect("a folder for the copy");
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        match fs::copy(from.join(name), to.join(name)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => drop(fs::remove_file(to.join(name))),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_in_sqlite_conforms() {
    for case in CASES {
        println!("{}", case.name);
        (case.run)(&Place::new()).await;
    }
}

#[tokio::test]
async fn a_data_folder_is_used_by_one_process_at_a_time() {
    let place = Place::new();
    let _ledger = place.open().await;
    let second = setpoint_ledger_sql::SqlLedger::open(place.options()).await;
    assert!(matches!(second, Err(setpoint_ledger_sql::OpenError::InUse { .. })));
}

#[tokio::test]
async fn every_file_of_the_data_folder_is_for_one_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let ledger = place.open().await;
    let lease = crate::scene::lease(&ledger, "a").await;
    ledger.append(crate::scene::batch(&lease, vec![crate::scene::entry("a")])).await.expect("appended");
    ledger.head(&origin("a")).await.expect("a head");
    let mut names = Vec::new();
    for file in fs::read_dir(place.data()).expect("the data folder") {
        let file = file.expect("an entry of the folder");
        let mode = file.metadata().expect("its metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.path().display());
        names.push(file.file_name());
    }
    assert!(names.len() >= 3, "lock, database and write-ahead log: {names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_body_is_in_no_file_any_more() {
    let place = Place::new();
    let ledger = place.open().await;
    let lease = crate::scene::lease(&ledger, "a").await;
    let personal = crate::scene::entry("a").with_body("Ada Lovelace, 12 St James's Square");
    ledger.append(crate::scene::batch(&lease, vec![personal])).await.expect("appended");
    assert!(files_hold(&place, b"Lovelace"));
    ledger.erase_body(crate::story::erasure(lease.epoch)).await.expect("erased");
    assert!(!files_hold(&place, b"Lovelace"));
}

fn files_hold(place: &Place, text: &[u8]) -> bool {
    let files = fs::read_dir(place.data()).expect("the data folder");
    let mut contents = files.map(|file| fs::read(file.expect("a file").path()).expect("its bytes"));
    contents.any(|bytes| bytes.windows(text.len()).any(|part| part == text))
}
