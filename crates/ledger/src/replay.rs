//! Folds the changes of records into facts, and finds the first difference between two sets of
//! facts.

use std::collections::BTreeMap;
use std::fmt::Debug;

use setpoint_core::claim::Claim;
use setpoint_core::claims::Claims;
use setpoint_core::facts::Facts;
use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;

use crate::error::LedgerError;
use crate::origin::Origin;
use crate::record::Record;

/// Folds one stored record into `facts`, which must be the fold of all earlier records.
pub fn fold(facts: &mut Facts, origin: &Origin, seq: u64, bytes: &[u8]) -> Result<(), LedgerError> {
    let record = Record::from_bytes(bytes)?;
    if record.seq != seq || record.origin != *origin {
        let what = format!("the record at {seq} of {origin} is numbered {} of {}", record.seq, record.origin);
        return Err(LedgerError::Corrupt { what, source: None });
    }
    for change in &record.changes {
        let what = || format!("record {seq} of {origin} does not follow from those before it");
        facts.apply(change).map_err(|misfit| LedgerError::corrupt(what(), misfit))?;
    }
    Ok(())
}

/// Describes the first difference between the facts of the records and those of the tables.
pub fn first_difference(replayed: &Facts, stored: &Facts) -> Option<String> {
    if replayed.installed_at != stored.installed_at {
        let (records, tables) = (replayed.installed_at, stored.installed_at);
        return Some(format!("installed at: the records have {records:?}, the tables {tables:?}"));
    }
    in_maps("claim", &by_place(&replayed.claims), &by_place(&stored.claims))
        .or_else(|| in_maps("intent", &replayed.intents, &stored.intents))
        .or_else(|| in_maps("app", &replayed.apps, &stored.apps))
}

fn by_place(claims: &Claims) -> BTreeMap<(&TargetIdentity, &Key), &Claim> {
    claims.iter().map(|claim| ((&claim.target, &claim.key), claim.as_ref())).collect()
}

fn in_maps<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    replayed: &BTreeMap<K, V>,
    stored: &BTreeMap<K, V>,
) -> Option<String> {
    for (key, value) in replayed {
        match stored.get(key) {
            Some(other) if other == value => {}
            Some(other) => return Some(format!("{what} {key:?}: the records have {value:?}, the tables {other:?}")),
            None => return Some(format!("{what} {key:?} is in the records, but not in the tables")),
        }
    }
    let extra = stored.keys().find(|key| !replayed.contains_key(key))?;
    Some(format!("{what} {extra:?} is in the tables, but not in the records"))
}
