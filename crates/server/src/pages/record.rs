//! The page of one record of the ledger, with the proof that it is in the signed log, and the proof as
//! a text that a person can recompute.

use std::fmt::Write;

use askama::Template;
use setpoint_api::answer::RecordProof;
use setpoint_core::digest::Digest;
use sha2::{Digest as _, Sha256};

use super::chrome::Chrome;
use super::{rendered, words};

#[derive(Template)]
#[template(path = "record.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    proof: &'a RecordProof,
    /// The record with line breaks.
    record: String,
    records: String,
    hashes: String,
    root: String,
}

/// Renders the page of a record.
pub fn page(chrome: &Chrome, proof: &RecordProof) -> String {
    let record = serde_json::from_str::<serde_json::Value>(&proof.record).map(|record| format!("{record:#}"));
    rendered(&Page {
        chrome,
        proof,
        record: record.unwrap_or_else(|_| proof.record.clone()),
        records: words::number(usize::try_from(proof.size).unwrap_or(usize::MAX)),
        hashes: words::counted(proof.path.len(), "hash").replace("hashs", "hashes"),
        root: steps(proof).last().map_or(proof.leaf, |step| step.hash).to_string(),
    })
}

/// Returns the proof as a text: the record, each hash on the way to the root, and the signed
/// checkpoint.
pub fn text(proof: &RecordProof) -> String {
    let mut text = format!(
        "Record {} of log {}, byte for byte:\n\n{}\n\nEach hash is SHA-256 over the bytes named; 00 and 01 are single \
         bytes.\n\n  00, the record\n    = {}\n",
        proof.seq, proof.origin, proof.record, proof.leaf
    );
    for Step { left, right, hash } in steps(proof) {
        writeln!(text, "  01, {left}, {right}\n    = {hash}").expect("writing to a string does not fail");
    }
    text.push_str("\nThe last hash is the root, in base64 on the third line of the signed checkpoint:\n\n");
    text.push_str(&proof.checkpoint);
    text
}

/// One hash of two.
struct Step {
    left: Digest,
    right: Digest,
    hash: Digest,
}

/// Returns the steps from the record to the root.
fn steps(proof: &RecordProof) -> Vec<Step> {
    let mut hash = proof.leaf;
    let step = |(is_left, beside): (bool, &Digest)| {
        let (left, right) = if is_left { (*beside, hash) } else { (hash, *beside) };
        let made = Sha256::new().chain_update([1]).chain_update(left.as_bytes()).chain_update(right.as_bytes());
        hash = Digest::from_bytes(made.finalize().into());
        Step { left, right, hash }
    };
    sides(proof.seq, proof.size).into_iter().zip(&proof.path).map(step).collect()
}

/// Reports for each hash of a proof, from the record upwards, whether it is on the left.
fn sides(seq: u64, size: u64) -> Vec<bool> {
    let (mut start, mut end, mut sides) = (0, size, Vec::new());
    while end - start > 1 {
        // The largest power of two below the number of records.
        let middle = start + (end - start).next_power_of_two() / 2;
        sides.push(seq >= middle);
        if seq < middle { end = middle } else { start = middle }
    }
    sides.reverse();
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(record: &str) -> Digest {
        Digest::from_bytes(Sha256::new().chain_update([0]).chain_update(record).finalize().into())
    }

    fn node(left: Digest, right: Digest) -> Digest {
        let hash = Sha256::new().chain_update([1]).chain_update(left.as_bytes()).chain_update(right.as_bytes());
        Digest::from_bytes(hash.finalize().into())
    }

    #[test]
    fn the_steps_lead_from_each_record_to_the_root() {
        let [a, b, c] = ["a", "b", "c"].map(leaf);
        let root = node(node(a, b), c);
        let paths = [vec![b, c], vec![a, c], vec![node(a, b)]];
        for ((seq, leaf), path) in (0..).zip([a, b, c]).zip(paths) {
            let (origin, record, checkpoint) = ("test".to_owned(), "x".to_owned(), "signed\n".to_owned());
            let proof = RecordProof { seq, origin, record, size: 3, leaf, path, checkpoint };
            assert_eq!(steps(&proof).last().unwrap().hash, root, "record {seq}");
            let text = text(&proof);
            assert!(text.contains(&format!("    = {root}\n\nThe last hash")) && text.ends_with("signed\n"), "{text}");
        }
        assert_eq!(sides(0, 1), [false; 0]);
    }
}
