//! Kustomizations of our own, each with kustomize's result: `expected.yaml`, or the error in
//! `refused`. Some of them were once built differently here.
//!
//! `cargo xtask baseline kustomize` records them.

use std::path::{Path, PathBuf};

use crate::case::Case;

const EXPECTED: &str = "expected.yaml";
const REFUSED: &str = "refused";

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(folder).expect("the directory of fixtures");
    let mut fixtures: Vec<PathBuf> = entries.map(|entry| entry.expect("a fixture").path()).collect();
    fixtures.sort();
    fixtures
}

/// Returns the recorded result of a fixture.
fn recorded(fixture: &Path) -> Result<String, String> {
    let read = |name: &str| std::fs::read_to_string(fixture.join(name)).ok();
    match (read(EXPECTED), read(REFUSED)) {
        (Some(expected), None) => Ok(expected),
        (None, Some(refused)) => Err(refused),
        _ => panic!("{}: record it with `cargo xtask baseline kustomize`", fixture.display()),
    }
}

#[test]
fn fixtures_are_built_as_it_was_recorded_of_kustomize() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 20, "{} fixtures", fixtures.len());
    let mut different = Vec::new();
    for fixture in fixtures {
        let built = Case::read_from(&fixture).build();
        match (recorded(&fixture), &built) {
            (Ok(expected), Ok(built)) if expected == *built => {}
            (Err(_), Err(_)) => {}
            (recorded, _) => different.push(format!("{}:\nrecorded {recorded:?}\nbuilt {built:?}", fixture.display())),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

mod against_kustomize {
    use super::*;
    use crate::peer::Peer;

    #[test]
    fn what_is_recorded_of_fixtures_is_what_kustomize_makes_of_them() {
        let mut peer = Peer::start();
        for fixture in fixtures() {
            let made = peer.ask(&Case::read_from(&fixture));
            if is_recording() {
                record(&fixture, &made);
            }
            let recorded = recorded(&fixture);
            let is_same = match (&made, &recorded) {
                (Ok(made), Ok(recorded)) => made == recorded,
                (made, recorded) => made.is_err() && recorded.is_err(),
            };
            assert!(is_same, "{}: recorded {recorded:?}, made {made:?}", fixture.display());
        }
    }

    fn record(fixture: &Path, made: &Result<String, String>) {
        // Some errors contain memory addresses, which differ each time.
        if made.is_err() && fixture.join(REFUSED).exists() {
            return;
        }
        let (name, other, text) = match made {
            Ok(text) => (EXPECTED, REFUSED, text.clone()),
            Err(error) => (REFUSED, EXPECTED, format!("{}\n", error.trim_end())),
        };
        drop(std::fs::remove_file(fixture.join(other)));
        std::fs::write(fixture.join(name), text).expect("a recording can be written");
    }

    #[expect(clippy::disallowed_methods, reason = "`cargo xtask baseline kustomize` sets whether to record")]
    fn is_recording() -> bool {
        std::env::var_os("SETPOINT_RECORD").is_some()
    }
}
