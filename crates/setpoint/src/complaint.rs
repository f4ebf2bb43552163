//! Formats an error for people: the error and all its causes, each once, on one line.

use std::error::Error;

/// Returns the error and its causes, outermost first.
pub(crate) fn told(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the ledger cannot be read")]
    struct Outer {
        source: std::io::Error,
    }

    #[test]
    fn every_cause_is_told_once() {
        let error = Outer { source: std::io::Error::other("the disk is gone") };
        assert_eq!(told(&error), "the ledger cannot be read: the disk is gone");
    }
}
