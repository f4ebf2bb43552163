//! A checkpoint that is signed when it is read. Signing costs more than all else an append does,
//! and most checkpoints of a log in memory are never read; a signature is a function of what is
//! signed and the key, so nobody can tell when it was made.

use std::collections::BTreeMap;

use setpoint_core::digest::Digest;

use super::Anchors;
use crate::checkpoint::{Checkpoint, Signer};
use crate::origin::Origin;

/// Where a log stood when its checkpoint was due.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Due {
        epoch: u64,
        size: u64,
        root: Digest,
    },
    /// As somebody outside remembers it, who may be wrong.
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
