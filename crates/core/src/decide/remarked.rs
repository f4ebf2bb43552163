//! What stands undeclared on what is ours and is left alone: told once, and again when it is over.
//! Nothing is ever done about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::claim::{Claim, ReportedRemark};
use crate::facts::Change;
use crate::key::Key;
use crate::live::{Live, Remark};

use super::{Draft, Drift, Over};

/// Whether nothing is new or over.
pub(super) fn is_told(claim: &Claim, live: &Live) -> bool {
    match (live.remarks.as_deref(), &claim.told) {
        (None, _) => true,
        (Some(remarks), None) => remarks.is_empty(),
        (Some(remarks), Some(told)) => {
            remarks.iter().all(|remark| claim.has_told(remark)) && told.iter().all(|told| stands(told, remarks))
        }
    }
}

fn stands(told: &ReportedRemark, remarks: &[Remark]) -> bool {
    remarks.iter().any(|remark| remark.path == told.path && remark.holder == told.holder)
}

/// Keeps what stands there for people to see.
pub(super) fn show(draft: &mut Draft<'_>, key: &Key, live: &Live) {
    if let Some(remarks) = live.remarks.as_deref().filter(|remarks| !remarks.is_empty()) {
        draft.decision.remarks.extend(grouped(key, remarks.iter()));
    }
}

/// Tells what is new and what is over; answers what the claim says from now on. `before`: the claim
/// it was told under.
pub(super) fn tell(
    draft: &mut Draft<'_>,
    key: &Key,
    before: Option<&Claim>,
    live: &Live,
) -> Option<Arc<BTreeSet<ReportedRemark>>> {
    let told = before.and_then(|claim| claim.told.clone());
    let Some(remarks) = live.remarks.as_deref() else { return told };
    let is_new = |remark: &&Remark| before.is_none_or(|claim| !claim.has_told(remark));
    draft.decision.told.extend(grouped(key, remarks.iter().filter(is_new)));
    let gone = told.iter().flat_map(|told| told.iter()).filter(|told| !stands(told, remarks));
    let gone: Vec<Arc<str>> = gone.map(|told| Arc::clone(&told.path)).collect();
    if !gone.is_empty() {
        draft.decision.over.push(Over { key: key.clone(), paths: gone });
    }
    let now = remarks
        .iter()
        .map(|remark| ReportedRemark { path: Arc::clone(&remark.path), holder: Arc::clone(&remark.holder) });
    let now: BTreeSet<ReportedRemark> = now.collect();
    (!now.is_empty()).then(|| Arc::new(now))
}

/// The object is gone, and all that stood on it.
pub(super) fn end(draft: &mut Draft<'_>, claim: &Claim) {
    if let Some(told) = &claim.told {
        let paths = told.iter().map(|told| Arc::clone(&told.path)).collect();
        draft.decision.over.push(Over { key: claim.key.clone(), paths });
    }
}

/// The same, where the claim stays.
pub(super) fn end_and_forget(draft: &mut Draft<'_>, claim: &Claim) {
    if claim.told.is_some() {
        end(draft, claim);
        let claim = Arc::new(Claim { told: None, ..claim.clone() });
        draft.decision.changes.push(Change::PutClaim { claim, from: None });
    }
}

/// One drift for all that the same one did for the same reason.
fn grouped<'r>(key: &Key, remarks: impl Iterator<Item = &'r Remark>) -> Vec<Drift> {
    let mut found: Vec<(&Remark, Drift)> = Vec::new();
    for remark in remarks {
        let same = |first: &Remark| first.cause == remark.cause && first.holder == remark.holder;
        match found.iter_mut().find(|(first, _)| same(first)) {
            Some((_, drift)) => drift.beside.push(Arc::clone(&remark.path)),
            None => {
                let (writer, beside) = (remark.writer.clone(), vec![Arc::clone(&remark.path)]);
                let differences = Vec::new();
                found.push((remark, Drift { key: key.clone(), cause: remark.cause, differences, writer, beside }));
            }
        }
    }
    found.into_iter().map(|(_, drift)| drift).collect()
}
