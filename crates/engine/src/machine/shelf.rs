//! The bundles apps are held at. Those in use are open; the others are packed: most apps rest most of the time, and what they declare is
//! most of what a machine would have in memory.
//!
//! Packing is no I/O and changes nothing but the room that is needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::bundle::{BadBundle, Bundle};
use setpoint_core::digest::Digest;

/// So many resources may be in open bundles beside those in use. Opening one costs some ten microseconds for each of its resources.
const MOST_OPEN: usize = 4_096;

/// A bundle in little room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBundle {
    digest: Digest,
    resources: usize,
    bytes: Box<[u8]>,
}

impl PackedBundle {
    /// Packs the bytes of the bundle that has this digest; an error if they are not its bytes.
    pub fn of_bytes(bytes: &[u8], digest: Digest) -> Result<Self, BadBundle> {
        Ok(Self::packed(&Bundle::from_bytes(bytes, digest)?, bytes))
    }

    pub fn of(bundle: &Bundle) -> Self {
        Self::packed(bundle, &bundle.to_bytes())
    }

    fn packed(bundle: &Bundle, bytes: &[u8]) -> Self {
        let (digest, resources) = (bundle.digest(), bundle.resources().len());
        Self { digest, resources, bytes: lz4_flex::compress_prepend_size(bytes).into() }
    }

    fn open(&self) -> Arc<Bundle> {
        let bytes = lz4_flex::decompress_size_prepended(&self.bytes).expect("we packed it");
        Arc::new(Bundle::from_bytes(&bytes, self.digest).expect("it was a bundle when it was packed"))
    }
}

/// Bundles by digest.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    packed: BTreeMap<Digest, PackedBundle>,
    open: Mutex<Open>,
}

/// Bundles that were used lately, with when.
#[derive(Debug, Default)]
struct Open {
    bundles: BTreeMap<Digest, (Arc<Bundle>, u64)>,
    uses: u64,
    resources: usize,
}

impl Shelf {
    pub(super) fn new(bundles: BTreeMap<Digest, PackedBundle>) -> Self {
        Self { packed: bundles, open: Mutex::default() }
    }

    pub(super) fn put(&mut self, bundle: Bundle, bytes: &[u8]) {
        let digest = bundle.digest();
        self.packed.insert(digest, PackedBundle::packed(&bundle, bytes));
        self.opened().put(digest, Arc::new(bundle));
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<Arc<Bundle>> {
        let packed = self.packed.get(digest)?;
        let mut open = self.opened();
        if let Some(bundle) = open.used(digest) {
            return Some(bundle);
        }
        let bundle = packed.open();
        open.put(*digest, Arc::clone(&bundle));
        Some(bundle)
    }

    /// How many resources a bundle has.
    pub(super) fn size(&self, digest: &Digest) -> Option<usize> {
        self.packed.get(digest).map(|packed| packed.resources)
    }

    pub(super) fn has(&self, digest: &Digest) -> bool {
        self.packed.contains_key(digest)
    }

    pub(super) fn len(&self) -> usize {
        self.packed.len()
    }

    pub(super) fn retain(&mut self, mut is_used: impl FnMut(&Digest) -> bool) {
        self.packed.retain(|digest, _| is_used(digest));
        self.opened().retain(|digest| self.packed.contains_key(digest));
    }

    fn opened(&self) -> MutexGuard<'_, Open> {
        // Nothing else depends on it, and whatever is in it is right.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn used(&mut self, digest: &Digest) -> Option<Arc<Bundle>> {
        self.uses += 1;
        let (bundle, used) = self.bundles.get_mut(digest)?;
        *used = self.uses;
        Some(Arc::clone(bundle))
    }

    fn put(&mut self, digest: Digest, bundle: Arc<Bundle>) {
        self.uses += 1;
        self.resources += bundle.resources().len();
        if let Some((before, _)) = self.bundles.insert(digest, (bundle, self.uses)) {
            self.resources -= before.resources().len();
        }
        while self.resources > MOST_OPEN && self.bundles.len() > 1 {
            let longest_unused = self.bundles.iter().min_by_key(|(_, (_, used))| *used).map(|(digest, _)| *digest);
            longest_unused.into_iter().for_each(|digest| self.close(&digest));
        }
    }

