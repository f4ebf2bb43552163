//! The inputs of the last renders, so that an app is not rendered again from the same ones. They
//! are kept in memory, and in the disposable database for the next process. Losing them costs
//! renders and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;
use setpoint_engine::accept::Footprint;
use setpoint_ledger_sql::{Scratch, ScratchError};
use tracing::warn;

use crate::complaint::told;
use crate::log::Log;

/// Their area in the database.
const AREA: &str = "footprints";

/// The number of footprints that are written together: one by one, they would cost as much as the
/// renders. The rest is written at the next poll of a store.
const TOGETHER: usize = 64;

/// Footprints by the bundle of their render, in their serialised form: a tenth of the size, and
/// each is parsed once for every version.
type StoredFootprints = BTreeMap<AppId, Vec<(Digest, Box<[u8]>)>>;

#[derive(Debug)]
pub(super) struct Footprints {
    kept: Mutex<StoredFootprints>,
    /// The apps whose newest footprint is not in the database yet.
    unwritten: Mutex<BTreeSet<AppId>>,
    scratch: Option<Arc<Scratch>>,
    log: Log,
}

/// A footprint in its serialised form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    bundle: Digest,
    footprint: Footprint,
}

impl Footprints {
    /// Creates the memory of footprints. Without a database, they last as long as the process.
    pub(super) fn new(scratch: Option<Arc<Scratch>>, log: Log) -> Self {
        Self { kept: Mutex::default(), unwritten: Mutex::default(), scratch, log }
    }

    /// Returns the inputs of the render with this bundle, if they are remembered.
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

    /// Stores the footprint of a render, and keeps that of the accepted one.
    pub(super) async fn keep(&self, app: &AppId, bundle: Digest, footprint: Footprint, accepted: Option<Digest>) {
        let written = serde_json::to_vec(&Written { bundle, footprint }).expect("it has text keys only");
        {
            let mut all = self.kept();
            let kept = all.entry(app.clone()).or_default();
            kept.retain(|(of, _)| Some(*of) == accepted && *of != bundle);
            kept.push((bundle, written.into()));
        }
        let waiting = {
            let mut unwritten = self.unwritten();
            unwritten.insert(app.clone());
            unwritten.len()
        };
        if waiting >= TOGETHER {
            self.write_down().await;
        }
    }

    /// Writes all new footprints to the database.
    pub(super) async fn write_down(&self) {
        let apps = std::mem::take(&mut *self.unwritten());
        let Some(scratch) = self.scratch.as_ref().filter(|_| !apps.is_empty()) else { return };
        let newest = |app: AppId| {
            let (_, written) = self.kept().get(&app)?.last()?.clone();
            Some((app.to_string(), Some(written.into())))
        };
        let changes = apps.into_iter().filter_map(newest).collect();
        scratch.change(AREA, changes).await.unwrap_or_else(|error| self.unusable(&error));
    }

    /// Forgets the footprints of removed apps.
    pub(super) async fn keep_only(&self, is_there: impl Fn(&AppId) -> bool) {
        let gone: Vec<AppId> = self.kept().keys().filter(|app| !is_there(app)).cloned().collect();
        for app in gone {
            self.kept().remove(&app);
            let Some(scratch) = &self.scratch else { continue };
            scratch.remove(AREA, &app.to_string()).await.unwrap_or_else(|error| self.unusable(&error));
        }
    }

    pub(super) async fn close(&self) {
        self.write_down().await;
        if let Some(scratch) = &self.scratch {
            scratch.close().await;
        }
    }

    fn unusable(&self, error: &ScratchError) {
        self.log.with(|| warn!(reason = told(error), "cannot remember renders"));
    }

    fn unwritten(&self) -> MutexGuard<'_, BTreeSet<AppId>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, StoredFootprints> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses a footprint. One that another version of this program wrote in another form counts as
/// missing.
fn read(written: &[u8]) -> Option<Written> {
    serde_json::from_slice(written).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: usize) -> AppId {
        format!("default/app-{number}").parse().expect("a valid app")
    }

    fn bundle(number: usize) -> Digest {
        Digest::of(&number.to_le_bytes())
    }

    fn footprint(number: usize) -> Footprint {
        let written = format!(r#"{{"recipe":"{}","reads":{{}}}}"#, bundle(number));
        serde_json::from_str(&written).expect("a footprint without reads")
    }

    async fn opened(folder: &tempfile::TempDir) -> Footprints {
        let scratch = Scratch::open(folder.path()).await.expect("it opens");
        Footprints::new(Some(Arc::new(scratch)), Log::silent())
    }

    #[tokio::test]
    async fn the_newest_is_there_for_the_next_process_once_this_one_has_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = opened(&folder).await;
        before.keep(&app(1), bundle(1), footprint(1), None).await;
        before.keep(&app(1), bundle(2), footprint(2), Some(bundle(1))).await;
        before.close().await;
        let after = opened(&folder).await;
        assert_eq!(after.of(&app(1), bundle(2)).await, Some(footprint(2)));
        assert_eq!(after.of(&app(1), bundle(1)).await, None);
    }

    #[tokio::test]
    async fn many_are_written_down_before_it_ends_and_the_rest_when_it_is_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let footprints = opened(&folder).await;
        for number in 0..=TOGETHER {
            footprints.keep(&app(number), bundle(number), footprint(number), None).await;
        }
        let stored = async || footprints.scratch.as_ref().expect("a database").all(AREA).await.expect("all").len();
        assert_eq!(stored().await, TOGETHER);
        footprints.write_down().await;
        assert_eq!(stored().await, TOGETHER + 1);
    }
}
