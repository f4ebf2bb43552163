//! Discovery: maps a group and a kind to the path of its objects.
//!
//! The catalogue is read when it is first needed, and again when a kind is not found, but at most
//! every few seconds. If the server of a group is down, its kinds are unknown, never absent; the
//! others work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_kube::object;

use crate::requests::{Api, Failure, Urgency};

/// The shortest interval between two reads of the catalogue.
const ASK_EVERY: Span = Span::seconds(2);

/// A kind in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) version: Arc<str>,
    /// The plural word in the path.
    pub(crate) resource: Arc<str>,
    pub(crate) namespaced: bool,
}

/// The reason why a kind cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unserved {
    #[error("the cluster serves no `{kind}` of `{group}`: install its definition")]
    NoSuchKind { group: String, kind: String },
    #[error("`{kind}` of `{group}` is not served in version `{version}`, but in {served}: declare one of these")]
    NoSuchVersion { group: String, kind: String, version: String, served: String },
    /// The group has a server of its own, and that server is down.
    #[error("the API server of the group `{group}` does not respond: check its APIService")]
    Silent { group: String },
    /// It is unknown whether the kind exists.
    #[error("{0}")]
    Unknown(UnknownReason),
}

/// The catalogue of the cluster, as last read.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    catalogue: Mutex<Option<Arc<Catalogue>>>,
    asking: futures_util::lock::Mutex<()>,
}

#[derive(Debug)]
struct Catalogue {
    /// The kinds by group and kind; the preferred version comes first.
    kinds: BTreeMap<(Arc<str>, Arc<str>), Vec<Served>>,
    /// Groups that could not be read, or whose entry is stale.
    silent: BTreeSet<Arc<str>>,
    asked_at: Timestamp,
}

impl Discovery {
    /// Finds a kind in the given version, or in the preferred one.
    pub(crate) async fn find(
        &self,
        api: &Api,
        group: &str,
        kind: &str,
        version: Option<&str>,
    ) -> Result<Served, Unserved> {
        let mut found = self.known().map(|catalogue| catalogue.find(group, kind, version));
        if !matches!(found, Some(Ok(_))) {
            let catalogue = self.ask(api).await.map_err(|failure| Unserved::Unknown(failure.blindness()))?;
            found = Some(catalogue.find(group, kind, version));
        }
        found.expect("it was asked for")
    }

    /// Returns the namespaced kinds of a group, as far as the catalogue is known.
    pub(crate) fn namespaced_in(&self, group: &str) -> Vec<String> {
        let Some(catalogue) = self.known() else { return Vec::new() };
        let served = catalogue.kinds.iter().filter(|((of, _), _)| **of == *group);
        let namespaced = served.filter(|(_, versions)| versions.first().is_some_and(|served| served.namespaced));
        namespaced.map(|((_, kind), _)| kind.to_string()).collect()
    }

    /// Discards the catalogue, because the served kinds may have changed.
    pub(crate) fn forget(&self) {
        *self.locked() = None;
    }

    async fn ask(&self, api: &Api) -> Result<Arc<Catalogue>, Failure> {
        let _turn = self.asking.lock().await;
        let fresh = |catalogue: &Arc<Catalogue>| api.sender.now().since(catalogue.asked_at) < ASK_EVERY;
        if let Some(catalogue) = self.known().filter(fresh) {
            return Ok(catalogue);
        }
        let catalogue = Arc::new(Catalogue::ask(api).await?);
        *self.locked() = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }

