//! Weighs a pack before it is unpacked: the size of its objects, and how many bytes of them are in
//! memory at once.
//!
//! A pack of some kilobytes can describe terabytes, because an object may be a list of copies from
//! another one. gix limits each object, but not their sum: while it walks a tree of such deltas, it
//! holds every object that has another child to come. So the tree is measured first, from the sizes
//! that the pack declares, in memory that does not depend on them.

use std::io::{self, BufRead};

use gix::zlib::{Decompress, FlushDecompress, Status};
use setpoint_store::StoreError;

use crate::options::GitLimits;
use crate::pace::Pace;

/// The most objects of a pack: each costs memory while the pack is unpacked.
const OBJECTS: u32 = 1_500_000;

/// The measurements of one object of the pack.
struct Weighed {
    offset: u64,
    parent: Option<u32>,
    /// The bytes when unpacked, at most the limit of an object.
    size: u32,
    children: u32,
    /// The bytes held of its ancestors while it is unpacked.
    held: u64,
}

/// Refuses a pack whose unpacking would take more memory than allowed.
pub(crate) fn weigh(pack: impl BufRead, limits: &GitLimits, pace: &Pace) -> Result<(), StoreError> {
    let mut scale = Scale { pack, at: 0, inflate: Decompress::new(), scratch: vec![0; 64 << 10] };
    let mut header = [0; 12];
    scale.exactly(&mut header)?;
    let count = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    if &header[..4] != b"PACK" {
        return Err(malformed("it does not begin with the signature of a pack"));
    }
    if count > OBJECTS {
        return Err(too_heavy(&format!("it holds {count} objects, the limit is {OBJECTS}")));
    }
    let mut objects: Vec<Weighed> = Vec::new();
    // A base that is named by its id may be any object: all of them count as if they were held at
    // once.
    let mut by_id = 0_u64;
    for _ in 0..count {
        // A gigabyte may decompress to a thousand: the time limit ends that.
        pace.go_on()?;
        let (object, is_by_id) = scale.object(&objects, limits)?;
        if is_by_id {
            by_id += u64::from(object.size);
        }
        if let Some(parent) = object.parent.and_then(|parent| objects.get_mut(parent as usize)) {
            parent.children += 1;
        }
        objects.push(object);
    }
    let held = heaviest(&mut objects).saturating_add(by_id);
    if held > limits.held_bytes {
        let limit = limits.held_bytes;
        return Err(too_heavy(&format!("unpacking it would hold {held} bytes in memory, the limit is {limit}")));
    }
    Ok(())
}

/// Returns the most bytes held at once. Bases precede the objects made from them, so one pass is
/// enough.
fn heaviest(objects: &mut [Weighed]) -> u64 {
    let mut most = 0;
    for n in 0..objects.len() {
        let above = objects[n].parent.map_or(0, |parent| {
            let parent = &objects[parent as usize];
            parent.held + if parent.children > 1 { u64::from(parent.size) } else { 0 }
        });
        objects[n].held = above;
        most = most.max(above);
    }
    most
}

struct Scale<R> {
    pack: R,
    at: u64,
    inflate: Decompress,
    scratch: Vec<u8>,
}

impl<R: BufRead> Scale<R> {
    /// Reads one object's header and the beginning of its data. Reports whether its base is named
    /// by id.
    fn object(&mut self, known: &[Weighed], limits: &GitLimits) -> Result<(Weighed, bool), StoreError> {
        let offset = self.at;
        let (kind, declared) = self.header()?;
        let mut is_by_id = false;
        let mut parent = None;
        match kind {
            1..=4 => {}
            6 => {
                let base = offset.saturating_sub(self.distance()?);
                let found = known.binary_search_by_key(&base, |object| object.offset);
                let found = found.map_err(|_| malformed("a base is not where it should be"))?;
                parent = Some(u32::try_from(found).map_err(|_| malformed("it is too long"))?);
            }
            7 => {
                self.exactly(&mut [0; 20])?;
                is_by_id = true;
            }
            _ => return Err(malformed("it holds an object of an unknown kind")),
        }
        check_size(declared, limits)?;
        let beginning = self.skip(declared)?;
        let unpacked = if kind < 6 { declared } else { result_size(&beginning)? };
        let size = check_size(unpacked, limits)?;
        Ok((Weighed { offset, parent, size, children: 0, held: 0 }, is_by_id))
    }

