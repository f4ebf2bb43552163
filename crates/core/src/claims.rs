//! All claims by target and key. The key is read from the claim itself: with hundreds of thousands
//! of claims, storing it twice would cost too much memory.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::claim::Claim;
use crate::key::Key;
use crate::name::TargetIdentity;

/// A set with at most one claim for each key of a target.
#[derive(Clone, Default)]
pub struct Claims(BTreeSet<Placed>);

impl Claims {
    pub fn get(&self, target: &TargetIdentity, key: &Key) -> Option<&Arc<Claim>> {
        self.0.get(&(target, key) as &dyn Place).map(|Placed(claim)| claim)
    }

    pub fn contains(&self, target: &TargetIdentity, key: &Key) -> bool {
        self.get(target, key).is_some()
    }

    /// Inserts a claim, replacing an earlier one at the same place.
    pub fn put(&mut self, claim: Arc<Claim>) {
        self.0.replace(Placed(claim));
    }

    pub fn remove(&mut self, target: &TargetIdentity, key: &Key) -> Option<Arc<Claim>> {
        self.0.take(&(target, key) as &dyn Place).map(|Placed(claim)| claim)
    }

    /// Iterates over the claims by target, then by key.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.0.iter().map(|Placed(claim)| claim)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Arc<Claim>> for Claims {
    fn from_iter<I: IntoIterator<Item = Arc<Claim>>>(claims: I) -> Self {
        Self(claims.into_iter().map(Placed).collect())
    }
}

/// Compares the content of claims, not their places alone.
impl PartialEq for Claims {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Claims {}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A claim that is ordered by its place.
#[derive(Clone)]
struct Placed(Arc<Claim>);

/// The place of a claim, so that a lookup needs no claim.
trait Place {
    fn place(&self) -> (&TargetIdentity, &Key);
}

impl Place for Placed {
    fn place(&self) -> (&TargetIdentity, &Key) {
        (&self.0.target, &self.0.key)
    }
}

impl Place for (&TargetIdentity, &Key) {
    fn place(&self) -> (&TargetIdentity, &Key) {
        *self
    }
}

impl<'a> Borrow<dyn Place + 'a> for Placed {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

impl PartialEq for dyn Place + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for dyn Place + '_ {}

impl PartialOrd for dyn Place + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Place + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::ClaimOrigin;
    use crate::name::Uid;

    fn claim(target: &str, name: &str, uid: &str) -> Arc<Claim> {
        Arc::new(Claim::new(
            TargetIdentity::new(target).unwrap(),
            Key::new("file", "", name).unwrap(),
            "web/shop".parse().unwrap(),
            Some(Uid::new(uid).unwrap()),
            ClaimOrigin::Created,
        ))
    }

    #[test]
    fn each_place_has_one_claim_and_the_last_one_counts() {
        let [first, second, other] = [claim("a", "/x", "1"), claim("a", "/x", "2"), claim("b", "/x", "3")];
        let mut claims: Claims = [Arc::clone(&other), Arc::clone(&first)].into_iter().collect();
        assert_eq!(claims.iter().collect::<Vec<_>>(), [&first, &other], "by target, then by key");
        claims.put(Arc::clone(&second));
        assert_eq!((claims.len(), claims.get(&first.target, &first.key)), (2, Some(&second)));
        assert_eq!(claims.remove(&first.target, &first.key), Some(second));
        assert!(!claims.contains(&first.target, &first.key) && claims.contains(&other.target, &other.key));
    }

    #[test]
    fn claims_that_differ_in_more_than_their_place_are_different() {
        let of = |uid: &str| -> Claims { [claim("a", "/x", uid)].into_iter().collect() };
        assert!(of("1") == of("1") && of("1") != of("2"));
    }
}
