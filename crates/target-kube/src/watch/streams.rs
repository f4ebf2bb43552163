//! Keeps streams open: from a list to its changes, through every interruption.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::{BoxFuture, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::mutant::Mutant;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_kube::key::group_and_kind;
use setpoint_kube::object;
use setpoint_kube::request::INSTALLATION_LABEL;
use setpoint_kube::status::Status;

use super::events::{Kind, WatchedObject, key_of};
use super::lines::Lines;
use super::restored::{RESTORED, is_before};
use super::{Fresh, Progress, StreamId, Watches, Whose};
use crate::cluster::{Cluster, Unplaced};
use crate::discovery::Unserved;
use crate::requests::{Beginning, Collection, Failure, Form, Selection};
use crate::turns::{PlaceGuard, Places};
use crate::wire::within;

/// The longest silence of a stream. Bookmarks come every minute, so after a longer silence the
/// connection is dead.
pub(super) const SILENCE: Span = Span::minutes(3);
pub(super) const FIRST_WAIT: Span = Span::millis(500);
pub(super) const LONGEST_WAIT: Span = Span::minutes(1);
/// The pause for a kind that is not served, or that we may not watch: this may change later.
const UNSERVED_WAIT: Span = Span::seconds(30);
/// The interval at which changed records are stored.
const REMEMBER_EVERY: Span = Span::seconds(5);
/// The most lists at the same time. Lists are the most expensive of all requests.
const RELISTS: usize = 2;
/// The annotation of the bookmark that follows the initial state.
pub(super) const INITIAL_END: &str = "k8s.io/initial-events-end";

/// The reason why a stream has ended.
enum Ended {
    /// In good order: the stream resumes at its last version.
    Over,
    /// The server no longer has the history since that version: everything must be reported again.
    Expired,
    /// The server's state went back: everything must be reported again, and compared.
    Restored,
    Failed(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        if failure.code() == Some(410) { Self::Expired } else { Self::Failed(failure) }
    }
}

/// Reports whether a stream may have ended because the server does not respond.
fn may_be_outage(ended: &Result<Ended, Unplaced>) -> bool {
    match ended {
        Ok(Ended::Failed(failure)) => failure.is_passing(),
        Ok(Ended::Over | Ended::Expired | Ended::Restored) => false,
        Err(unplaced) => matches!(unplaced, Unplaced::Unserved(Unserved::Unknown(_))),
    }
}

/// Reports whether the server may not support the initial state as events.
pub(super) fn is_no_beginning(failure: &Failure) -> bool {
    matches!(failure.code(), Some(400 | 422))
}

/// The state of a stream from one connection to the next.
#[derive(Debug)]
struct Course {
    /// The version at which to resume.
    after: Option<String>,
    /// The server supports the initial state as events.
    streams_lists: bool,
    tries: u32,
}

/// The state of a stream while it reports the initial state.
struct Initial<'p> {
    /// The objects that were not reported yet.
    missing: BTreeSet<Key>,
    /// The newest version that was known before.
    newest: Option<u64>,
    /// The permit to list.
    _relisting: Option<PlaceGuard<'p>>,
}

impl Course {
    /// Reports whether the server's state is older than the version at which the stream would
    /// resume.
    fn is_behind(&self, version: Option<&str>) -> bool {
        version.zip(self.after.as_deref()).is_some_and(|(version, after)| is_before(version, after))
    }

    /// Notes that everything up to this version was reported.
    fn go_on_after(&mut self, version: Option<String>) {
        if version.is_some() {
            self.after = version;
            self.tries = 0;
        }
    }
}

