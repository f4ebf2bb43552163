//! The writer's state of each log: enough to append without reading.

use setpoint_ledger::cadence::Unsigned;
use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::merkle::Tree;
use setpoint_ledger::tenure::Tenure;
use setpoint_ledger::{Head, LedgerError, Origin, Standing};

use crate::columns::integer;
use crate::script::Script;

/// A checkpoint that contradicts the log.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) standing: Standing,
    pub(crate) checkpoint: Checkpoint,
}

/// The state of one log.
#[derive(Clone, Debug)]
pub(crate) struct LogState {
    /// Its row in `logs`.
    pub(crate) id: i64,
    pub(crate) origin: Origin,
    pub(crate) tenure: Tenure,
    pub(crate) tree: Tree,
    pub(crate) unsigned: Unsigned,
    /// The number of checkpoints, which is the number of the next one.
    pub(crate) checkpoints: i64,
    pub(crate) newest: Option<Checkpoint>,
    /// The checkpoint that the anchor holds.
    pub(crate) anchor: Option<Checkpoint>,
    /// The reason why the last write of the anchor failed.
    pub(crate) anchor_trouble: Option<String>,
    /// The checkpoints outside the log that contradict it, the largest first.
    pub(crate) doubts: Vec<Doubt>,
    /// A body was erased, but the write-ahead log may still hold it.
    pub(crate) purge: bool,
}

impl LogState {
    pub(crate) fn new(id: i64, origin: Origin) -> Self {
        Self {
            id,
            origin,
            tenure: Tenure::default(),
            tree: Tree::default(),
            unsigned: Unsigned::default(),
            checkpoints: 0,
            newest: None,
            anchor: None,
            anchor_trouble: None,
            doubts: Vec::new(),
            purge: false,
        }
    }

    /// Signs the head, which covers all records.
    pub(crate) fn sign(&mut self, script: &mut Script, signer: &Signer) {
        let (size, root) = (self.tree.size(), self.tree.root());
        let checkpoint = Checkpoint::sign(self.origin.clone(), self.tenure.epoch, size, root, signer);
        let values = [self.id.into(), self.checkpoints.into(), integer(size).into(), checkpoint.text.clone().into()];
        script.push("INSERT INTO checkpoints (log, number, size, text) VALUES (?, ?, ?, ?)", values);
        self.checkpoints += 1;
        self.unsigned = Unsigned::default();
        self.newest = Some(checkpoint);
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            origin: self.origin.clone(),
            epoch: self.tenure.epoch,
            size: self.tree.size(),
            root: self.tree.root(),
            checkpointed: self.newest.as_ref().map_or(0, |checkpoint| checkpoint.size),
            anchored: self.anchor.as_ref().map(|anchor| anchor.size),
            anchor_trouble: self.anchor_trouble.clone(),
            checkpoint_due: self.unsigned.due_at(),
            standing: self.standing(),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.doubts.first().map_or(Standing::Sound, |doubt| doubt.standing)
    }

    pub(crate) fn refuse_unless_sound(&self) -> Result<(), LedgerError> {
        match self.standing() {
            Standing::Sound => Ok(()),
            standing => Err(LedgerError::ReadOnly { origin: self.origin.clone(), standing }),
        }
    }
}
