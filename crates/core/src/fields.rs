//! The fields of a map, in order. Declared objects contain tens of thousands of maps with a few
//! fields each: a vector of pairs takes a tenth of the memory that the nodes of a tree would.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::value::Value;

/// Fields by name, each once, ordered by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(Arc<str>, Value)>);

impl Fields {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.find(name).ok().map(|at| &mut self.0[at].1)
    }

    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Sets a field and returns its former value. For a few fields only: collect many at once.
    pub fn insert(&mut self, name: Arc<str>, value: Value) -> Option<Value> {
        match self.find(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.find(name).ok().map(|at| self.0.remove(at).1)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Value)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.0.iter().map(|(name, _)| name)
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }
}

impl From<BTreeMap<Arc<str>, Value>> for Fields {
    fn from(map: BTreeMap<Arc<str>, Value>) -> Self {
        Self(map.into_iter().collect())
    }
}

impl<const N: usize> From<[(Arc<str>, Value); N]> for Fields {
    fn from(fields: [(Arc<str>, Value); N]) -> Self {
        fields.into_iter().collect()
    }
}

/// If a field occurs twice, the last one counts.
impl FromIterator<(Arc<str>, Value)> for Fields {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(fields: I) -> Self {
        let fields: Vec<_> = fields.into_iter().collect();
        // Fields that were written in order, as all ours are, need no tree.
        if fields.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Self(fields);
        }
        fields.into_iter().collect::<BTreeMap<_, _>>().into()
    }
}

impl Extend<(Arc<str>, Value)> for Fields {
    fn extend<I: IntoIterator<Item = (Arc<str>, Value)>>(&mut self, fields: I) {
        *self = std::mem::take(self).into_iter().chain(fields).collect();
    }
}

impl IntoIterator for Fields {
    type Item = (Arc<str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fields_are_what_a_tree_would_hold(edits in prop::collection::vec(("[a-e]{1,2}", 0..9_i64, 0..3_u8), 0..40)) {
            let (mut fields, mut tree) = (Fields::new(), BTreeMap::<Arc<str>, Value>::new());
            for (name, n, what) in edits {
                let name: Arc<str> = name.as_str().into();
                match what {
                    0 => prop_assert_eq!(fields.remove(&name), tree.remove(&name)),
                    1 => {
                        fields.extend([(Arc::clone(&name), n.into())]);
                        tree.extend([(name, n.into())]);
                    }
                    _ => prop_assert_eq!(fields.insert(Arc::clone(&name), n.into()), tree.insert(name, n.into())),
                }
            }
            prop_assert!(fields.iter().eq(tree.iter()));
            prop_assert_eq!(&tree.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Fields>(), &fields);
            for name in ["a", "bb", "e", ""] {
                prop_assert_eq!((fields.get(name), fields.contains_key(name)), (tree.get(name), tree.contains_key(name)));
            }
        }
    }
}
