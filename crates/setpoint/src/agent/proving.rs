//! Proves that a record is in the signed log.

use setpoint_api::answer::RecordProof;
use setpoint_api::{Problem, ProblemKind};
use setpoint_ledger::proof::Inclusion;
use setpoint_ledger::record::Record;

use super::answers::{Answers, unread};
use super::rights::View;

impl Answers {
    /// Returns a record with its proof. A record that the caller may not see does not exist for it.
    pub(super) async fn proof_of(&self, seq: u64, view: &View) -> Result<RecordProof, Problem> {
        let missing = || Problem::new(ProblemKind::Missing, format!("there is no record {seq}"));
        let unread = |error| unread(&error);
        let ledger = self.ledger(view).await?;
        if seq >= ledger.head(&self.origin).await.map_err(unread)?.size {
            return Err(missing());
        }
        let bytes = ledger.records(&self.origin, seq..seq + 1).await.map_err(unread)?.concat();
        let record = Record::from_bytes(&bytes).map_err(unread)?;
        if !view.sees_record(&record) {
            return Err(missing());
        }
        let record = String::from_utf8_lossy(&bytes).into_owned();
        let mut redacted = record.clone();
        view.redact(&mut redacted);
        if redacted != record {
            // A proof is about every byte of a record.
            let message = format!("record {seq} names apps that you may not see, so it cannot be shown byte for byte");
            return Err(Problem::new(ProblemKind::Forbidden, message));
        }
        let checkpoint = ledger.checkpoint(&self.origin).await.map_err(unread)?;
        let Some(checkpoint) = checkpoint.filter(|checkpoint| seq < checkpoint.size) else {
            return Err(Problem::new(ProblemKind::Unavailable, "the record is not signed yet: try again in a moment"));
        };
        let proof = ledger.prove_inclusion(&self.origin, seq, checkpoint.size).await.map_err(unread)?;
        let Inclusion { seq, size, leaf, path } = proof;
        Ok(RecordProof { seq, origin: self.origin.to_string(), record, size, leaf, path, checkpoint: checkpoint.text })
    }
}
