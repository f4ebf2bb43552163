//! Explains a resource that is given by name: finds the resource, and the source of each of its
//! fields.

use crate::identity::Gvk;
use crate::origin::Sources;
use crate::provenance::{NoField, Set, fields, find, first_of, is_identity};
use crate::resource::Resource;

/// The requested resource and field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'w> {
    /// In any letter case, as `Kind`, `Kind.group` or `Kind.version.group`.
    pub kind: &'w str,
    /// The name as rendered, or the name before a hash was appended or the resource was renamed.
    pub name: &'w str,
    /// Any namespace if omitted.
    pub namespace: Option<&'w str>,
    /// All fields if empty.
    pub field: &'w str,
}

/// The fields of a resource and their sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `Kind/name`.
    pub resource: String,
    pub namespace: String,
    pub fields: Vec<Set>,
}

/// The reason why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    #[error("there is no {wanted}; {known}")]
    Missing { wanted: String, known: String },
    #[error("{wanted} is ambiguous: write {}", ways.join(" or "))]
    Several { wanted: String, ways: Vec<String> },
    #[error("{resource}: {problem}")]
    Field { resource: String, problem: NoField },
}

/// Resources, and the sources of their nodes.
pub type Traced<'t> = (&'t [Resource], &'t Sources);

/// Explains the requested resource. For a resource with secrets, the values are left out.
pub fn explain(
    all: &[Traced<'_>],
    wanted: &Wanted<'_>,
    holds_secrets: impl Fn(&Resource) -> bool,
) -> Result<Explanation, Unexplained> {
    let (resource, sources) = chosen(all, wanted)?;
    let name = named(resource);
    let found = find(&resource.node, wanted.field);
    let (node, path) = found.map_err(|problem| Unexplained::Field { resource: name.clone(), problem })?;
    let mut fields = fields(node, &path, sources);
    if holds_secrets(resource) {
        fields.iter_mut().filter(|set| !is_identity(&set.field)).for_each(|set| set.value = None);
    }
    Ok(Explanation { resource: name, namespace: resource.namespace().to_owned(), fields })
}

/// Returns the requested resource, or an error that lists the existing ones.
fn chosen<'t>(all: &[Traced<'t>], wanted: &Wanted<'_>) -> Result<(&'t Resource, &'t Sources), Unexplained> {
    let is_there = |resource: &Resource| {
        is_kind(resource, wanted.kind) && wanted.namespace.is_none_or(|namespace| resource.namespace() == namespace)
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
            let several: Vec<&Resource> = several.iter().map(|(one, _)| *one).collect();
            Err(Unexplained::Several { wanted: name(), ways: ways(&several) })
        }
    }
}

/// Reports whether a resource is of this kind, which may be written with its group, or with version
/// and group, as in kubectl.
fn is_kind(resource: &Resource, wanted: &str) -> bool {
    let Gvk { group, version, kind } = resource.gvk();
    let is_it = |(name, rest): (&str, &str)| {
        let is_core = group.is_empty() && rest == &*version;
        name.eq_ignore_ascii_case(&kind) && (rest == &*group || rest == format!("{version}.{group}") || is_core)
    };
    kind.eq_ignore_ascii_case(wanted) || wanted.split_once('.').is_some_and(is_it)
}

/// Returns an unambiguous way to name each of several resources.
fn ways(several: &[&Resource]) -> Vec<String> {
    let differ = |what: &dyn Fn(&Resource) -> String| several.windows(2).any(|two| what(two[0]) != what(two[1]));
    let api = |one: &Resource| one.gvk().api_version();
    let (is_by_kind, is_by_name) = (differ(&api), differ(&named));
    let is_by_namespace = differ(&|one| one.namespace().to_owned());
    let way = |one: &&Resource| {
        let Gvk { group, version, kind } = one.gvk();
        let joint = if group.is_empty() { "" } else { "." };
        let resource = match (is_by_kind, is_by_name) {
            (true, _) => Some(format!("{kind}.{version}{joint}{group}/{}", one.name())),
            (false, true) => Some(named(one)),
            (false, false) => None,
        };
        let namespace = is_by_namespace.then(|| match one.namespace() {
            "" => "-n ''".to_owned(),
            namespace => format!("-n {namespace}"),
        });
        let words: Vec<String> = resource.into_iter().chain(namespace).collect();
        format!("`{}`", words.join(" "))
    };
    several.iter().map(way).collect()
}