impl Cluster {
    /// Keeps all streams open. Never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
        let _driving = self.watches.drive();
        let relists = Places::new(RELISTS);
        let mut running: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        // These two never end, so `running` is never empty.
        running.push(self.poll_in_turn(&relists).boxed());
        running.push(self.probe().boxed());
        loop {
            for fresh in self.watches.take_fresh() {
                running.push(match fresh {
                    Fresh::Kind(id) => self.follow(id, &relists).boxed(),
                    Fresh::Crowd(id, over) => self.follow_crowd(id, over, &relists).boxed(),
                    Fresh::Single(key, over) => self.follow_single(key, over).boxed(),
                });
            }
            let waking = select(Box::pin(self.watches.wanted.heard()), running.next());
            within(&*self.api.sender.wire, REMEMBER_EVERY, waking).await;
            self.remember().await;
        }
    }

    /// Follows the objects of a kind.
    pub(super) async fn follow(&self, id: StreamId, relists: &Places) {
        let mut course = Course { after: None, streams_lists: true, tries: 0 };
        loop {
            let outages = self.watches.outage.ended();
            let ended = self.follow_once(&id, &mut course, relists).await;
            if Mutant::TrustCutStream.is_on() {
                return;
            }
            let may_be_outage = may_be_outage(&ended);
            let (trouble, wait) = match ended {
                Ok(Ended::Over) => (None, FIRST_WAIT),
                Ok(Ended::Expired) => {
                    course.after = None;
                    (
                        Some("the server no longer has the version at which the stream ended".to_owned()),
                        self.pace(&id, &mut course),
                    )
                }
                Ok(Ended::Restored) => {
                    course.after = None;
                    self.records.forget_versions(&id.class, &id.namespace);
                    (Some(RESTORED.to_owned()), Span::ZERO)
                }
                Ok(Ended::Failed(failure)) if course.streams_lists && is_no_beginning(&failure) => {
                    course.streams_lists = false;
                    (None, Span::ZERO)
                }
                Ok(Ended::Failed(failure))
                    if failure.code() == Some(403) && id.namespace.is_empty() && self.watches.restrict(&id) =>
                {
                    return;
                }
                Ok(Ended::Failed(failure)) => (Some(failure.to_string()), self.pace(&id, &mut course)),
                Err(unplaced @ Unplaced::Unserved(Unserved::Unknown(_) | Unserved::Silent { .. })) => {
                    (Some(unplaced.to_string()), self.pace(&id, &mut course))
                }
                Err(unplaced) => (Some(unplaced.to_string()), UNSERVED_WAIT),
            };
            self.watches.interrupted(&id, trouble, course.tries, self.now());
            let suspected = may_be_outage && course.tries > 1;
            if self.pause(wait, suspected, outages).await {
                course.tries = 0;
            }
        }
    }

    /// Waits before the next try of a stream, but no longer than the outage lasts. Returns whether
    /// an outage has ended since the last try began. `suspected` means that this may be an outage.
    pub(super) async fn pause(&self, wait: Span, suspected: bool, outages: u64) -> bool {
        let outage = &self.watches.outage;
        if suspected {
            outage.suspect();
        }
        within(&*self.api.sender.wire, wait, outage.over(outages)).await.is_some()
    }

    /// Returns the wait before the next try: longer after each failure, and not the same for every
    /// stream.
    fn pace(&self, id: &StreamId, course: &mut Course) -> Span {
        let wait = FIRST_WAIT.doubled(course.tries, LONGEST_WAIT);
        course.tries += 1;
        let seed = format!("{}/{}/{}/{}", self.installation, id.class, id.namespace, course.tries);
        let spread = Digest::of(seed.as_bytes()).to_string();
        let share = u64::from_str_radix(&spread[..4], 16).unwrap_or_default();
        Span::millis(wait.as_millis() / 2 + wait.as_millis() / 2 * share / 0xffff)
    }

    async fn follow_once(&self, id: &StreamId, course: &mut Course, relists: &Places) -> Result<Ended, Unplaced> {
        // A stream of another cluster would report objects that merely have the same names.
        self.visit().await.map_err(|reason| Unplaced::Unserved(Unserved::Unknown(reason)))?;
        let collection = self.collection_of(id).await?;
        let followed = self.follow_from(id, &collection, course, relists).await;
        Ok(followed.unwrap_or_else(Ended::from))
    }

    async fn follow_from(
        &self,
        id: &StreamId,
        collection: &Collection,
        course: &mut Course,
        relists: &Places,
    ) -> Result<Ended, Failure> {
        let form = id.form();
        let resumes = course.after.is_some();
        if let Some(after) = &course.after
            && self.has_gone_back(collection, after).await?
        {
            return Ok(Ended::Restored);
        }
        let relisting = if resumes { None } else { Some(relists.take().await) };
        let beginning = match &course.after {
            Some(version) => Beginning::After(version.clone()),
            None if course.streams_lists => Beginning::Everything,
            None => Beginning::After(self.list(id, collection).await?),
        };
        let missing = (beginning == Beginning::Everything).then(|| self.known_of(id));
        let newest = self.newest_of(id);
        let body = self.api.watch(collection, self.selection(id).as_ref(), form, &beginning).await?;
        if resumes {
            self.watches.reopened(id);
        } else if beginning != Beginning::Everything {
            self.watches.caught_up(id);
        }
        let initial = missing.map(|missing| Initial { missing, newest, _relisting: relisting });
        self.read_on(id, form, Lines::new(body), course, initial).await
    }

    /// Reads a stream to its end. `initial` is set while the initial state is being reported.
    async fn read_on(
        &self,
        id: &StreamId,
        form: Form,
        mut lines: Lines,
        course: &mut Course,
        mut initial: Option<Initial<'_>>,
    ) -> Result<Ended, Failure> {
        while let Some(line) = lines.next(&*self.api.sender.wire, SILENCE).await? {
            let (kind, object) = event_in(&line)?;
            let version = object::resource_version(&object).map(str::to_owned);
            match kind {
                Kind::Error => return Ok(ended_by(&object)),
                // Between two connections any number of changes may have happened. A bookmark shows
                // that everything before it was reported.
                Kind::Bookmark => {
                    if course.is_behind(version.as_deref()) {
                        return Ok(Ended::Restored);
                    }
                    if object::annotation(&object, INITIAL_END) == Some("true")
                        && let Some(initial) = initial.take()
                    {
                        self.compare_if_before(id, version.as_deref().unwrap_or_default(), initial.newest);
                        self.not_told_of(id, initial.missing);
                    }
                    if initial.is_none() {
                        self.watches.caught_up(id);
                    }
                }
                Kind::Present | Kind::Gone => {
                    self.tell_of(
                        id,
                        WatchedObject { kind, form, object },
                        initial.as_mut().map(|initial| &mut initial.missing),
                    );
                }
            }
            if initial.is_none() {
                course.go_on_after(version);
            }
        }
        Ok(Ended::Over)
    }

    fn tell_of(&self, id: &StreamId, told: WatchedObject, missing: Option<&mut BTreeSet<Key>>) {
        let Some(key) = key_of(id, &told.object) else { return };
        if let Some(missing) = missing {
            missing.remove(&key);
        }
        match id.whose {
            Whose::Ours => self.told(&key, told),
            Whose::Anybodys => {
                self.may_serve_others(&key);
                let version = object::resource_version(&told.object).and_then(|text| text.parse().ok());
                self.watches.told_unlabelled(&key, version.as_ref().filter(|_| told.kind == Kind::Present));
            }
        }
    }

    /// Returns the objects that a stream should report.
    fn known_of(&self, id: &StreamId) -> BTreeSet<Key> {
        match id.whose {
            Whose::Ours => self.records.keys_of(&id.class, &id.namespace),
            Whose::Anybodys => self.watches.members_of(id),
        }
    }

    /// Returns the newest version among the objects that a stream should report.
    fn newest_of(&self, id: &StreamId) -> Option<u64> {
        if id.whose == Whose::Ours { self.records.newest(&id.class, &id.namespace) } else { None }
    }

    /// Handles objects that a stream should have reported and did not. They may be gone, or may
    /// have lost their label, so they have to be read.
    fn not_told_of(&self, id: &StreamId, keys: BTreeSet<Key>) {
        for key in keys {
            match id.whose {
                Whose::Ours => self.suspect(&key),
                Whose::Anybodys => self.watches.told_unlabelled(&key, None),
            }
        }
    }

    /// Returns the selection of the objects with our label, or `None` for all objects.
    fn selection(&self, id: &StreamId) -> Option<Selection> {
        let expression = format!("{INSTALLATION_LABEL}={}", self.installation);
        (id.whose == Whose::Ours).then_some(Selection { selector: "labelSelector", expression })
    }

    /// Lists the current state, for servers that do not support it as events. Returns the version
    /// of the list.
    pub(super) async fn list(&self, id: &StreamId, collection: &Collection) -> Result<String, Failure> {
        let (mut missing, form, newest) = (self.known_of(id), id.form(), self.newest_of(id));
        let tell = |object| self.tell_of(id, WatchedObject { kind: Kind::Present, form, object }, Some(&mut missing));
        let version = self.pages(collection, self.selection(id).as_ref(), form, tell).await?;
        self.compare_if_before(id, &version, newest);
        self.not_told_of(id, missing);
        Ok(version)
    }

    /// Returns the path that the stream of a kind uses: one version, the preferred one, although
    /// apps may declare several. An object that is reported in another version than we applied is
    /// judged by metadata, and read in ours if that is not enough.
    pub(super) async fn collection_of(&self, id: &StreamId) -> Result<Collection, Unplaced> {
        let (group, kind) = group_and_kind(&id.class);
        let served = self.discovery.find(&self.api, group, kind, None).await?;
        let namespace = if served.namespaced { Arc::clone(&id.namespace) } else { "".into() };
        Ok(Collection { group: group.into(), version: served.version, resource: served.resource, namespace })
    }
}

