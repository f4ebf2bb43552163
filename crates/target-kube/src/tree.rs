//! The tree of an app: its objects with the objects they own, read from the cluster when a person
//! asks, and not cached.
//!
//! An object names its owner; the owner does not name its objects. So the kinds that can be owned
//! are listed in the namespaces of the app, as metadata only (pods whole: nearly all the news of a
//! tree is in their status), in a limited number of pages. Then the objects that belong to the app
//! are read for their health. A list that fails is reported in a line, and never taken for an empty
//! one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_kube::health::{assess, is_known_by_metadata};
use setpoint_kube::key::{class, group_and_kind};
use setpoint_kube::kinds::{built_in, offspring};
use setpoint_kube::object;
use setpoint_target::showing::NOT_THERE;
use setpoint_target::{Tree, TreeObject, Unwell, Wanted};

use crate::cluster::Cluster;
use crate::discovery::Unserved;
use crate::requests::{Behalf, Collection, Failure, Form, Urgency};
use crate::watch::pages::Listing;
use crate::wire::within;

/// The most reads and lists at the same time.
const AT_ONCE: usize = 16;
/// The limit for one kind in one namespace; a page has 500 objects.
const MOST_PAGES: usize = 20;
const LIST_TIME: Span = Span::seconds(20);
/// The most owned objects that are read one by one for their health.
const MOST_READ: usize = 200;
/// The most levels of owners.
const DEEPEST: usize = 16;
/// The most objects that are read to explain why they are unhealthy.
const MOST_UNWELL: usize = 20;

/// One object, as far as a tree needs it.
#[derive(Clone, Debug)]
pub(crate) struct Specimen {
    pub(crate) key: Key,
    pub(crate) uid: String,
    owners: Vec<String>,
    created: Option<Timestamp>,
    standing: Standing,
    /// The containers of a pod.
    pub(crate) containers: Containers,
}

/// The containers of a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Containers {
    pub(crate) main: Vec<Container>,
    /// The init containers, and the ephemeral ones.
    pub(crate) others: Vec<Container>,
}

/// A container of a pod, and the number of its restarts.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) restarts: i128,
}

/// The known health of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Its metadata does not show its health.
    Unread,
    Known(Health, Option<String>),
    Missing,
    Unseen(String),
}

/// A position in a tree: the index of the specimen, its depth, and the index of its owner.
type Position = (usize, usize, Option<usize>);

/// A complete tree, and everything that was found for it.
#[derive(Debug)]
pub(crate) struct Grown {
    pub(crate) specimens: Vec<Specimen>,
    pub(crate) positions: Vec<Position>,
    pub(crate) unseen: Vec<String>,
}

impl Cluster {
    pub(crate) async fn tree(&self, wanted: Wanted) -> Tree {
        let mut grown = self.grown(wanted).await;
        self.read_unread(&mut grown).await;
        grown.into_tree()
    }

    /// Returns the requested objects and the objects they own. Not all of them are read.
    pub(crate) async fn grown(&self, wanted: Wanted) -> Grown {
        if let Err(reason) = self.visit().await {
            let unseen = |(key, _)| Specimen::bare(key, Standing::Unseen(reason.to_string()));
            let specimens: Vec<Specimen> = wanted.into_iter().map(unseen).collect();
            let positions = (0..specimens.len()).map(|index| (index, 0, None)).collect();
            return Grown { specimens, positions, unseen: Vec::new() };
        }
        let roots = stream::iter(wanted).map(|(key, declared)| self.specimen_at(key, declared));
        let mut specimens: Vec<Specimen> = roots.buffered(AT_ONCE).collect().await;
        let roots = specimens.len();
        let mut unseen = Vec::new();
        let (lists, complaints) = self.lists_for(&specimens).await;
        unseen.extend(complaints);
        let listed = stream::iter(lists).map(|(class, collection)| self.listed(class, collection));
        let listed: Vec<_> = listed.buffered(AT_ONCE).collect().await;
        for (found, complaint) in listed {
            specimens.extend(found);
            unseen.extend(complaint);
        }
        let positions = grow(&specimens, roots);
        Grown { specimens, positions, unseen }
    }

    /// Reads one object.
    async fn specimen_at(&self, key: Key, declared: Option<Arc<Resource>>) -> Specimen {
        let place = match self.place(&key, declared.as_deref()).await {
            Ok(place) => place,
            Err(error) => return Specimen::bare(key, Standing::Unseen(error.to_string())),
        };
        let form = if is_known_by_metadata(key.class(), &self.health) { Form::Metadata } else { Form::Whole };
        match self.api.get(&place, form, Behalf::agent(Urgency::People)).await {
            Ok(object) => self.specimen(key, object, true),
            Err(failure) if failure.is_absence_of(key.name()) => Specimen::bare(key, Standing::Missing),
            Err(failure) => Specimen::bare(key, Standing::Unseen(failure.to_string())),
        }
    }

