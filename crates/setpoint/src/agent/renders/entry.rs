//! The file format of a cached render: a seal, its inputs and its objects, each on a line of its
//! own.
//!
//! The seal is the keyed digest of the second line, which contains the digest of the third. So the
//! inputs of an entry can be checked without reading its objects, and no byte is trusted that this
//! installation did not write.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use setpoint_core::canonical;
use setpoint_core::digest::{Digest, DigestKey, KeyedDigest};
use setpoint_core::name::AppId;
use setpoint_core::resource::Resource;
use setpoint_engine::accept::{Footprint, RenderedObject};

/// The writer's version: another version of this program may render differently from the same
/// recipe.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The reason why an entry is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("cannot read it")]
    Unreadable {
        #[from]
        source: io::Error,
    },
    #[error("its content has changed since it was written")]
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
    /// The digest of the third line.
    objects: Digest,
}

/// An entry whose footprint can be trusted.
#[derive(Debug)]
pub(super) struct Entry<R> {
    pub(super) footprint: Footprint,
    digest: Digest,
    rest: R,
}

impl<R: BufRead> Entry<R> {
    /// Reads an entry up to its footprint.
    pub(super) fn open(mut written: R, key: &DigestKey, app: &AppId) -> Result<Self, Unusable> {
        let (seal, header) = (line(&mut written)?, line(&mut written)?);
        let seal: KeyedDigest = canonical::from_bytes(&seal).map_err(|_| Unusable::Damaged)?;
        if seal != key.digest(&header) {
            return Err(Unusable::Damaged);
        }
        // Its seal is valid: if it cannot be parsed, another version wrote it in another form.
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

    /// Reads the objects of the render.
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

/// Returns the next line without its end. The reader is already limited.
fn line(written: &mut impl BufRead) -> Result<Vec<u8>, Unusable> {
    let mut bytes = Vec::new();
    written.read_until(b'\n', &mut bytes)?;
    if bytes.pop() == Some(b'\n') { Ok(bytes) } else { Err(Unusable::Damaged) }
}

/// Returns the bytes of an entry; `None` if there are more than `most`.
pub(super) fn written(
    app: &AppId,
    footprint: &Footprint,
    resources: &[Resource],
    key: &DigestKey,
    most: usize,
) -> Option<Vec<u8>> {
    let objects: Vec<RenderedObject> = resources.iter().map(RenderedObject::from).collect();
    let mut bounded = Bounded { bytes: Vec::new(), most };
    // There is no other cause of an error: these maps have text keys only.
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

/// Accepts a limited number of bytes.
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
