//! What is told of a resource to somebody who names it: which one is meant, and who set its fields.

use crate::origin::Sources;
use crate::provenance::{NoField, Set, fields, find, is_secret_field};
use crate::resource::Resource;

/// What somebody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'w> {
    /// In any case.
    pub kind: &'w str,
    /// As it is rendered, or as it was before it got its hash or was renamed.
    pub name: &'w str,
    /// Any, where it is not said.
    pub namespace: Option<&'w str>,
    /// Everything, where it is empty.
    pub field: &'w str,
}

/// Who set what of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `Kind/name`.
    pub resource: String,
    pub namespace: String,
    pub fields: Vec<Set>,
}

/// Why nothing is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    #[error("there is no {wanted}; {known}")]
    Missing { wanted: String, known: String },
    #[error("there are several of {wanted}: say which, {}", namespaces.join(" or "))]
    Several { wanted: String, namespaces: Vec<String> },
    #[error("{resource}: {problem}")]
    Field { resource: String, problem: NoField },
}

/// Resources, and the files that their nodes came from.
pub type Traced<'t> = (&'t [Resource], &'t Sources);

/// Tells of the one among these resources that is wanted.
pub fn explain(all: &[Traced<'_>], wanted: &Wanted<'_>) -> Result<Explanation, Unexplained> {
    let (resource, sources) = chosen(all, wanted)?;
    let name = named(resource);
    let found = find(&resource.node, wanted.field);
    let (node, path) = found.map_err(|problem| Unexplained::Field { resource: name.clone(), problem })?;
    let mut fields = fields(node, &path, sources);
    for set in fields.iter_mut().filter(|set| resource.is_secret() && is_secret_field(&set.field)) {
        set.value = None;
    }
    Ok(Explanation { resource: name, namespace: resource.namespace().to_owned(), fields })
}

/// The resource that is meant, or what there is instead.
fn chosen<'t>(all: &[Traced<'t>], wanted: &Wanted<'_>) -> Result<(&'t Resource, &'t Sources), Unexplained> {
    let is_there = |resource: &Resource| {
        resource.kind().eq_ignore_ascii_case(wanted.kind)
            && wanted.namespace.is_none_or(|namespace| resource.namespace() == namespace)
    };
    let resources = || all.iter().flat_map(|(resources, sources)| resources.iter().map(move |one| (one, *sources)));
    let there: Vec<_> = resources().filter(|(resource, _)| is_there(resource)).collect();
    let with = |is_name: &dyn Fn(&Resource) -> bool| -> Vec<(&'t Resource, &'t Sources)> {
        there.iter().filter(|(resource, _)| is_name(resource)).copied().collect()
    };
    let mut found = with(&|resource| resource.name() == wanted.name);
    if found.is_empty() {
        found = with(&|resource| was_called(resource, wanted.name));
    }
    let name = || format!("{}/{}", wanted.kind, wanted.name);
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Unexplained::Missing { wanted: name(), known: known(resources().map(|(resource, _)| resource)) }),
        several => {
            let namespaces = several.iter().map(|(one, _)| format!("`-n {}`", one.namespace())).collect();
            Err(Unexplained::Several { wanted: name(), namespaces })
        }
    }
}

/// Whether it had this name, or has it with a hash behind it.
fn was_called(resource: &Resource, name: &str) -> bool {
    let before_hash = || resource.name().rsplit_once('-').map(|(before, _)| before);
    resource.former_ids().any(|id| &*id.name == name) || resource.needs_hash && before_hash() == Some(name)
}

fn named(resource: &Resource) -> String {
    format!("{}/{}", resource.kind(), resource.name())
}

/// What there is, as far as it helps.
fn known<'r>(resources: impl Iterator<Item = &'r Resource>) -> String {
    const MOST: usize = 20;
    let mut all: Vec<String> = resources.map(named).collect();
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    match (all.len(), more) {
        (0, _) => "nothing is declared".to_owned(),
        (_, 0) => format!("there are {}", all.join(", ")),
        (_, more) => format!("there are {} and {more} more", all.join(", ")),
    }
}