    /// Returns the part of an object that a tree needs. `read` means that the object shows its
    /// health.
    fn specimen(&self, key: Key, object: Value, read: bool) -> Specimen {
        let object = named_as(key.class(), object);
        let standing = if read {
            let verdict = assess(&object, &self.health);
            Standing::Known(verdict.health, (verdict.health != Health::Healthy).then_some(verdict.reason))
        } else {
            Standing::Unread
        };
        Specimen {
            uid: object::uid(&object).unwrap_or_default().to_owned(),
            owners: object::owners(&object).into_iter().map(str::to_owned).collect(),
            created: object::created(&object),
            containers: if key.class() == "Pod" { Containers::of(&object) } else { Containers::default() },
            standing,
            key,
        }
    }

    /// Returns the kinds of the objects that these may own.
    fn kinds_below(&self, roots: &[Specimen]) -> BTreeSet<(String, String)> {
        let parents: BTreeSet<&str> =
            roots.iter().filter(|root| root.is_there()).map(|root| root.key.class()).collect();
        let mut kinds = BTreeSet::new();
        for parent in parents {
            let (group, kind) = group_and_kind(parent);
            let built_in_ones = offspring(group, kind).iter();
            kinds.extend(built_in_ones.map(|(group, kind)| (str::to_owned(group), str::to_owned(kind))));
            if built_in(group, kind).is_none() {
                // Custom kinds often own other kinds of the same group.
                let siblings = self.discovery.namespaced_in(group);
                kinds.extend(siblings.into_iter().map(|kind| (group.to_owned(), kind)));
            }
        }
        kinds
    }

    /// Returns the lists that may contain owned objects, by class, and the problems of finding
    /// them.
    async fn lists_for(&self, roots: &[Specimen]) -> (Vec<(String, Collection)>, Vec<String>) {
        let (mut lists, mut complaints) = (Vec::new(), Vec::new());
        let namespaces = roots.iter().map(|root| root.key.namespace()).filter(|namespace| !namespace.is_empty());
        let namespaces: BTreeSet<&str> = namespaces.collect();
        for (group, kind) in self.kinds_below(roots) {
            match self.discovery.find(&self.api, &group, &kind, None).await {
                Ok(served) => lists.extend(namespaces.iter().map(|namespace| {
                    let collection = Collection {
                        group: group.as_str().into(),
                        version: Arc::clone(&served.version),
                        resource: Arc::clone(&served.resource),
                        namespace: (*namespace).into(),
                    };
                    (class(&group, &kind), collection)
                })),
                // A kind that is not served has no objects.
                Err(Unserved::NoSuchKind { .. } | Unserved::NoSuchVersion { .. }) => {}
                Err(reason @ (Unserved::Unknown(_) | Unserved::Silent { .. })) => {
                    complaints.push(format!("{kind}: {reason}"));
                }
            }
        }
        (lists, complaints)
    }

    /// Returns the owned objects of a kind in a namespace, and a complaint if the list is
    /// incomplete.
    async fn listed(&self, class: String, collection: Collection) -> (Vec<Specimen>, Option<String>) {
        let whole = class == "Pod" || is_known_by_metadata(&class, &self.health);
        let form = if class == "Pod" { Form::Whole } else { Form::Metadata };
        let listing = Listing { selection: None, form, urgency: Urgency::People, pages: MOST_PAGES };
        let mut found = Vec::new();
        let take = |object: Value| {
            let name = object::name(&object).unwrap_or_default();
            let owned = !object::owners(&object).is_empty();
            if let (true, Ok(key)) = (owned, Key::new(&class, &collection.namespace, name)) {
                found.push(self.specimen(key, object, whole));
            }
        };
        let listed = within(&*self.api.sender.wire, LIST_TIME, self.some_pages(&collection, listing, take)).await;
        let (_, kind) = group_and_kind(&class);
        let namespace = &collection.namespace;
        let complaint = match listed {
            Some(Ok(Some(_))) => None,
            Some(Ok(None)) => Some(format!(
                "{kind} in {namespace}: there are more than {} of them, and not all were read",
                MOST_PAGES * 500
            )),
            Some(Err(failure)) => Some(format!("{kind} in {namespace}: {}", told(&failure))),
            None => Some(format!("{kind} in {namespace}: the list was not complete within {LIST_TIME}")),
        };
        (found, complaint)
    }