/// Reports whether the resource had this name, or has it with a hash appended.
fn was_called(resource: &Resource, name: &str) -> bool {
    let before_hash = || resource.name().rsplit_once('-').map(|(before, _)| before);
    resource.former_ids().any(|id| &*id.name == name) || resource.needs_hash && before_hash() == Some(name)
}

fn named(resource: &Resource) -> String {
    format!("{}/{}", resource.kind(), resource.name())
}

/// Lists existing resources as a hint.
fn known<'r>(resources: impl Iterator<Item = &'r Resource>) -> String {
    match first_of(resources.map(named)).as_str() {
        "" => "nothing is declared".to_owned(),
        names => format!("there are {names}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::resources;

    const SEVERAL: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n\
                           {apiVersion: example.com/v1, kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n\
                           {apiVersion: example.com/v2, kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n\
                           {apiVersion: v1, kind: Pod, metadata: {name: p}}\n---\n\
                           {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: y}}\n";

    fn told(text: &str, kind: &str, name: &str, is_secret: bool) -> Result<Vec<String>, String> {
        let mut sources = Sources::default();
        let origin = sources.add("a.yaml".into(), None);
        let all = resources("a.yaml", text, origin).unwrap();
        let wanted = Wanted { kind, name, namespace: None, field: "" };
        let explanation = explain(&[(&all, &sources)], &wanted, |_| is_secret).map_err(|error| error.to_string())?;
        let shown = |set: &Set| format!("{}={}", set.field, set.value.as_deref().unwrap_or("(secret)"));
        Ok(explanation.fields.iter().map(shown).collect())
    }

    #[test]
    fn resources_of_one_name_are_told_apart_by_group_and_version() {
        let api = |kind: &str| told(SEVERAL, kind, "a", false).map(|fields| fields[0].clone());
        for (kind, version) in [
            ("ConfigMap.v1", "v1"),
            ("configmap.v1.", "v1"),
            ("ConfigMap.", "v1"),
            ("ConfigMap.v1.example.com", "example.com/v1"),
            ("configmap.v2.example.com", "example.com/v2"),
        ] {
            assert_eq!(api(kind), Ok(format!("apiVersion={version}")), "{kind}");
        }
        assert_eq!(
            api("ConfigMap").unwrap_err(),
            "ConfigMap/a is ambiguous: write `ConfigMap.v1/a` or `ConfigMap.v1.example.com/a` or `ConfigMap.v2.example.com/a`"
        );
        assert_eq!(
            api("ConfigMap.example.com").unwrap_err(),
            "ConfigMap.example.com/a is ambiguous: write `ConfigMap.v1.example.com/a` or `ConfigMap.v2.example.com/a`"
        );
        assert!(api("ConfigMap.example").unwrap_err().starts_with("there is no ConfigMap.example/a"));
    }

    #[test]
    fn resources_of_one_name_are_told_apart_by_namespace() {
        assert_eq!(told(SEVERAL, "pod", "p", false).unwrap_err(), "pod/p is ambiguous: write `-n ''` or `-n y`");
    }

    #[test]
    fn of_what_holds_secrets_only_its_identity_and_type_are_told() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  namespace: n\n  labels: {a: hunter2}\n  \
                    annotations: {last-applied: hunter2}\ntype: Opaque\nstringData: hunter2\ndata: {a: hunter2}\n";
        assert_eq!(
            told(text, "Secret", "s", true).unwrap(),
            [
                "apiVersion=v1",
                "kind=Secret",
                "metadata.name=s",
                "metadata.namespace=n",
                "metadata.labels.a=(secret)",
                "metadata.annotations.last-applied=(secret)",
                "type=Opaque",
                "stringData=(secret)",
                "data.a=(secret)",
            ]
        );
        assert!(told(text, "Secret", "s", false).unwrap().contains(&"data.a=hunter2".to_owned()));
    }
}
