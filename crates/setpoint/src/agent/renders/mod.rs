//! Renders apps, or returns cached renders, which also survive restarts. Each is a file in a
//! directory that may be lost at any time, which costs renders and nothing else. `entry.rs` has
//! their format, `cache.rs` their limits.
//!
//! Cached renders must not lead to a delete: a render for a delete uses [`Renders::render`], which
//! trusts no cached entry.
//!
//! They are files instead of rows of the disposable database, because that database is read
//! completely whenever it is opened, and deleted rows stay on the disk.

mod cache;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use setpoint_core::canonical;
use setpoint_core::digest::DigestKey;
use setpoint_core::name::AppId;
use setpoint_core::resource::Resource;
use setpoint_core::secret::holds_secrets;
use setpoint_engine::accept::{AppSource, By, Considered, Footprint, Trees, known_beforehand, recalled, rendered};
use setpoint_target::Kinds;
use tracing::warn;

use self::cache::{Bounds, Name, RenderCache};
use self::entry::{Entry, Unusable};
use crate::complaint::told;
use crate::log::Log;

/// The extension of a file that is not complete yet.
const UNFINISHED: &str = "next";

#[derive(Debug)]
pub(super) struct Renders {
    folder: PathBuf,
    /// Seals the entries, so that files from elsewhere are not used.
    key: DigestKey,
    shelf: Mutex<RenderCache>,
    /// The number of renders.
    made: AtomicU64,
    /// The number of files that were begun.
    begun: AtomicU64,
    /// The last render could not be stored, and this was logged.
    troubled: AtomicBool,
    /// The warnings logged for each app.
    warned: Mutex<BTreeMap<AppId, Vec<String>>>,
    log: Log,
}

impl Renders {
    /// Opens the directory, creates it if it does not exist, and finds its entries. If that fails,
    /// nothing is cached.
    pub(super) fn open(folder: PathBuf, key: DigestKey, log: Log) -> Self {
        Self::bounded(folder, key, Bounds::default(), log)
    }

    fn bounded(folder: PathBuf, key: DigestKey, bounds: Bounds, log: Log) -> Self {
        let (shelf, made, begun) = (Mutex::new(RenderCache::new(bounds)), AtomicU64::new(0), AtomicU64::new(0));
        let renders =
            Self { folder, key, shelf, made, begun, troubled: AtomicBool::new(false), warned: Mutex::default(), log };
        renders.find().unwrap_or_else(|error| renders.not_kept(&error));
        renders
    }

    /// Returns the number of renders since the start.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Considers a revision: unchanged if the last accepted render would have the same result, from
    /// the cache if an earlier one would, else rendered.
    pub(super) fn consider(
        &self,
        source: &AppSource,
        trees: &Trees,
        last: Option<&Footprint>,
        by: By<'_>,
    ) -> Considered {
        known_beforehand(source, trees, last)
            .or_else(|| self.recall(source, trees, by.kinds))
            .unwrap_or_else(|| self.render(source, trees, by))
    }

    /// Renders a revision regardless of cached entries, and replaces its entry with the result.
    pub(super) fn render(&self, source: &AppSource, trees: &Trees, by: By<'_>) -> Considered {
        self.made.fetch_add(1, Ordering::Relaxed);
        let considered = rendered(source, trees, by);
        if let Considered::Rendered { resources, footprint, warnings } = &considered {
            self.keep(source, footprint, resources);
            self.warn(&source.app, warnings);
        }
        considered
    }

    /// Logs the warnings of a render, once for as long as they stay the same.
    fn warn(&self, app: &AppId, warnings: &[String]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            if warnings.is_empty() { warned.remove(app) } else { warned.insert(app.clone(), warnings.to_vec()) };
        for warning in warnings.iter().filter(|warning| before.as_ref().is_none_or(|before| !before.contains(warning)))
        {
            self.log.with(|| warn!(app = %app, "{warning}"));
        }
    }

    fn recall(&self, source: &AppSource, trees: &Trees, kinds: &dyn Kinds) -> Option<Considered> {
        if !source.may_be_recalled() {
            return None;
        }
        let names = self.shelf().of(&source.app);
        names.into_iter().find_map(|name| {
            let taken = self.taken(&name, source, trees, kinds);
            taken.unwrap_or_else(|unusable| {
                self.drop_unusable(&name, &source.app, &unusable);
                None
            })
        })
    }

