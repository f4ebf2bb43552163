//! What the last renders were made from, so that an app is not rendered again from the same: in memory, and in the disposable database
//! for the time after a restart. Losing them costs renders and nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;
use setpoint_engine::accept::Footprint;
use setpoint_ledger_sql::{Scratch, ScratchError};

use super::log::Log;
use crate::complaint::told;

/// Where they are in the database.
const AREA: &str = "footprints";

/// By the bundle that the render gave, as they are written down: in a tenth of the room, and each is read once for every version.
type Kept = BTreeMap<AppId, Vec<(Digest, Box<[u8]>)>>;

#[derive(Debug)]
pub(super) struct Footprints {
    kept: Mutex<Kept>,
    scratch: Option<Arc<Scratch>>,
    log: Arc<dyn Log>,
}

/// A footprint as it is written down.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    bundle: Digest,
    footprint: Footprint,
}

impl Footprints {
    /// Without a database they last as long as the process.
    pub(super) fn new(scratch: Option<Arc<Scratch>>, log: Arc<dyn Log>) -> Self {
        Self { kept: Mutex::default(), scratch, log }
    }

    /// What the render that gave this bundle was made from, if anyone remembers.
    pub(super) async fn of(&self, app: &AppId, bundle: Digest) -> Option<Footprint> {
        if let Some(kept) = self.kept().get(app) {
            let (_, written) = kept.iter().find(|(of, _)| *of == bundle)?;
            return read(written).map(|written| written.footprint);
        }
        let stored = self.scratch.as_ref()?.get(AREA, &app.to_string()).await;
        let stored = stored.unwrap_or_else(|error| {
            self.unusable(&error);
            None
        })?;
        let Written { bundle: of, footprint } = read(&stored)?;
        self.kept().entry(app.clone()).or_default().push((of, stored.into()));
        (of == bundle).then_some(footprint)
    }

    /// Keeps the footprint of a render, and of the accepted one.
    pub(super) async fn keep(&self, app: &AppId, bundle: Digest, footprint: Footprint, accepted: Option<Digest>) {
        let written = serde_json::to_vec(&Written { bundle, footprint }).expect("it has text keys only");
        {
            let mut all = self.kept();
            let kept = all.entry(app.clone()).or_default();
            kept.retain(|(of, _)| Some(*of) == accepted && *of != bundle);
            kept.push((bundle, written.as_slice().into()));
        }
        let Some(scratch) = &self.scratch else { return };
        scratch.put(AREA, &app.to_string(), &written).await.unwrap_or_else(|error| self.unusable(&error));
    }

    /// Forgets those of apps that are gone.
    pub(super) async fn keep_only(&self, is_there: impl Fn(&AppId) -> bool) {
        let gone: Vec<AppId> = self.kept().keys().filter(|app| !is_there(app)).cloned().collect();
        for app in gone {
            self.kept().remove(&app);
            let Some(scratch) = &self.scratch else { continue };
            scratch.remove(AREA, &app.to_string()).await.unwrap_or_else(|error| self.unusable(&error));
        }
    }

    pub(super) async fn close(&self) {
        if let Some(scratch) = &self.scratch {
            scratch.close().await;
        }
    }

    fn unusable(&self, error: &ScratchError) {
        self.log.say(&format!("renders are not remembered: {}", told(error)));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that another version of this program wrote differently is as good as none.
fn read(written: &[u8]) -> Option<Written> {
    serde_json::from_slice(written).ok()
}