    /// Reads the objects of the tree whose health is not known yet.
    async fn read_unread(&self, grown: &mut Grown) {
        let unread = grown.positions.iter().map(|(index, ..)| *index);
        let mut unread: Vec<usize> =
            unread.filter(|index| grown.specimens[*index].standing == Standing::Unread).collect();
        for index in unread.split_off(unread.len().min(MOST_READ)) {
            let reason = format!("it was not read: there are more than {MOST_READ} like it");
            grown.specimens[index].standing = Standing::Unseen(reason);
        }
        let reads = unread.into_iter().map(|index| (index, grown.specimens[index].key.clone()));
        let reads = stream::iter(reads).map(async |(index, key)| (index, self.specimen_at(key, None).await.standing));
        for (index, standing) in reads.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            grown.specimens[index].standing = standing;
        }
    }

    /// Returns the unhealthy ones of these objects, with the reasons. An object that is healthy by
    /// its record is not read.
    pub(crate) async fn unwell(&self, keys: BTreeSet<Key>) -> Vec<Unwell> {
        let is_healthy = |key: &Key| self.records.with(key, |record| record.standing.health) == Some(Health::Healthy);
        let doubtful = keys.into_iter().filter(|key| !is_healthy(key)).take(MOST_UNWELL);
        if self.visit().await.is_err() {
            // The state of the app already reports that nothing can be read.
            return Vec::new();
        }
        let reads = stream::iter(doubtful).map(|key| self.specimen_at(key, None)).buffered(AT_ONCE);
        let read: Vec<Specimen> = reads.collect().await;
        read.into_iter().filter_map(Specimen::into_unwell).collect()
    }
}

impl Containers {
    fn of(pod: &Value) -> Self {
        let named = |field, statuses| -> Vec<Container> {
            let Some(Value::Seq(containers)) = object::at(pod, &["spec", field]) else { return Vec::new() };
            let names = containers.iter().filter_map(|container| container.get("name").and_then(Value::as_str));
            names.map(|name| Container { name: name.to_owned(), restarts: restarts(pod, statuses, name) }).collect()
        };
        let first = named("initContainers", "initContainerStatuses");
        let added = named("ephemeralContainers", "ephemeralContainerStatuses");
        Self { main: named("containers", "containerStatuses"), others: [first, added].concat() }
    }
}

/// Returns the number of restarts of a container; zero if the kubelet has not reported it.
fn restarts(pod: &Value, statuses: &str, container: &str) -> i128 {
    let Some(Value::Seq(statuses)) = object::at(pod, &["status", statuses]) else { return 0 };
    let status = statuses.iter().find(|status| status.get("name").and_then(Value::as_str) == Some(container));
    match status.and_then(|status| status.get("restartCount")) {
        Some(Value::Num(count)) => count.as_i128().unwrap_or(0),
        _ => 0,
    }
}

impl Specimen {
    fn bare(key: Key, standing: Standing) -> Self {
        Self { key, uid: String::new(), owners: Vec::new(), created: None, standing, containers: Containers::default() }
    }

    fn is_there(&self) -> bool {
        matches!(self.standing, Standing::Known(..) | Standing::Unread)
    }

    fn into_unwell(self) -> Option<Unwell> {
        let (health, reason) = self.standing.told();
        let reason = reason?;
        (health != Health::Healthy).then_some(Unwell { key: self.key, health, reason })
    }
}

impl Standing {
    fn told(self) -> (Health, Option<String>) {
        match self {
            Self::Known(health, reason) => (health, reason),
            Self::Missing => (Health::Unknown, Some(NOT_THERE.to_owned())),
            Self::Unseen(reason) => (Health::Unknown, Some(reason)),
            Self::Unread => (Health::Unknown, Some("it was not read".to_owned())),
        }
    }
}

impl Grown {
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Specimen> {
        let all = self.positions.iter().map(|(index, ..)| &self.specimens[*index]);
        all.filter(|specimen| specimen.key.class() == "Pod")
    }

    /// Returns a line for everything that could not be read.
    pub(crate) fn not_looked_at(&self) -> Vec<String> {
        let told = |specimen: &Specimen| match &specimen.standing {
            Standing::Unseen(reason) => Some(format!("{}: {reason}", specimen.key)),
            _ => None,
        };
        self.specimens.iter().filter_map(told).chain(self.unseen.iter().cloned()).collect()
    }

    fn into_tree(self) -> Tree {
        let keys: Vec<Key> = self.specimens.iter().map(|specimen| specimen.key.clone()).collect();
        let objects = self.positions.into_iter().map(|(index, depth, owner)| {
            let specimen = &self.specimens[index];
            let (health, reason) = specimen.standing.clone().told();
            TreeObject {
                key: specimen.key.clone(),
                depth,
                owner: owner.map(|owner| keys[owner].clone()),
                present: specimen.is_there(),
                health,
                reason,
                created: specimen.created,
            }
        });
        Tree { objects: objects.collect(), unseen: self.unseen }
    }
}

