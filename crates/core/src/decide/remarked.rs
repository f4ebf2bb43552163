//! Judges undeclared fields on objects of ours that are left alone. They are reported once, and
//! again when they are gone. Nothing is ever done about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::claim::{Claim, ReportedRemark};
use crate::facts::Change;
use crate::key::Key;
use crate::live::{Live, Remark};

use super::{Draft, Drift, Over};

/// Reports whether no remark is new or gone.
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

/// Adds the current remarks to the decision, for people to read.
pub(super) fn show(draft: &mut Draft<'_>, key: &Key, live: &Live) {
    if let Some(remarks) = live.remarks.as_deref().filter(|remarks| !remarks.is_empty()) {
        draft.decision.remarks.extend(grouped(key, remarks.iter()));
    }
}

/// Adds new and ended remarks to the decision. Returns the set that the claim records from now on.
/// `before` is the claim with the remarks that were reported so far.
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

/// Ends all remarks about an object that is gone.
pub(super) fn end(draft: &mut Draft<'_>, claim: &Claim) {
    if let Some(told) = &claim.told {
        let paths = told.iter().map(|told| Arc::clone(&told.path)).collect();
        draft.decision.over.push(Over { key: claim.key.clone(), paths });
    }
}

/// Ends all remarks about an object whose claim stays.
pub(super) fn end_and_forget(draft: &mut Draft<'_>, claim: &Claim) {
    if claim.told.is_some() {
        end(draft, claim);
        let claim = Arc::new(Claim { told: None, ..claim.clone() });
        draft.decision.changes.push(Change::PutClaim { claim, from: None });
    }
}

/// Groups remarks: one drift for each holder and cause.
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