    fn known(&self) -> Option<Arc<Catalogue>> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<Catalogue>>> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Catalogue {
    async fn ask(api: &Api) -> Result<Self, Failure> {
        let mut catalogue = Self { kinds: BTreeMap::new(), silent: BTreeSet::new(), asked_at: api.sender.now() };
        for path in ["/api", "/apis"] {
            let answer = api.ask(path.to_owned(), Urgency::Bundle).await?;
            match object::kind(&answer) {
                Some("APIGroupDiscoveryList") => catalogue.learn_aggregated(&answer),
                Some("APIVersions") => catalogue.learn_group(api, "", &texts(answer.get("versions"))).await,
                Some("APIGroupList") => {
                    for group in items(answer.get("groups")) {
                        let name = group.get("name").and_then(Value::as_str).unwrap_or_default();
                        catalogue.learn_group(api, name, &versions_of(group)).await;
                    }
                }
                other => return Err(Failure::Malformed { detail: format!("`{path}` returned {other:?}") }),
            }
        }
        Ok(catalogue)
    }

    fn learn_aggregated(&mut self, answer: &Value) {
        for group in items(answer.get("items")) {
            let name: Arc<str> = object::name(group).unwrap_or_default().into();
            for version in items(group.get("versions")) {
                let Some(word) = version.get("version").and_then(Value::as_str) else { continue };
                if version.get("freshness").and_then(Value::as_str) == Some("Stale") {
                    self.silent.insert(Arc::clone(&name));
                }
                for resource in items(version.get("resources")) {
                    let kind = object::at(resource, &["responseKind", "kind"]).and_then(Value::as_str);
                    let path = resource.get("resource").and_then(Value::as_str);
                    let namespaced = resource.get("scope").and_then(Value::as_str) == Some("Namespaced");
                    if let (Some(kind), Some(path)) = (kind, path) {
                        self.add(&name, kind, Served { version: word.into(), resource: path.into(), namespaced });
                    }
                }
            }
        }
    }

    /// Reads the kinds of a group from a server without aggregated discovery.
    async fn learn_group(&mut self, api: &Api, group: &str, versions: &[String]) {
        for version in versions {
            let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
            let Ok(answer) = api.ask(path, Urgency::Bundle).await else {
                self.silent.insert(group.into());
                continue;
            };
            for resource in items(answer.get("resources")) {
                let text = |field| resource.get(field).and_then(Value::as_str);
                // A name with a slash is a subresource (`deployments/scale`).
                if let (Some(kind), Some(path)) = (text("kind"), text("name").filter(|name| !name.contains('/'))) {
                    let namespaced = resource.get("namespaced") == Some(&Value::Bool(true));
                    self.add(
                        &group.into(),
                        kind,
                        Served { version: version.as_str().into(), resource: path.into(), namespaced },
                    );
                }
            }
        }
    }

    fn add(&mut self, group: &Arc<str>, kind: &str, served: Served) {
        let versions = self.kinds.entry((Arc::clone(group), kind.into())).or_default();
        if !versions.iter().any(|known| known.version == served.version) {
            versions.push(served);
        }
    }

    fn find(&self, group: &str, kind: &str, version: Option<&str>) -> Result<Served, Unserved> {
        let (group_text, kind_text) = (group.to_owned(), kind.to_owned());
        let served = self.kinds.get(&(group.into(), kind.into())).map(Vec::as_slice).unwrap_or_default();
        let found = match version {
            Some(version) => served.iter().find(|served| &*served.version == version),
            None => served.first(),
        };
        match (found, version) {
            (Some(found), _) => Ok(found.clone()),
            (None, _) if self.silent.contains(group) => Err(Unserved::Silent { group: group_text }),
            (None, Some(version)) if !served.is_empty() => {
                let words: Vec<String> = served.iter().map(|served| format!("`{}`", served.version)).collect();
                let (version, served) = (version.to_owned(), words.join(", "));
                Err(Unserved::NoSuchVersion { group: group_text, kind: kind_text, version, served })
            }
            (None, _) => Err(Unserved::NoSuchKind { group: group_text, kind: kind_text }),
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Seq(items)) => items,
        _ => &[],
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    items(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the versions of a group, the preferred one first.
fn versions_of(group: &Value) -> Vec<String> {
    let preferred = object::at(group, &["preferredVersion", "version"]).and_then(Value::as_str);
    let all = items(group.get("versions")).iter().filter_map(|version| version.get("version").and_then(Value::as_str));
    let others = all.filter(|version| Some(*version) != preferred);
    preferred.into_iter().chain(others).map(str::to_owned).collect()
}
