//! The outcome of a change: a mark for the result that a history records.

use super::marks::{Mark, Tone};

/// Returns the mark of a result.
pub(super) fn of(result: &str) -> Mark {
    let begins = |words: &[&str]| words.iter().any(|word| result.starts_with(word));
    match result {
        "" => Mark::new(Tone::Good, "check", "done"),
        _ if begins(&["done", "found done"]) => Mark::good(result),
        _ if begins(&["refused", "unknown", "found not done", "found overwritten", "not done"]) => Mark::bad(result),
        _ => Mark::new(Tone::Mute, "dash", result),
    }
}