    fn close(&mut self, digest: &Digest) {
        if let Some((bundle, _)) = self.bundles.remove(digest) {
            self.resources -= bundle.resources().len();
        }
    }

    fn retain(&mut self, is_used: impl Fn(&Digest) -> bool) {
        let unused: Vec<_> = self.bundles.keys().filter(|digest| !is_used(digest)).copied().collect();
        unused.iter().for_each(|digest| self.close(digest));
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::key::Key;
    use setpoint_core::name::TargetIdentity;
    use setpoint_core::resource::Resource;
    use setpoint_core::value::Value;

    use super::*;

    /// The bundle of an app with so many resources.
    fn bundle(app: &str, resources: usize) -> Bundle {
        let resource = |number: usize| Resource {
            key: Key::new("File", "", &format!("/{number}")).unwrap(),
            api_version: "host.setpoint.dev/v1".into(),
            kind: "File".into(),
            body: Arc::new(Value::map([("spec", Value::str(&"text ".repeat(100)))])),
            after: [].into(),
            protected: false,
            shared: [].into(),
            replace: false,
        };
        let target = TargetIdentity::new("host-1").unwrap();
        Bundle::new(app.parse().unwrap(), target, (0..resources).map(resource).collect()).unwrap()
    }

    fn shelf_of(bundles: &[Bundle]) -> Shelf {
        let mut shelf = Shelf::default();
        for bundle in bundles {
            shelf.put(bundle.clone(), &bundle.to_bytes());
        }
        shelf
    }

    #[test]
    fn what_was_put_there_is_found_whether_it_is_open_or_packed() {
        let bundles: Vec<_> = ["default/a", "default/b", "default/c"].map(|app| bundle(app, MOST_OPEN / 2)).into();
        let shelf = shelf_of(&bundles);
        assert_eq!(shelf.opened().bundles.len(), 2, "the room for open ones is bounded");
        for _ in 0..2 {
            for bundle in &bundles {
                assert_eq!(shelf.get(&bundle.digest()).as_deref(), Some(bundle));
                assert_eq!(shelf.size(&bundle.digest()), Some(MOST_OPEN / 2));
            }
        }
        assert_eq!(shelf.opened().resources, MOST_OPEN);
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_is_packed_first_and_the_last_stays_however_large() {
        let [first, second, large] = [bundle("default/a", 10), bundle("default/b", 10), bundle("default/c", MOST_OPEN)];
        let shelf = shelf_of(&[first.clone(), second.clone()]);
        shelf.get(&first.digest());
        let mut shelf = shelf;
        let rest = bundle("default/d", MOST_OPEN - 10);
        shelf.put(rest.clone(), &rest.to_bytes());
        let is_open = |shelf: &Shelf, bundle: &Bundle| shelf.opened().bundles.contains_key(&bundle.digest());
        assert_eq!([&first, &second, &rest].map(|bundle| is_open(&shelf, bundle)), [true, false, true]);
        shelf.put(large.clone(), &large.to_bytes());
        assert_eq!([&first, &rest, &large].map(|bundle| is_open(&shelf, bundle)), [false, false, true]);
    }

    #[test]
    fn what_nobody_uses_is_gone() {
        let bundles = [bundle("default/a", 1), bundle("default/b", 2)];
        let mut shelf = shelf_of(&bundles);
        let [kept, dropped] = [bundles[0].digest(), bundles[1].digest()];
        shelf.retain(|digest| *digest == kept);
        assert!(shelf.has(&kept) && !shelf.has(&dropped) && shelf.get(&dropped).is_none());
        assert_eq!((shelf.len(), shelf.opened().resources), (1, 1));
    }

    #[test]
    fn packing_saves_room_and_takes_nothing_but_the_bytes_of_the_bundle() {
        let bundle = bundle("default/a", 50);
        let bytes = bundle.to_bytes();
        let packed = PackedBundle::of_bytes(&bytes, bundle.digest()).unwrap();
        assert_eq!(packed, PackedBundle::of(&bundle));
        assert!(packed.bytes.len() * 5 < bytes.len());
        assert!(PackedBundle::of_bytes(b"{}", bundle.digest()).is_err());
    }
}
