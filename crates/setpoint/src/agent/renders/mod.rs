//! Renders: made, or remembered from before, across restarts too. A file for each in a folder that
//! may be lost at any time: that costs renders and nothing else. `entry.rs` has their form,
//! `shelf.rs` how many there may be.
//!
//! They may not lead to a delete: whoever deletes asks [`Renders::render`], which believes nothing
//! that is remembered.
//!
//! Files, and not the database of what may be forgotten: that one is read through whenever it is
//! opened, and what is removed from it stays on the disk.

mod cache;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use setpoint_core::canonical;
use setpoint_core::digest::DigestKey;
use setpoint_core::name::AppId;
use setpoint_core::resource::Resource;
use setpoint_core::secret::holds_secrets;
use setpoint_engine::accept::{
    AppSource, By, Considered, Footprint, Kinds, Trees, known_beforehand, recalled, rendered,
};

use self::cache::{Bounds, Name, RenderCache};
use self::entry::{Entry, Unusable};
use super::log::Log;
use crate::complaint::told;

/// What a file is called until it is whole.
const UNFINISHED: &str = "next";

#[derive(Debug)]
pub(super) struct Renders {
    folder: PathBuf,
    /// Seals what is remembered, so that nothing from elsewhere is taken for it.
    key: DigestKey,
    shelf: Mutex<RenderCache>,
    /// How many were made.
    made: AtomicU64,
    /// So many files were begun.
    begun: AtomicU64,
    /// The last one could not be kept, which was said.
    troubled: AtomicBool,
    /// What was said of apps.
    warned: Mutex<BTreeMap<AppId, Vec<String>>>,
    log: Arc<dyn Log>,
}

impl Renders {
    /// Finds what is in the folder, which is made if it is not there. If that fails, nothing is
    /// remembered.
    pub(super) fn open(folder: PathBuf, key: DigestKey, log: Arc<dyn Log>) -> Self {
        Self::bounded(folder, key, Bounds::default(), log)
    }

    fn bounded(folder: PathBuf, key: DigestKey, bounds: Bounds, log: Arc<dyn Log>) -> Self {
        let (shelf, made, begun) = (Mutex::new(RenderCache::new(bounds)), AtomicU64::new(0), AtomicU64::new(0));
        let renders =
            Self { folder, key, shelf, made, begun, troubled: AtomicBool::new(false), warned: Mutex::default(), log };
        renders.find().unwrap_or_else(|error| renders.not_kept(&error));
        renders
    }

    /// How many renders were made since the start.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Considers a revision: nothing if the last accepted render would come out again, from memory
    /// if an earlier one would, else rendered.
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

    /// Renders a revision, whatever is remembered of it; that is replaced by what comes of it.
    pub(super) fn render(&self, source: &AppSource, trees: &Trees, by: By<'_>) -> Considered {
        self.made.fetch_add(1, Ordering::Relaxed);
        let considered = rendered(source, trees, by);
        if let Considered::Rendered { resources, footprint, warnings } = &considered {
            self.keep(source, footprint, resources);
            self.warn(&source.app, warnings);
        }
        considered
    }

    /// Says what should be known of a render, once for as long as it stays the same.
    fn warn(&self, app: &AppId, warnings: &[String]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            if warnings.is_empty() { warned.remove(app) } else { warned.insert(app.clone(), warnings.to_vec()) };
        for warning in warnings.iter().filter(|warning| before.as_ref().is_none_or(|before| !before.contains(warning)))
        {
            self.log.say(&format!("app {app}: {warning}"));
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

    /// What an entry comes to; `None` if it is of other files, or has to be rendered.
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
        // A store that cannot be read is met by the render again, and told there.
        if !entry.footprint.holds(source, trees).unwrap_or(false) {
            return Ok(None);
        }
        let (footprint, objects) = entry.objects()?;
        let Some(resources) = recalled(objects, source, kinds) else { return Ok(None) };
        self.shelf().touch(name);
        now_used(&file);
        // What it was warned of was said when it was rendered.
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
                self.log.say(&format!(
                    "the remembered render {path} is not used: {why}; it is removed, and {app} is rendered instead"
                ));
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

    /// Whole or not at all: renders of one app may be made at the same time. Not synced, as what
    /// the power takes away is found out by its seal.
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

    /// Forgets those of apps that are gone.
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
            self.log.say(&format!("renders are not remembered in {folder}, so that more are made: {error}"));
        }
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.folder.join(name.as_str())
    }

    fn shelf(&self) -> MutexGuard<'_, RenderCache> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Secrets are in the copies of stores already, but need not be in more places.
fn is_secret(resource: &Resource) -> bool {
    holds_secrets(&resource.kind, &resource.body)
}

/// For the next process, which knows by the times of files what was used last. If it cannot be
/// noted, an older use counts.
fn now_used(file: &File) {
    let (last_access, last_modification) =
        (Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, Timespec { tv_sec: 0, tv_nsec: UTIME_NOW });
    let _ = futimens(file, &Timestamps { last_access, last_modification });
}

/// What cannot be removed is not used either, and found again at the next start.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests;
