//! Tests packs that are meant to exhaust memory, and objects that are meant to collide.

use std::sync::Arc;

use setpoint_core::observed::UnknownReason;
use setpoint_testbed::{Fault, Item, On};

use crate::scene::{Scene, poll};

/// The content of a pack, entry by entry.
struct Pack {
    bytes: Vec<u8>,
    entries: u32,
    starts: Vec<usize>,
}

const BLOB: u8 = 3;
const DELTA: u8 = 6;

impl Pack {
    fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), entries: 0, starts: Vec::new() }
    }

    /// Adds an entry with its kind and its unpacked size.
    fn add(&mut self, kind: u8, base: Option<usize>, data: &[u8]) -> usize {
        let start = self.bytes.len();
        let mut size = data.len();
        let mut byte = (kind << 4) | u8::try_from(size & 15).expect("four bits");
        size >>= 4;
        while size > 0 {
            self.bytes.push(byte | 0x80);
            byte = u8::try_from(size & 0x7f).expect("seven bits");
            size >>= 7;
        }
        self.bytes.push(byte);
        if let Some(base) = base {
            self.bytes.extend(offset(start - self.starts[base]));
        }
        self.bytes.extend(zlib(data));
        self.starts.push(start);
        self.entries += 1;
        self.starts.len() - 1
    }

    fn finish(mut self) -> Arc<[u8]> {
        self.bytes[8..12].copy_from_slice(&self.entries.to_be_bytes());
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(&self.bytes);
        let checksum = hasher.try_finalize().expect("it is no collision");
        self.bytes.extend_from_slice(checksum.as_slice());
        Arc::from(self.bytes)
    }
}

/// Encodes the distance to a base as git does.
fn offset(mut distance: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(distance & 0x7f).expect("seven bits")];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        bytes.push(0x80 | u8::try_from(distance & 0x7f).expect("seven bits"));
    }
    bytes.reverse();
    bytes
}

/// Returns a zlib stream without compression: bombs here come from deltas.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut chunks = data.chunks(65_535).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).expect("at most 65,535");
        out.push(u8::from(chunks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend(((b << 16) | a).to_be_bytes());
    out
}

/// Returns a delta that copies its whole base this many times, and then adds a byte of its own.
fn copies(base: usize, times: usize, own: u8) -> Vec<u8> {
    let mut delta = Vec::new();
    for mut size in [base, base * times + 1] {
        while size > 0x7f {
            delta.push(0x80 | u8::try_from(size & 0x7f).expect("seven bits"));
            size >>= 7;
        }
        delta.push(u8::try_from(size).expect("seven bits"));
    }
    for _ in 0..times {
        let mut at = 0;
        while at < base {
            let length = (base - at).min(0xff_ffff);
            delta.push(0xff);
            delta.extend(u32::try_from(at).expect("small").to_le_bytes());
            delta.extend(&u32::try_from(length).expect("small").to_le_bytes()[..3]);
            at += length;
        }
    }
    delta.extend([1, own]);
    delta
}

async fn poll_with(pack: Arc<[u8]>) -> (Scene, Result<setpoint_core::name::VersionId, UnknownReason>) {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    scene.server.break_with(On::Pack, Fault::Pack(pack));
    let polled = poll(&scene.store()).await;
    (scene, polled)
}

/// Returns the peak memory of this process.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") / 1_024
}

#[tokio::test(flavor = "multi_thread")]
async fn case_16_a_small_pack_that_unpacks_to_gigabytes_stops_at_the_limit() {
    let mut pack = Pack::new();
    let base = pack.add(BLOB, None, &[b'x'; 60_000]);
    let middle = pack.add(DELTA, Some(base), &copies(60_000, 1_000, 1));
    pack.add(DELTA, Some(middle), &copies(60_000_001, 170, 2));
    let pack = pack.finish();
    assert!(pack.len() < 150_000, "{} bytes", pack.len());
    let (scene, polled) = poll_with(pack).await;
    let reason = polled.unwrap_err();
    assert!(matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("limit")), "{reason:?}");
    assert!(peak_mebibytes() < 512, "{} MiB", peak_mebibytes());
    scene.server.mend();
    assert!(poll(&scene.store()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_16_a_tree_of_large_deltas_is_not_held_in_memory_at_once() {
    let mut pack = Pack::new();
    let size = 60_000 * 500;
    let base = pack.add(BLOB, None, &[b'x'; 60_000]);
    let mut parent = pack.add(DELTA, Some(base), &copies(60_000, 500, 0));
    // Each has two children, so it must be held until the second one is done.
    for (n, length) in (0..40).zip(size + 1..) {
        let other = copies(length, 1, 200);
        pack.add(DELTA, Some(parent), &other);
        let next = pack.add(DELTA, Some(parent), &copies(length, 1, n));
        pack.add(DELTA, Some(parent), &copies(length, 1, 201));
        parent = next;
    }
    let (_scene, polled) = poll_with(pack.finish()).await;
    let reason = polled.unwrap_err();
    assert!(matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("in memory")), "{reason:?}");
    assert!(peak_mebibytes() < 512, "{} MiB", peak_mebibytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_16_a_pack_that_does_not_hold_together_is_damaged_and_never_a_panic() {
    let mut honest = Pack::new();
    let base = honest.add(BLOB, None, b"some text that is long enough");
    honest.add(DELTA, Some(base), &copies(29, 2, 1));
    let honest = honest.finish();
    let (scene, polled) = poll_with(honest.clone()).await;
    let reason = format!("{:?}", polled.unwrap_err());
    assert!(reason.contains("did not send version"), "what is well-formed passes the scale: {reason}");
    let store = scene.store();
    // Every third byte in turn: magic, count, sizes, distances, compressed data, checksum.
    for at in (0..honest.len()).step_by(3) {
        let mut bytes = honest.to_vec();
        bytes[at] ^= 0x55;
        scene.server.break_with(On::Pack, Fault::Pack(Arc::from(bytes)));
        assert!(poll(&store).await.is_err(), "byte {at}");
    }
    scene.server.mend();
    assert!(poll(&store).await.is_ok());
}

#[test]
fn case_17_messages_made_to_collide_are_detected_by_the_hash_that_names_objects() {
    // The pair of the first chosen-prefix collision (Leurent and Peyrin, 2020): equal under plain
    // SHA-1.
    let pair: [&[u8]; 2] = [include_bytes!("data/sha-mbles-1.bin"), include_bytes!("data/sha-mbles-2.bin")];
    assert_ne!(pair[0], pair[1]);
    for message in pair {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(message);
        let error = hasher.try_finalize().expect_err("it was made to collide");
        assert!(error.classify().is_corrupted(), "{error}");
    }
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&pair[0][..639]);
    assert!(hasher.try_finalize().is_ok(), "an ordinary message was taken for one");
}