    /// Returns the result of an entry; `None` if it has other inputs, or if rendering is necessary.
    fn taken(
        &self,
        name: &Name,
        source: &AppSource,
        trees: &Trees,
        kinds: &dyn Kinds,
    ) -> Result<Option<Considered>, Unusable> {
        let file = File::open(self.path(name))?;
        let most = u64::try_from(self.shelf().bounds().largest).unwrap_or(u64::MAX);
        let entry = Entry::open(BufReader::new((&file).take(most)), &self.key, &source.app)?;
        // The render will read the store again and report its error.
        if !entry.footprint.holds(source, trees).unwrap_or(false) {
            return Ok(None);
        }
        let (footprint, objects) = entry.objects()?;
        let Some(resources) = recalled(objects, source, kinds) else { return Ok(None) };
        self.shelf().touch(name);
        now_used(&file);
        // The warnings were logged when it was rendered.
        Ok(Some(Considered::Rendered { resources, footprint, warnings: Vec::new() }))
    }

    fn drop_unusable(&self, name: &Name, app: &AppId, why: &Unusable) {
        self.shelf().remove(name);
        let path = self.path(name);
        match why {
            Unusable::Unreadable { source } if source.kind() == io::ErrorKind::NotFound => return,
            Unusable::Outdated => {}
            Unusable::Unreadable { .. } | Unusable::Damaged | Unusable::OfAnother { .. } => {
                let (path, why) = (path.display(), told(why));
                self.log.with(|| {
                    warn!(app = %app, "the cached render {path} is not used: {why}; it is removed, and the app is rendered");
                });
            }
        }
        remove(&path);
    }

    fn keep(&self, source: &AppSource, footprint: &Footprint, resources: &[Resource]) {
        if !source.may_be_recalled() || resources.iter().any(is_secret) {
            return;
        }
        let most = self.shelf().bounds().largest;
        let Some(bytes) = entry::written(&source.app, footprint, resources, &self.key, most) else { return };
        let name = Name::new(&source.app, canonical::digest_of(footprint));
        match self.write(&name, &bytes) {
            Ok(()) => {
                self.troubled.store(false, Ordering::Relaxed);
                let gone = self.shelf().put(&name, bytes.len() as u64);
                gone.iter().for_each(|name| remove(&self.path(name)));
            }
            Err(error) => self.not_kept(&error),
        }
    }

    /// Writes a file, completely or not at all, because renders of one app may run at the same
    /// time. It is not synced: the seal detects data that was lost with the power.
    fn write(&self, name: &Name, bytes: &[u8]) -> io::Result<()> {
        let turn = self.begun.fetch_add(1, Ordering::Relaxed);
        let next = self.folder.join(format!("{}.{turn}.{UNFINISHED}", name.as_str()));
        let written = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
            file.write_all(bytes)?;
            fs::rename(&next, self.path(name))
        };
        written().inspect_err(|_| remove(&next))
    }

    /// Forgets the entries of removed apps.
    pub(super) fn keep_only<'a>(&self, apps: impl Iterator<Item = &'a AppId>) {
        let apps: BTreeSet<&AppId> = apps.collect();
        self.warned.lock().unwrap_or_else(PoisonError::into_inner).retain(|app, _| apps.contains(app));
        let gone = self.shelf().keep_only(apps.into_iter());
        gone.iter().for_each(|name| remove(&self.path(name)));
    }

    fn find(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut found = Vec::new();
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            let Some(name) = file.file_name().to_str().map(str::to_owned) else { continue };
            match Name::of_file(&name) {
                Some(name) => {
                    let about = file.metadata()?;
                    found.push((about.modified()?, name, about.len()));
                }
                None if name.ends_with(UNFINISHED) => remove(&file.path()),
                None => {}
            }
        }
        found.sort();
        for (_, name, bytes) in found {
            let gone = self.shelf().put(&name, bytes);
            gone.iter().for_each(|name| remove(&self.path(name)));
        }
        Ok(())
    }

    fn not_kept(&self, error: &io::Error) {
        if !self.troubled.swap(true, Ordering::Relaxed) {
            let folder = self.folder.display();
            self.log.with(|| warn!("cannot cache renders in {folder}, so apps are rendered more often: {error}"));
        }
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.folder.join(name.as_str())
    }

    fn shelf(&self) -> MutexGuard<'_, RenderCache> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Secrets are already in the copies of stores, but should not be in more places.
fn is_secret(resource: &Resource) -> bool {
    holds_secrets(&resource.kind, &resource.body)
}

/// Updates the time of a file, by which the next process knows the order of uses. If that fails, an
/// older use counts.
fn now_used(file: &File) {
    let (last_access, last_modification) =
        (Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, Timespec { tv_sec: 0, tv_nsec: UTIME_NOW });
    let _ = futimens(file, &Timestamps { last_access, last_modification });
}

/// Removes a file. One that cannot be removed is not used, and is found again at the next start.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests;
