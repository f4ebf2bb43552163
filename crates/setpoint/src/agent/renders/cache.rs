//! Tracks the cached renders and their size: at most a few for each app, and a limited number of
//! bytes in all. The least recently used ones are removed first.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;

/// Disks allocate blocks: the smallest file takes this many bytes.
const BLOCK: u64 = 4_096;

/// The length of each half of a name.
const HALF: usize = 32;

/// The name of an entry: first its app, then its inputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn new(app: &AppId, made_from: Digest) -> Self {
        Self(half(Digest::of(app.to_string().as_bytes())) + "-" + &half(made_from))
    }

    /// Returns the name of a file, if it is an entry.
    pub(super) fn of_file(file: &str) -> Option<Self> {
        let is_half = |text: &str| text.len() == HALF && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        file.split_once('-').filter(|(app, made_from)| is_half(app) && is_half(made_from))?;
        Some(Self(file.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a name that sorts before all names of an app.
    fn first_of(app: &AppId) -> Self {
        Self(half(Digest::of(app.to_string().as_bytes())))
    }

    fn is_of(&self, first: &Self) -> bool {
        self.0.starts_with(&first.0)
    }
}

fn half(digest: Digest) -> String {
    let mut text = digest.to_string();
    text.truncate(HALF);
    text
}

/// The limits of the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) for_each_app: usize,
    pub(super) bytes: u64,
    /// The size of the largest entry.
    pub(super) largest: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { for_each_app: 4, bytes: 256 << 20, largest: 8 << 20 }
    }
}

/// The index of the cached renders.
#[derive(Debug)]
pub(super) struct RenderCache {
    bounds: Bounds,
    kept: BTreeMap<Name, CachedRender>,
    /// The names by the time of their last use.
    by_use: BTreeMap<u64, Name>,
    uses: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct CachedRender {
    bytes: u64,
    used: u64,
}

impl RenderCache {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, kept: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0 }
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the entries of an app, the most recently used one first.
    pub(super) fn of(&self, app: &AppId) -> Vec<Name> {
        let mut found = self.kept_of(&Name::first_of(app));
        found.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.used));
        found.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// Adds an entry. Returns the entries that must be removed to make room.
    pub(super) fn put(&mut self, name: &Name, bytes: u64) -> Vec<Name> {
        self.remove(name);
        let bytes = bytes.max(1).next_multiple_of(BLOCK);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, name.clone());
        self.kept.insert(name.clone(), CachedRender { bytes, used: self.uses });
        let mut gone = Vec::new();
        while let Some(least) = self.too_many_like(name).or_else(|| self.too_much()) {
            self.remove(&least);
            gone.push(least);
        }
        gone
    }

    /// Marks an entry as used.
    pub(super) fn touch(&mut self, name: &Name) {
        let Some(kept) = self.kept.get_mut(name) else { return };
        self.by_use.remove(&kept.used);
        self.uses += 1;
        kept.used = self.uses;
        self.by_use.insert(self.uses, name.clone());
    }

    pub(super) fn remove(&mut self, name: &Name) {
        let Some(CachedRender { bytes, used }) = self.kept.remove(name) else { return };
        self.by_use.remove(&used);
        self.bytes -= bytes;
    }

    /// Removes the entries of all other apps. Returns them.
    pub(super) fn keep_only<'a>(&mut self, apps: impl Iterator<Item = &'a AppId>) -> Vec<Name> {
        let known: Vec<Name> = apps.map(Name::first_of).collect();
        let known: BTreeSet<&str> = known.iter().map(Name::as_str).collect();
        let gone = self.kept.keys().filter(|name| !known.contains(&name.0[..HALF])).cloned().collect::<Vec<_>>();
        gone.iter().for_each(|name| self.remove(name));
        gone
    }

    fn kept_of(&self, first: &Name) -> Vec<(&Name, &CachedRender)> {
        self.kept.range(first..).take_while(|(name, _)| name.is_of(first)).collect()
    }

    /// Returns the entry to remove if this entry's app has too many.
    fn too_many_like(&self, name: &Name) -> Option<Name> {
        let of_app = self.kept_of(&Name(name.0[..HALF].to_owned()));
        let is_full = of_app.len() > self.bounds.for_each_app;
        is_full.then(|| of_app.into_iter().min_by_key(|(_, kept)| kept.used)).flatten().map(|(name, _)| name.clone())
    }

    fn too_much(&self) -> Option<Name> {
        let is_full = self.bytes > self.bounds.bytes;
        is_full.then(|| self.by_use.values().next().cloned()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: u32) -> AppId {
        format!("default/app-{number}").parse().expect("a valid app")
    }

    fn name(of: u32, number: u32) -> Name {
        Name::new(&app(of), Digest::of(&number.to_le_bytes()))
    }

    fn shelf(for_each_app: usize, blocks: u64) -> RenderCache {
        RenderCache::new(Bounds { for_each_app, bytes: blocks * BLOCK, largest: 1 })
    }

    #[test]
    fn of_an_app_the_least_recently_used_goes_first_and_no_other_app_s() {
        let mut shelf = shelf(2, 100);
        assert!(shelf.put(&name(2, 1), 10).is_empty() && shelf.put(&name(1, 1), 10).is_empty());
        assert!(shelf.put(&name(1, 2), 10).is_empty());
        shelf.touch(&name(1, 1));
        assert_eq!(shelf.put(&name(1, 3), 10), [name(1, 2)]);
        assert_eq!(shelf.of(&app(1)), [name(1, 3), name(1, 1)]);
        assert_eq!(shelf.of(&app(2)), [name(2, 1)]);
    }

    #[test]
    fn beyond_its_bytes_the_least_recently_used_of_all_go_until_there_is_room() {
        let mut shelf = shelf(4, 3);
        for of in 1..=3 {
            assert!(shelf.put(&name(of, 1), 1).is_empty(), "a small one takes a block");
        }
        shelf.touch(&name(1, 1));
        assert_eq!(shelf.put(&name(4, 1), BLOCK + 1), [name(2, 1), name(3, 1)]);
        assert_eq!(shelf.bytes, 3 * BLOCK);
        assert!(shelf.put(&name(4, 1), 1).is_empty(), "the same entry replaces the previous one");
        assert_eq!((shelf.bytes, shelf.kept.len(), shelf.by_use.len()), (2 * BLOCK, 2, 2));
    }

    #[test]
    fn those_of_apps_that_are_gone_are_taken_away() {
        let mut shelf = shelf(4, 100);
        shelf.put(&name(1, 1), 1);
        shelf.put(&name(2, 1), 1);
        assert_eq!(shelf.keep_only([app(2)].iter()), [name(1, 1)]);
        assert!(shelf.of(&app(1)).is_empty() && !shelf.of(&app(2)).is_empty());
    }

    #[test]
    fn files_with_other_names_are_no_entries() {
        let entry = name(1, 1);
        assert_eq!(Name::of_file(entry.as_str()), Some(entry.clone()));
        for other in ["", "-", "notes.txt", &entry.as_str()[1..], &format!("{}.7.next", entry.as_str())] {
            assert_eq!(Name::of_file(other), None, "{other}");
        }
    }
}
