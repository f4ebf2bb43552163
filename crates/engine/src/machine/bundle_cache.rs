//! The bundles apps are held at. Recently used ones are open, the others are packed: most apps rest
//! most of the time, and their declarations would take most of the machine's memory.
//!
//! Packing is no I/O and changes nothing but the memory used. A bundle is packed when it has to
//! make room for another one, so that an installation with few apps never pays for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;

/// The number of resources that open bundles may have in addition to those in use. Opening a bundle
/// costs about ten microseconds for each of its resources.
const MOST_OPEN: usize = 4_096;

/// A compressed bundle.
#[derive(Debug)]
struct PackedBundle {
    digest: Digest,
    resources: usize,
    bytes: Box<[u8]>,
}

impl PackedBundle {
    fn of(bundle: &Bundle) -> Self {
        let (digest, resources) = (bundle.digest(), bundle.resources().len());
        Self { digest, resources, bytes: lz4_flex::compress_prepend_size(&bundle.to_bytes()).into() }
    }

    fn open(&self) -> Arc<Bundle> {
        let bytes = lz4_flex::decompress_size_prepended(&self.bytes).expect("we packed it");
        Arc::new(Bundle::from_bytes(&bytes, self.digest).expect("it was a bundle when it was packed"))
    }
}

/// Bundles by digest.
#[derive(Debug, Default)]
pub struct BundleCache(Mutex<CachedBundles>);

/// The cached bundles. Each is in one of the two maps.
#[derive(Debug, Default)]
struct CachedBundles {
    packed: BTreeMap<Digest, PackedBundle>,
    /// Open bundles, each with its last use.
    open: BTreeMap<Digest, (Arc<Bundle>, u64)>,
    /// Open bundles by last use.
    by_use: BTreeMap<u64, Digest>,
    uses: u64,
    /// The number of resources in open bundles.
    resources: usize,
}

