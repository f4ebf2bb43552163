//! The one word that many controllers write into `status.phase` or `status.state`, and the words
//! they use for errors.
//!
//! Words count against an object, never for it: an Elasticsearch that is `Ready` may be red, an
//! analysis that is `Completed` may have failed, and `Running` is healthy for a service and
//! unfinished for a task.

use super::Verdict;
use super::status::Object;

const AT_WORK: [&str; 19] = [
    "applyingchanges",
    "creating",
    "deleting",
    "deploying",
    "initializing",
    "inprogress",
    "installing",
    "pending",
    "progressing",
    "provisioning",
    "reconciling",
    "restarting",
    "scalingdown",
    "scalingup",
    "starting",
    "terminating",
    "updating",
    "upgrading",
    "waiting",
];
const TROUBLE: [&str; 6] = ["degraded", "error", "failed", "failure", "invalid", "unhealthy"];

/// Returns the field and the word in it.
pub(super) fn word(object: Object<'_>) -> Option<(&'static str, &str)> {
    ["phase", "state"].into_iter().find_map(|field| {
        let word = object.text(&format!("status.{field}"))?;
        (!word.is_empty()).then_some((field, word))
    })
}

/// Returns the progress or the problem that the word indicates.
pub(super) fn judge(object: Object<'_>) -> Option<Verdict> {
    let (field, word) = word(object)?;
    let plain: String = word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let told = format!("its {field} is `{word}`");
    match plain.as_str() {
        known if AT_WORK.contains(&known) => Some(Verdict::progressing(told)),
        known if TROUBLE.contains(&known) || names_an_error(word) => Some(Verdict::degraded(told)),
        _ => None,
    }
}

/// Reports whether a reason or the name of a condition indicates an error. By convention these are
/// one word in capitals, and controllers put "error" or "failed" into it when they have met one.
/// `NoErrors` is none.
pub(super) fn names_an_error(name: &str) -> bool {
    let words = [
        "Abort",
        "Denied",
        "Error",
        "Exceeded",
        "Fail",
        "Forbidden",
        "Invalid",
        "Rejected",
        "Unauthorized",
        "Unhealthy",
    ];
    !name.starts_with("No") && (name.starts_with("Err") || words.iter().any(|word| name.contains(word)))
}