    fn header(&mut self) -> Result<(u8, u64), StoreError> {
        let first = self.byte()?;
        let mut size = u64::from(first & 15);
        let (mut shift, mut more) = (4, first & 0x80 != 0);
        while more {
            let byte = self.byte()?;
            if shift > 56 {
                return Err(malformed("a size is too long"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        Ok(((first >> 4) & 7, size))
    }

    fn distance(&mut self) -> Result<u64, StoreError> {
        let mut byte = self.byte()?;
        let mut distance = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            if distance > u64::MAX >> 9 {
                return Err(malformed("a distance is too long"));
            }
            byte = self.byte()?;
            distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
        }
        Ok(distance)
    }

    /// Skips an object's data and returns its first bytes.
    fn skip(&mut self, declared: u64) -> Result<Vec<u8>, StoreError> {
        self.inflate.reset();
        let mut beginning = Vec::new();
        loop {
            let input = self.pack.fill_buf().map_err(|error| unreadable(&error))?;
            let at_end = input.is_empty();
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut self.scratch, FlushDecompress::None);
            let status = status.map_err(|_| malformed("an object cannot be decompressed"))?;
            let read = usize::try_from(self.inflate.total_in() - before_in).map_err(|_| malformed("it is too long"))?;
            let made =
                usize::try_from(self.inflate.total_out() - before_out).map_err(|_| malformed("it is too long"))?;
            beginning.extend(self.scratch[..made].iter().take(20_usize.saturating_sub(beginning.len())));
            self.pack.consume(read);
            self.at += u64::try_from(read).map_err(|_| malformed("it is too long"))?;
            if self.inflate.total_out() > declared {
                return Err(malformed("an object is longer than it declares"));
            }
            match status {
                Status::StreamEnd if self.inflate.total_out() == declared => return Ok(beginning),
                Status::StreamEnd => return Err(malformed("an object is shorter than it declares")),
                _ if at_end => return Err(malformed("it ends in the middle of an object")),
                _ => {}
            }
        }
    }

    fn byte(&mut self) -> Result<u8, StoreError> {
        let mut byte = [0];
        self.exactly(&mut byte)?;
        Ok(byte[0])
    }

    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.pack.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => malformed("it ends too early"),
            _ => unreadable(&error),
        })?;
        self.at += u64::try_from(bytes.len()).map_err(|_| malformed("it is too long"))?;
        Ok(())
    }
}

/// Returns the size of a delta's result: the second of the two numbers at its beginning.
fn result_size(delta: &[u8]) -> Result<u64, StoreError> {
    let mut numbers = delta.split_inclusive(|byte| byte & 0x80 == 0);
    let result =
        numbers.nth(1).filter(|number| number.len() <= 9 && number.last().is_some_and(|byte| byte & 0x80 == 0));
    let result = result.ok_or_else(|| malformed("a delta does not declare its length"))?;
    Ok(result.iter().rev().fold(0, |size, byte| (size << 7) | u64::from(byte & 0x7f)))
}

fn check_size(size: u64, limits: &GitLimits) -> Result<u32, StoreError> {
    let limit = limits.object_bytes;
    u32::try_from(size)
        .ok()
        .filter(|_| size <= limit)
        .ok_or_else(|| too_heavy(&format!("it holds an object of {size} bytes, the limit is {limit}")))
}

fn too_heavy(what: &str) -> StoreError {
    StoreError::refused(
        format!("the pack that the server sent was not unpacked: {what}"),
        "remove large objects from the history, declare the store shallow, or raise its limit",
    )
}

fn malformed(what: &str) -> StoreError {
    StoreError::damaged(format!("the pack that the server sent is malformed: {what}"))
}

fn unreadable(error: &io::Error) -> StoreError {
    StoreError::damaged(format!("the pack that the server sent cannot be read back: {error}"))
}