impl BundleCache {
    pub fn put(&self, bundle: Arc<Bundle>) {
        self.shelved().put(bundle);
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<Arc<Bundle>> {
        let mut shelved = self.shelved();
        if let Some(bundle) = shelved.used(digest) {
            return Some(bundle);
        }
        let bundle = shelved.packed.get(digest)?.open();
        shelved.put(Arc::clone(&bundle));
        Some(bundle)
    }

    /// Returns the number of resources of a bundle.
    pub(super) fn size(&self, digest: &Digest) -> Option<usize> {
        let shelved = self.shelved();
        let open = shelved.open.get(digest).map(|(bundle, _)| bundle.resources().len());
        open.or_else(|| shelved.packed.get(digest).map(|packed| packed.resources))
    }

    pub(super) fn has(&self, digest: &Digest) -> bool {
        let shelved = self.shelved();
        shelved.open.contains_key(digest) || shelved.packed.contains_key(digest)
    }

    pub(super) fn len(&self) -> usize {
        let shelved = self.shelved();
        shelved.open.len() + shelved.packed.len()
    }

    pub(super) fn retain(&mut self, is_used: impl Fn(&Digest) -> bool) {
        self.shelved().retain(is_used);
    }

    fn shelved(&self) -> MutexGuard<'_, CachedBundles> {
        // The content is right even after a panic: a bundle that moves from one map to the other is
        // in both for a moment, and never in none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedBundles {
    fn used(&mut self, digest: &Digest) -> Option<Arc<Bundle>> {
        let (bundle, used) = self.open.get_mut(digest)?;
        self.uses += 1;
        self.by_use.remove(&std::mem::replace(used, self.uses));
        self.by_use.insert(self.uses, *digest);
        Some(Arc::clone(bundle))
    }

    fn put(&mut self, bundle: Arc<Bundle>) {
        let digest = bundle.digest();
        self.uses += 1;
        self.resources += bundle.resources().len();
        if let Some((before, used)) = self.open.insert(digest, (bundle, self.uses)) {
            self.resources -= before.resources().len();
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.uses, digest);
        self.packed.remove(&digest);
        while self.resources > MOST_OPEN && self.open.len() > 1 {
            let Some(longest_unused) = self.by_use.values().next().copied() else { return };
            self.pack(&longest_unused);
        }
    }

    fn pack(&mut self, digest: &Digest) {
        if let Some((bundle, used)) = self.open.get(digest) {
            self.resources -= bundle.resources().len();
            self.packed.insert(*digest, PackedBundle::of(bundle));
            self.by_use.remove(used);
            self.open.remove(digest);
        }
    }

    fn retain(&mut self, is_used: impl Fn(&Digest) -> bool) {
        self.packed.retain(|digest, _| is_used(digest));
        self.open.retain(|digest, _| is_used(digest));
        self.by_use.retain(|_, digest| is_used(digest));
        self.resources = self.open.values().map(|(bundle, _)| bundle.resources().len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::key::Key;
    use setpoint_core::name::TargetIdentity;
    use setpoint_core::resource::Resource;
    use setpoint_core::value::Value;

    use super::*;

    /// Builds the bundle of an app with this many resources.
    fn bundle(app: &str, resources: usize) -> Arc<Bundle> {
        let resource = |number: usize| {
            Resource::new(
                Key::new("File", "", &format!("/{number}")).unwrap(),
                "host.setpoint.dev/v1",
                "File",
                Value::map([("spec", Value::str(&"text ".repeat(100)))]),
            )
        };
        let target = TargetIdentity::new("host-1").unwrap();
        Arc::new(Bundle::new(app.parse().unwrap(), target, (0..resources).map(resource).collect()).unwrap())
    }

    fn shelf_of(bundles: &[Arc<Bundle>]) -> BundleCache {
        let shelf = BundleCache::default();
        bundles.iter().for_each(|bundle| shelf.put(Arc::clone(bundle)));
        shelf
    }

    fn is_open(shelf: &BundleCache, bundle: &Bundle) -> bool {
        let (shelved, digest) = (shelf.shelved(), bundle.digest());
        let [open, packed] = [shelved.open.contains_key(&digest), shelved.packed.contains_key(&digest)];
        assert_ne!(open, packed, "it stands in one of the two");
        open
    }

    #[test]
    fn what_was_put_there_is_found_whether_it_is_open_or_packed() {
        let bundles: Vec<_> = ["default/a", "default/b", "default/c"].map(|app| bundle(app, MOST_OPEN / 2)).into();
        let shelf = shelf_of(&bundles);
        for _ in 0..2 {
            for bundle in &bundles {
                assert_eq!(bundles.iter().filter(|bundle| is_open(&shelf, bundle)).count(), 2, "their room is bounded");
                assert_eq!(shelf.get(&bundle.digest()).as_ref(), Some(bundle));
                assert_eq!(shelf.size(&bundle.digest()), Some(MOST_OPEN / 2));
                assert!(shelf.has(&bundle.digest()) && shelf.len() == bundles.len());
            }
        }
        assert_eq!(shelf.shelved().resources, MOST_OPEN);
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_is_packed_first_and_the_last_stays_however_large() {
        let [first, second, large] = [bundle("default/a", 10), bundle("default/b", 10), bundle("default/c", MOST_OPEN)];
        let shelf = shelf_of(&[Arc::clone(&first), Arc::clone(&second)]);
        shelf.get(&first.digest());
        let rest = bundle("default/d", MOST_OPEN - 10);
        shelf.put(Arc::clone(&rest));
        assert_eq!([&first, &second, &rest].map(|bundle| is_open(&shelf, bundle)), [true, false, true]);
        shelf.put(Arc::clone(&large));
        assert_eq!([&first, &rest, &large].map(|bundle| is_open(&shelf, bundle)), [false, false, true]);
    }

    #[test]
    fn what_is_put_there_again_takes_the_room_of_one() {
        let bundle = bundle("default/a", 3);
        let shelf = shelf_of(&[Arc::clone(&bundle), bundle]);
        assert_eq!((shelf.len(), shelf.shelved().resources), (1, 3));
    }

    #[test]
    fn what_nobody_uses_is_gone() {
        let bundles = [bundle("default/a", 1), bundle("default/b", 2), bundle("default/c", MOST_OPEN)];
        let mut shelf = shelf_of(&bundles);
        let [kept, packed, open] = bundles.map(|bundle| bundle.digest());
        shelf.retain(|digest| *digest == kept);
        for dropped in [packed, open] {
            assert!(!shelf.has(&dropped) && shelf.get(&dropped).is_none());
        }
        assert_eq!((shelf.get(&kept).is_some(), shelf.len(), shelf.shelved().resources), (true, 1, 1));
    }

    #[test]
    fn packing_saves_room() {
        let bundle = bundle("default/a", 50);
        assert!(PackedBundle::of(&bundle).bytes.len() * 5 < bundle.to_bytes().len());
    }
}