/// Arranges owned objects below their owners, starting at the first `roots`. Objects that lead to
/// none of them are left out.
fn grow(specimens: &[Specimen], roots: usize) -> Vec<Position> {
    let mut by_uid: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, specimen) in specimens.iter().enumerate().filter(|(_, specimen)| !specimen.uid.is_empty()) {
        // Requested objects come first, and occur again in lists.
        by_uid.entry(&specimen.uid).or_insert(index);
    }
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, specimen) in specimens.iter().enumerate() {
        // A requested object is placed below its owner too, if that was requested. One that is
        // listed a second time is the same object.
        let listed_again = by_uid.get(specimen.uid.as_str()).is_some_and(|same| *same != index);
        let owner = specimen.owners.iter().find_map(|owner| by_uid.get(owner.as_str()));
        if let (false, Some(owner)) = (listed_again, owner) {
            below.entry(*owner).or_default().push(index);
        }
    }
    for children in below.values_mut() {
        children.sort_by(|a, b| specimens[*a].key.cmp(&specimens[*b].key));
    }
    let mut positions = Vec::new();
    let mut placed = BTreeSet::new();
    let is_below = |index: usize| specimens[index].owners.iter().any(|owner| by_uid.contains_key(owner.as_str()));
    let tops = (0..roots).filter(|root| !is_below(*root));
    // A requested object is a root if its owners are not in the tree, or if they form a circle.
    for root in tops.chain(0..roots) {
        let mut open = vec![(root, 0, None)];
        while let Some((index, depth, owner)) = open.pop() {
            if depth > DEEPEST || !placed.insert(index) {
                continue;
            }
            positions.push((index, depth, owner));
            let children = below.get(&index).into_iter().flatten().rev();
            open.extend(children.map(|child| (*child, depth + 1, Some(index))));
        }
    }
    positions
}

/// Sets the kind of an object: lists omit it from their items, and metadata names its own kind.
fn named_as(class: &str, mut object: Value) -> Value {
    let (group, kind) = group_and_kind(class);
    if let Value::Map(fields) = &mut object {
        let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let is_itself = fields.get("kind").and_then(Value::as_str) == Some(kind);
        if !is_itself {
            fields.insert("apiVersion".into(), Value::str(&version));
            fields.insert("kind".into(), Value::str(kind));
        }
    }
    object
}

fn told(failure: &Failure) -> String {
    match failure.code() {
        Some(401 | 403) => format!("they may not be listed, so what there is of them is not known: {failure}"),
        _ => failure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specimen(name: &str, owners: &[&str]) -> Specimen {
        let owners = owners.iter().map(|owner| (*owner).to_owned()).collect();
        let key = Key::new("Thing", "web", name).unwrap();
        Specimen { uid: name.to_owned(), owners, ..Specimen::bare(key, Standing::Unread) }
    }

    fn shown(specimens: &[Specimen], roots: usize) -> Vec<String> {
        let shown = |(index, depth, _): Position| format!("{}{}", ".".repeat(depth), specimens[index].key.name());
        grow(specimens, roots).into_iter().map(shown).collect()
    }

    #[test]
    fn what_is_owned_stands_below_its_owner_in_the_order_of_names() {
        let specimens = [
            specimen("shop", &[]),
            specimen("till", &[]),
            specimen("shop-b", &["shop"]),
            specimen("shop-a", &["shop"]),
            specimen("shop-a-1", &["stranger", "shop-a"]),
            specimen("other", &["stranger"]),
        ];
        assert_eq!(shown(&specimens, 2), ["shop", ".shop-a", "..shop-a-1", ".shop-b", "till"]);
    }

    #[test]
    fn what_was_asked_for_is_shown_once_wherever_it_belongs() {
        let specimens = [
            specimen("child", &["parent"]),
            specimen("parent", &[]),
            specimen("lost", &["gone"]),
            specimen("child", &["parent"]),
        ];
        assert_eq!(shown(&specimens, 3), ["parent", ".child", "lost"]);
    }

    #[test]
    fn owners_in_a_circle_end_nowhere_and_leave_nobody_out() {
        let specimens = [specimen("a", &["b"]), specimen("b", &["a"]), specimen("c", &["c"])];
        assert_eq!(shown(&specimens, 3), ["a", ".b", "c"]);
        let chain: Vec<Specimen> = (0..100)
            .map(|n: u32| specimen(&n.to_string(), &[n.checked_sub(1).map(|n| n.to_string()).as_deref().unwrap_or("")]))
            .collect();
        assert_eq!(shown(&chain, 1).len(), DEEPEST + 1);
    }
}
