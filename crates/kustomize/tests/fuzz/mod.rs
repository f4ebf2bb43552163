//! Builds generated kustomizations with our code and with kustomize: both must write the same
//! bytes, or both must fail.
//!
//! - [`world`]: the tree of a case, with [`objects`] and kustomizations and their [`fields`],
//!   [`patches`], [`replacements`] and [`plugins`].
//! - [`words`]: the building blocks. [`document`], [`text`]: their notation. [`dice`]: the random
//!   choices.
//! - [`shrink`]: reduces a case that differs.

mod dice;
mod document;
mod fields;
mod objects;
mod patches;
mod plugins;
mod replacements;
mod shrink;
mod text;
mod walk;
mod words;
pub(crate) mod world;

use std::path::{Path, PathBuf};

use crate::case::Case;
use crate::peer::Peer;
use document::without_remarks;

/// The number of cases in a test run, and the seed.
const CASES: u64 = 500;
const SEED: u64 = 5;
/// The number of differences after which a run ends: the first ones are enough to investigate.
const ENOUGH: usize = 20;

type Made = Result<String, String>;

fn is_equal(ours: &Made, theirs: &Made) -> bool {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

/// Parts of our intended errors for inputs that kustomize silently accepts.
const ON_PURPOSE: &[&str] = &[
    "is written twice",
    "the tag `",
    "the document is over before this",
    "cannot be hashed",
    "is a list, and cannot be selected by",
    // Kustomize does not read a schema that it does not need.
    "reading the schema of `openapi`",
    // For a validator next to other labels: kustomize accepts some, depending on the origin of
    // the labels.
    "validator shouldn't modify the resource map",
];

/// At most one in this number of cases may be rejected on purpose where kustomize builds it: more
/// could hide real errors.
const EXCUSED_OF: u64 = 40;

fn is_on_purpose(ours: &Made) -> bool {
    ours.as_ref().is_err_and(|error| ON_PURPOSE.iter().any(|part| error.contains(part)))
}

/// Reports whether our result differs from kustomize's. A case for which kustomize's results vary
/// has no correct result, and neither has one with kustomize's internal annotations in its output.
fn differs(case: &Case, peer: &mut Peer) -> bool {
    let ours = case.build();
    if is_on_purpose(&ours) {
        return false;
    }
    let mut is_other = || {
        let theirs = peer.ask(case);
        // If kustomize panics it has no result of its own, and any clear error is correct.
        let is_no_answer = match &theirs {
            Ok(text) => text.contains("internal.config.kubernetes.io/"),
            Err(error) => error.starts_with("panic: "),
        };
        !is_no_answer && !is_equal(&ours, &theirs)
    };
    is_other() && is_other() && is_other() && !is_about_remarks(case, &ours, peer)
}

/// Reports whether a difference is due to comments. Kustomize preserves comments when it merges
/// nodes in flow style with others, and may write one that makes the YAML invalid, which it then
/// cannot read. Its result for the case without comments counts instead.
fn is_about_remarks(case: &Case, ours: &Made, peer: &mut Peer) -> bool {
    let is_unreadable = |theirs: Made| theirs.is_err_and(|error| error.contains("yaml: "));
    if ours.is_err() || !is_unreadable(peer.ask(case)) {
        return false;
    }
    let mut bare = case.clone();
    bare.files.values_mut().for_each(|text| *text = without_remarks(text));
    bare != *case && is_equal(ours, &peer.ask(&bare))
}

mod against_kustomize {
    use super::*;

    #[test]
    fn generated_kustomizations_are_built_as_by_kustomize_or_refused_by_both() {
        let (cases, seed) =
            (asked("SETPOINT_FUZZ_CASES").unwrap_or(CASES), asked("SETPOINT_FUZZ_SEED").unwrap_or(SEED));
        println!("seed {seed}, {cases} cases");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        let mut peer = Peer::start();
        let (mut built, mut refused, mut excused, mut different) = (0_u64, 0_u64, 0_u64, Vec::new());
        for number in 0..cases {
            let case = world::case(seed, number);
            let ours = case.build();
            if is_on_purpose(&ours) && peer.ask(&case).is_ok() {
                excused += 1;
            } else if differs(&case, &mut peer) {
                different.push(told(&case, seed, number, &folder, &mut peer));
                if different.len() == ENOUGH {
                    break;
                }
            } else if ours.is_ok() {
                built += 1;
            } else {
                refused += 1;
            }
        }
        println!(
            "seed {seed}: {built} built alike, {refused} refused by both, {excused} refused on purpose, {} different",
            different.len()
        );
        assert!(different.is_empty(), "seed {seed}: {different:?}");
        assert!(built > refused, "most cases should be good ones: {built} built, {refused} refused");
        assert!(excused * EXCUSED_OF <= cases, "too many are excused: {excused} of {cases}");
    }
}

/// Shrinks a case that differs, prints it and saves it.
#[expect(clippy::print_stdout, reason = "people who run the fuzzer read it")]
fn told(case: &Case, seed: u64, number: u64, folder: &Path, peer: &mut Peer) -> PathBuf {
    let small = shrink::shrink(case.clone(), |case| differs(case, peer));
    let (ours, theirs) = (small.build(), peer.ask(&small));
    let folder = folder.join(format!("{seed}-{number}"));
    drop(std::fs::remove_dir_all(&folder));
    small.write_to(&folder);
    println!("\n=== seed {seed}, case {number}: different, kept in {}", folder.display());
    for (name, text) in &small.files {
        println!("--- {name}\n{text}");
    }
    for (whose, made) in [("ours", &ours), ("theirs", &theirs)] {
        let (name, text) = match made {
            Ok(text) => (format!("{whose}.yaml"), text),
            Err(error) => (format!("{whose}.refused"), error),
        };
        println!("=== {name}\n{text}");
        std::fs::write(folder.join(name), text).expect("an output can be kept");
    }
    folder
}

#[expect(clippy::disallowed_methods, reason = "`cargo xtask fuzz kustomize` sets the number of cases and the seed")]
fn asked(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is `{value}`; it has to be a number")))
}
