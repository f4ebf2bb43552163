//! The door through which the suite prints its progress: filling a cluster takes minutes.

/// Prints a line for the user who waits.
#[expect(clippy::print_stderr, reason = "results go to standard output, so this does not")]
pub(super) fn tell(what: &str) {
    eprintln!("kube: {what}");
}
