//! S12: a build is a function of its files. The crate reads neither clock nor environment, which
//! clippy's bans and the structural checks enforce. These tests check for hidden state inside the
//! program.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use setpoint_kustomize::build::build;
use setpoint_kustomize::files::{FileError, Files};

use crate::case::{BUILT, Case};
use crate::fuzz::world;

const CASES: u64 = 60;
const SEED: u64 = 12;

fn cases() -> Vec<Case> {
    (0..CASES).map(|number| world::case(SEED, number)).collect()
}

#[test]
fn the_same_files_make_the_same_bytes_on_any_thread_and_in_any_order_of_builds() {
    let cases = cases();
    let expected: Vec<_> = cases.iter().map(Case::build).collect();
    assert!(expected.iter().any(Result::is_ok) && expected.iter().any(Result::is_err));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (cases, expected) = (&cases, &expected);
            scope.spawn(move || {
                // Each thread builds the cases in an order of its own.
                for at in 0..cases.len() {
                    let at = (at * (2 * thread + 1) + thread) % cases.len();
                    assert_eq!(cases[at].build(), expected[at], "case {at}");
                }
            });
        }
    });
}

/// Files in another order, and copied again on each read.
struct Reordered {
    files: BTreeMap<std::cmp::Reverse<String>, Vec<u8>>,
    reads: AtomicUsize,
}

impl Files for Reordered {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let found = self.files.get(&std::cmp::Reverse(path.to_owned()));
        if let Some(bytes) = found {
            return Ok(bytes.as_slice().into());
        }
        let is_folder = self.files.keys().any(|file| file.0.starts_with(&format!("{path}/")));
        let path = path.to_owned();
        Err(if is_folder || path.is_empty() { FileError::Folder { path } } else { FileError::Missing { path } })
    }
}

#[test]
fn neither_the_order_of_files_nor_where_they_are_in_memory_changes_a_byte() {
    for case in cases() {
        let files = case.files.iter().map(|(name, text)| (std::cmp::Reverse(name.clone()), text.as_bytes().to_vec()));
        let files = Reordered { files: files.collect(), reads: AtomicUsize::new(0) };
        let built = build(&files, BUILT, &case.options()).and_then(|built| built.to_yaml());
        assert_eq!(built.map_err(|error| error.to_string()), case.build());
        assert!(files.reads.load(Ordering::Relaxed) > 0);
    }
}