impl StreamId {
    /// Returns the form of the objects in the stream. The health of objects that are not ours is
    /// found by reads.
    fn form(&self) -> Form {
        if self.whose == Whose::Ours { form_of(&self.class) } else { Form::Metadata }
    }
}

/// Returns the form in which a kind is streamed. Kinds that are healthy by existing, and are seldom
/// written, bring metadata only, so no Secret's content is streamed.
///
/// These kinds are fewer than those for which metadata is enough (`is_known_by_metadata`). They
/// have no generations, so each of their events costs a read: for a quota that would be one for
/// each pod that it counts. A rule about their health needs no more either, since the read returns
/// the whole object.
fn form_of(class: &str) -> Form {
    let (group, kind) = group_and_kind(class);
    let plain = match group {
        "" => matches!(kind, "ConfigMap" | "Secret" | "ServiceAccount" | "LimitRange" | "Endpoints"),
        "rbac.authorization.k8s.io" => true,
        _ => false,
    };
    if plain { Form::Metadata } else { Form::Whole }
}

pub(super) fn understood(bytes: &[u8]) -> Result<Value, Failure> {
    object::read(bytes).map_err(|error| Failure::Malformed { detail: error.to_string() })
}

pub(super) fn event_in(line: &[u8]) -> Result<(Kind, Value), Failure> {
    let event = understood(line)?;
    let kind = Kind::read(event.get("type").and_then(Value::as_str));
    match (kind, event) {
        (Some(kind), Value::Map(mut fields)) => Ok((kind, fields.remove("object").unwrap_or_default())),
        _ => Err(Failure::Malformed { detail: "a line of the stream is not an event".to_owned() }),
    }
}

fn ended_by(object: &Value) -> Ended {
    let status = object::write(object).map(|bytes| Status::read(500, &bytes));
    match status {
        Ok(status) => Failure::Refused { status: Box::new(status), retry_after: None }.into(),
        Err(error) => Ended::Failed(Failure::Malformed { detail: error.to_string() }),
    }
}

/// Keeps the streams open for as long as it lives.
pub(super) struct Driving<'w>(&'w Watches);

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.driven = false;
        // No stream resumes at its last version: the next driver opens all of them again.
        state.streams.values_mut().for_each(|progress| *progress = Progress { begins: true, ..Progress::default() });
        state.wake_listeners();
        let kinds = state.streams.keys().map(|id| state.fresh_of(id.clone()));
        state.fresh = kinds.chain(state.singles()).collect();
    }
}

impl Watches {
    fn drive(&self) -> Driving<'_> {
        self.state().driven = true;
        Driving(self)
    }

    fn take_fresh(&self) -> Vec<Fresh> {
        std::mem::take(&mut self.state().fresh)
    }
}
