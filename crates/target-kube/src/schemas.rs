//! Detects changed schemas: after one, a field may show another default although no client has
//! changed it.
//!
//! The server names each group-version's schema by a hash, all of them in one short response. It is
//! requested when an object seems to have drifted, and at most every few seconds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;

use crate::requests::{Api, Failure, Urgency};
use crate::wire::within;

const ASK_EVERY: Span = Span::seconds(2);
/// The limit for one request: an effect that must be sent in time waits for it.
const PATIENCE: Span = Span::seconds(2);

/// The schemas of a cluster, by the latest response.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    heard: Mutex<Option<Arc<Heard>>>,
    asking: futures_util::lock::Mutex<()>,
}

#[derive(Debug)]
struct Heard {
    epochs: BTreeMap<String, Digest>,
    at: Timestamp,
}

impl Schemas {
    /// Returns the epoch of an apiVersion by the latest response, without a request.
    pub(crate) fn known(&self, api_version: &str) -> Option<Digest> {
        self.locked().as_ref().and_then(|heard| heard.epochs.get(api_version).copied())
    }

    /// Returns the epoch of an apiVersion, at most a few seconds old; `None` if the server does not
    /// report it.
    pub(crate) async fn current(&self, api: &Api, api_version: &str) -> Option<Digest> {
        let _turn = self.asking.lock().await;
        let fresh = |heard: &Arc<Heard>| api.sender.now().since(heard.at) < ASK_EVERY;
        let before = self.locked().clone();
        if !before.as_ref().is_some_and(fresh) {
            let answer = within(&*api.sender.wire, PATIENCE, Heard::ask(api)).await;
            // The request is not repeated: without a response no schema counts as changed, and
            // drift is healed. Records taken until the next response have the epoch before, or a
            // later one: then they are compared once more than necessary.
            let epochs = || before.map(|before| before.epochs.clone()).unwrap_or_default();
            let silent = || Heard { epochs: epochs(), at: api.sender.now() };
            *self.locked() = Some(Arc::new(answer.and_then(Result::ok).unwrap_or_else(silent)));
        }
        self.known(api_version)
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<Heard>>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    async fn ask(api: &Api) -> Result<Self, Failure> {
        let at = api.sender.now();
        let answer = api.ask("/openapi/v3".to_owned(), Urgency::Drift).await?;
        let Some(Value::Map(paths)) = answer.get("paths") else {
            return Err(Failure::Malformed { detail: "the list of schemas has no `paths`".to_owned() });
        };
        let epochs = paths.iter().filter_map(|(path, schema)| {
            // `api/v1` or `apis/apps/v1`; the URL of a schema, which includes its hash, identifies
            // the schema.
            let api_version = path.strip_prefix("apis/").or(path.strip_prefix("api/"))?;
            let place = schema.get("serverRelativeURL").and_then(Value::as_str)?;
            Some((api_version.to_owned(), Digest::of(place.as_bytes())))
        });
        Ok(Self { epochs: epochs.collect(), at })
    }
}
