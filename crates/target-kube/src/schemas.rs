//! Whether the schema of a kind has moved: then a field may show another default, and nobody has
//! touched it.
//!
//! The server names each group-version's schema by a hash, all of them in one short answer. It is
//! asked when something seems to have drifted, and not more often than every few seconds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;

use crate::requests::{Api, Failure, Urgency};
use crate::wire::within;

const ASK_EVERY: Span = Span::seconds(2);
/// What waits for the answer is an effect that must leave in time.
const PATIENCE: Span = Span::seconds(2);

/// The schemas of a cluster, as they were last heard of.
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
    /// The epoch of an apiVersion as far as it was heard of, without asking.
    pub(crate) fn known(&self, api_version: &str) -> Option<Digest> {
        self.locked().as_ref().and_then(|heard| heard.epochs.get(api_version).copied())
    }

    /// The epoch of an apiVersion now, or a few seconds ago; `None` where the server does not say.
    pub(crate) async fn current(&self, api: &Api, api_version: &str) -> Option<Digest> {
        let _turn = self.asking.lock().await;
        let fresh = |heard: &Arc<Heard>| api.sender.now().since(heard.at) < ASK_EVERY;
        let before = self.locked().clone();
        if !before.as_ref().is_some_and(fresh) {
            let answer = within(&*api.sender.wire, PATIENCE, Heard::ask(api)).await;
            // Nobody waits for it twice: without an answer it is as if nothing had moved, and what
            // drifted is healed. What is remembered until the next answer is of the epoch before,
            // or of a later one: then it is compared once more than it need be.
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
            return Err(Failure::Malformed { detail: "it does not say which schemas it has".to_owned() });
        };
        let epochs = paths.iter().filter_map(|(path, schema)| {
            // `api/v1` or `apis/apps/v1`; what names a schema is the place it is at, with its hash.
            let api_version = path.strip_prefix("apis/").or(path.strip_prefix("api/"))?;
            let place = schema.get("serverRelativeURL").and_then(Value::as_str)?;
            Some((api_version.to_owned(), Digest::of(place.as_bytes())))
        });
        Ok(Self { epochs: epochs.collect(), at })
    }
}
