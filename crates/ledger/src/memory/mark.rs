//! A checkpoint that is signed when it is read. Signing costs more than the rest of an append, and
//! most checkpoints of a log in memory are never read. A signature depends only on the content and
//! the key, so the time of signing makes no difference.

use std::collections::BTreeMap;

use setpoint_core::digest::Digest;

use super::Anchors;
use crate::checkpoint::{Checkpoint, Signer};
use crate::origin::Origin;

/// The state of a log when its checkpoint was due.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Due {
        epoch: u64,
        size: u64,
        root: Digest,
    },
    /// A checkpoint from outside the ledger, which may be wrong.
    Given(Checkpoint),
}

impl Mark {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Due { size, .. } => *size,
            Self::Given(checkpoint) => checkpoint.size,
        }
    }

    pub(super) fn signed(&self, origin: &Origin, signer: &Signer) -> Checkpoint {
        match self {
            Self::Due { epoch, size, root } => Checkpoint::sign(origin.clone(), *epoch, *size, *root, signer),
            Self::Given(checkpoint) => checkpoint.clone(),
        }
    }

    pub(super) fn given(anchors: &Anchors) -> BTreeMap<Origin, Self> {
        anchors.iter().map(|(origin, anchor)| (origin.clone(), Self::Given(anchor.clone()))).collect()
    }
}
