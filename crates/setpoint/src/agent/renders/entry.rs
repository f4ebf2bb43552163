//! How a remembered render is written down: a seal, what it was made from, and what it gave, each
//! on a line of its own.
//!
//! The seal is the keyed digest of the second line, which holds the digest of the third. So an
//! entry is looked through without reading what it gave, and no byte of it is believed that this
//! installation has not written.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use setpoint_core::canonical;
use setpoint_core::digest::{Digest, DigestKey, KeyedDigest};
use setpoint_core::name::AppId;
use setpoint_core::resource::Resource;
use setpoint_engine::accept::{Footprint, RenderedObject};

/// Who wrote it: another version of this program may render otherwise, whatever its recipe says.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Why an entry is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("it cannot be read")]
    Unreadable {
        #[from]
        source: io::Error,
    },
    #[error("it is not what was written there")]
    Damaged,
    #[error("it was written for {of}")]
    OfAnother { of: AppId },
    #[error("another version of this program wrote it")]
    Outdated,
}

/// The second line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    app: AppId,
    program: String,
    footprint: Footprint,
    /// Of the third line.
    objects: Digest,
}

/// An entry whose footprint can be believed.
#[derive(Debug)]
pub(super) struct Entry<R> {
    pub(super) footprint: Footprint,
    digest: Digest,
    rest: R,
}

impl<R: BufRead> Entry<R> {
    /// Reads as far as the footprint.
    pub(super) fn open(mut written: R, key: &DigestKey, app: &AppId) -> Result<Self, Unusable> {
        let (seal, header) = (line(&mut written)?, line(&mut written)?);
        let seal: KeyedDigest = canonical::from_bytes(&seal).map_err(|_| Unusable::Damaged)?;
        if seal != key.digest(&header) {
            return Err(Unusable::Damaged);
        }
        // We wrote it: what cannot be read was written differently then.
        let Header { app: of, program, footprint, objects: digest } =
            canonical::from_bytes(&header).map_err(|_| Unusable::Outdated)?;
        if of != *app {
            return Err(Unusable::OfAnother { of });
        }
        if program != PROGRAM {
            return Err(Unusable::Outdated);
        }
        Ok(Self { footprint, digest, rest: written })
    }

    /// What the render gave.
    pub(super) fn objects(mut self) -> Result<(Footprint, Vec<RenderedObject>), Unusable> {
        let mut bytes = Vec::new();
        self.rest.read_to_end(&mut bytes)?;
        if Digest::of(&bytes) != self.digest {
            return Err(Unusable::Damaged);
        }
        let objects = canonical::from_bytes(&bytes).map_err(|_| Unusable::Outdated)?;
        Ok((self.footprint, objects))
    }
}

/// The next line without its end. Whoever gave the reader has bounded it.
fn line(written: &mut impl BufRead) -> Result<Vec<u8>, Unusable> {
    let mut bytes = Vec::new();
    written.read_until(b'\n', &mut bytes)?;
    if bytes.pop() == Some(b'\n') { Ok(bytes) } else { Err(Unusable::Damaged) }
}

/// The bytes of an entry; `None` if there are more than `most`.
pub(super) fn written(
    app: &AppId,
    footprint: &Footprint,
    resources: &[Resource],
    key: &DigestKey,
    most: usize,
) -> Option<Vec<u8>> {
    let objects: Vec<RenderedObject> = resources.iter().map(RenderedObject::from).collect();
    let mut bounded = Bounded { bytes: Vec::new(), most };
    // Nothing else can go wrong: these have text keys only.
    serde_json::to_writer(&mut bounded, &objects).ok()?;
    let objects = bounded.bytes;
    let header = Header {
        app: app.clone(),
        program: PROGRAM.to_owned(),
        footprint: footprint.clone(),
        objects: Digest::of(&objects),
    };
    let header = canonical::to_bytes(&header);
    let seal = canonical::to_bytes(&key.digest(&header));
    let bytes = [seal, header, objects].join(&b'\n');
    (bytes.len() <= most).then_some(bytes)
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.most {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
