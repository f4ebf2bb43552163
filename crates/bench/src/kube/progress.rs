//! The door through which the suite says how far it is: filling a cluster takes minutes.

/// Says something to whoever waits.
#[expect(clippy::print_stderr, reason = "results go to standard output, so this does not")]
pub(super) fn tell(what: &str) {
    eprintln!("kube: {what}");
}
