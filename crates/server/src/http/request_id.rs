//! Identifiers of requests, which connect a response with the lines of the logs.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use setpoint_core::time::Timestamp;

/// The header with the identifier, of requests of proxies and of all responses.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest identifier that is taken from a proxy.
const LONGEST: usize = 128;

/// Numbers the requests of a process.
#[derive(Debug)]
pub(super) struct RequestIds {
    started: Timestamp,
    last: AtomicU64,
}

impl RequestIds {
    pub(super) fn new(started: Timestamp) -> Self {
        Self { started, last: AtomicU64::new(0) }
    }

    /// Returns the identifier that a trusted proxy has given, or a new one. Identifiers of other
    /// clients are ignored: they could imitate those of other requests.
    pub(super) fn id_of(&self, headers: &HeaderMap, trusted: bool) -> String {
        let given = headers.get(REQUEST_ID).filter(|_| trusted).and_then(|id| id.to_str().ok());
        match given.filter(|id| is_plain(id)) {
            Some(id) => id.to_owned(),
            None => {
                let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
                format!("{:x}-{number:x}", self.started.as_millis())
            }
        }
    }
}

/// Reports whether an identifier is harmless in a header and in a log.
fn is_plain(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= LONGEST
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Returns an identifier as the value of a header.
pub(super) fn header_of(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).expect("identifiers are plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_identifier_of_a_trusted_proxy_is_used() {
        let ids = RequestIds::new(Timestamp::from_millis(0xabc));
        let given = |id: &'static str| HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_static(id))]);
        assert_eq!(ids.id_of(&given("edge-7f3a"), true), "edge-7f3a");
        assert_eq!(ids.id_of(&given("edge-7f3a"), false), "abc-1");
        assert_eq!(ids.id_of(&given("a b"), true), "abc-2");
        assert_eq!(ids.id_of(&HeaderMap::new(), true), "abc-3");
        assert!(!is_plain(&"a".repeat(LONGEST + 1)));
    }
}
