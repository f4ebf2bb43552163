//! Audit events as the server writes them. Only events that can explain a change are kept:
//! completed, successful writes.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The maximum length of a text in which a client describes itself.
const LONGEST: usize = 256;
/// The longest manager that a server takes from a user agent.
const LONGEST_MANAGER: usize = 128;

/// An operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Update,
    Patch,
    Delete,
    /// A deletion of all objects of a kind in a namespace, or of those that a selector chooses.
    DeleteCollection {
        chosen: bool,
    },
    /// The eviction of a pod.
    Evict,
}

impl Verb {
    /// Reports whether the operation removes objects.
    pub fn removes(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteCollection { .. } | Self::Evict)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection { .. } => "deletecollection",
            Self::Evict => "evict",
        })
    }
}

/// An object as the server names it in paths; without a name, all objects of a kind in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    pub group: Arc<str>,
    /// The plural of the kind: `deployments`.
    pub resource: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl ObjectName {
    /// Returns the name of all objects of its kind in its namespace.
    pub fn collection(&self) -> Self {
        Self { name: Arc::default(), ..self.clone() }
    }
}

/// A completed, successful write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    pub id: Arc<str>,
    pub verb: Verb,
    /// The user that the server authenticated.
    pub user: Arc<str>,
    /// The impersonated user.
    pub acting_as: Option<Arc<str>>,
    /// The address of the connection. Forwarding headers of proxies are left out: any client can
    /// forge them.
    pub address: Option<Arc<str>>,
    /// The manager under which `metadata.managedFields` records the write.
    pub manager: Arc<str>,
    pub object: ObjectName,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
    pub uid: Option<Arc<str>>,
    /// The resulting version, if the server logs responses.
    pub version: Option<u64>,
    /// The times of request and response by the server's clock, in microseconds since 1970.
    pub received: u64,
    pub answered: u64,
}

/// The error for an event that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an audit event cannot be read: let the API server write audit.k8s.io/v1 as JSON (--audit-log-format=json)")]
pub struct Malformed;

/// The events of a batch, and the number of malformed ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    pub events: Vec<AuditEvent>,
    pub malformed: usize,
}

/// Reads one event. Returns `None` for an event that explains no change, such as a read.
pub fn read_event(bytes: &[u8]) -> Result<Option<AuditEvent>, Malformed> {
    let line = bytes.trim_ascii();
    if line.last() != Some(&b'}') {
        return Err(Malformed);
    }
    let text = std::str::from_utf8(line).map_err(|_| Malformed)?;
    wire_of(text)?.map_or(Ok(None), Wire::understood)
}

/// Reads the fields of an event. Most events are reads, which need not be understood.
fn wire_of(text: &str) -> Result<Option<Wire>, Malformed> {
    if !text.starts_with('{') {
        return Err(Malformed);
    }
    if !WRITES.iter().any(|verb| text.contains(verb)) {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(|_| Malformed)
}

/// Returns the time when an event was written, whatever it is about.
pub fn answered(bytes: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Stamped {
        stage_timestamp: String,
    }
    micros(&serde_json::from_slice::<Stamped>(bytes).ok()?.stage_timestamp)
}

/// Reads the batch that a server posts to a webhook. One unreadable event does not exclude the
/// others.
pub fn read_list(bytes: &[u8]) -> Result<Read, Malformed> {
    let list: List<'_> = serde_json::from_slice(bytes).map_err(|_| Malformed)?;
    if list.kind != "EventList" || !list.api_version.starts_with(GROUP) {
        return Err(Malformed);
    }
    let mut read = Read::default();
    for item in list.items {
        // Within a list the items have no version of their own.
        match wire_of(item.get()).and_then(|wire| wire.map_or(Ok(None), Wire::understood_in_list)) {
            Ok(event) => read.events.extend(event),
            Err(Malformed) => read.malformed += 1,
        }
    }
    Ok(read)
}

const GROUP: &str = "audit.k8s.io/v1";
const WRITES: [&str; 4] = ["\"update\"", "\"patch\"", "\"delete", "\"eviction\""];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    kind: String,
    api_version: String,
    /// The unparsed items: a batch may be large, and little of it is kept.
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

/// The event as it is written. Bodies of requests and responses are skipped while reading, except
/// for a few fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    api_version: String,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: WireUser,
    impersonated_user: Option<WireUser>,
    #[serde(rename = "sourceIPs", default)]
    source_ips: Vec<String>,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<WireObject>,
    response_status: Option<WireStatus>,
    response_object: Option<WireAnswer>,
    request_received_timestamp: String,
    stage_timestamp: String,
}

#[derive(Deserialize)]
struct WireUser {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireObject {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    api_group: String,
    #[serde(default)]
    subresource: String,
}

#[derive(Deserialize)]
struct WireStatus {
    #[serde(default)]
    code: u16,
}

#[derive(Default, Deserialize)]
struct WireAnswer {
    #[serde(default)]
    metadata: WireNamed,
    #[serde(default)]
    details: WireNamed,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNamed {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
}

impl Wire {
    fn understood(self) -> Result<Option<AuditEvent>, Malformed> {
        if self.api_version.starts_with(GROUP) { self.understood_in_list() } else { Err(Malformed) }
    }

    fn understood_in_list(self) -> Result<Option<AuditEvent>, Malformed> {
        let Some(object) = self.object_ref else { return Ok(None) };
        let (path, query) = self.request_uri.split_once('?').unwrap_or((&self.request_uri, ""));
        let chosen = ["labelSelector", "fieldSelector"].iter().any(|name| value_in(query, name).is_some());
        let verb = match (self.verb.as_str(), object.subresource.as_str()) {
            ("update", _) => Verb::Update,
            ("patch", _) => Verb::Patch,
            ("delete", _) => Verb::Delete,
            ("deletecollection", _) => Verb::DeleteCollection { chosen },
            ("create", "eviction") => Verb::Evict,
            _ => return Ok(None),
        };
        let succeeded = self.response_status.is_some_and(|status| (200..300).contains(&status.code));
        let tried = value_in(query, "dryRun").is_some();
        if self.stage != "ResponseComplete" || !succeeded || tried || path.is_empty() {
            return Ok(None);
        }
        let answer = self.response_object.unwrap_or_default();
        let uid = [object.uid, answer.metadata.uid, answer.details.uid].into_iter().find(|uid| !uid.is_empty());
        let manager = value_in(query, "fieldManager").filter(|manager| !manager.is_empty());
        let manager = manager.unwrap_or_else(|| {
            let name = self.user_agent.split('/').next().unwrap_or_default();
            name.chars().take(LONGEST_MANAGER).collect()
        });
        Ok(Some(AuditEvent {
            id: plain(&self.audit_id),
            verb,
            user: plain(&self.user.username),
            acting_as: self.impersonated_user.map(|user| plain(&user.username)),
            address: self.source_ips.last().map(|address| plain(address)),
            manager: manager.into(),
            object: ObjectName {
                group: object.api_group.into(),
                resource: object.resource.into(),
                namespace: object.namespace.into(),
                name: object.name.into(),
            },
            subresource: if verb == Verb::Evict { Arc::default() } else { object.subresource.into() },
            uid: uid.map(Into::into),
            version: answer.metadata.resource_version.parse().ok(),
            received: micros(&self.request_received_timestamp).ok_or(Malformed)?,
            answered: micros(&self.stage_timestamp).ok_or(Malformed)?,
        }))
    }
}

/// Sanitizes a text that a client may have chosen.
fn plain(text: &str) -> Arc<str> {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect::<String>().into()
}

/// Returns the microseconds since 1970 of a time as the server writes it.
pub fn micros(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

/// Formats a time for people.
pub(super) fn written(micros: u64) -> String {
    let time = i64::try_from(micros).ok().and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok());
    time.map_or_else(|| "an unknown time".to_owned(), |time| format!("{time:.0}"))
}

/// Returns the value of a parameter in a query.
fn value_in(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(found, _)| *found == name)?;
    let spaced = value.replace('+', " ");
    let mut bytes = Vec::with_capacity(spaced.len());
    let mut rest = spaced.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::own::samples::line;

    #[test]
    fn an_edit_is_read_with_its_user_address_and_manager() {
        let event = read_event(line(&[]).as_bytes()).unwrap().unwrap();
        assert_eq!((&*event.user, event.address.as_deref(), &*event.id), ("jane", Some("10.0.0.7"), "one"));
        assert_eq!((event.verb, &*event.manager, &*event.subresource), (Verb::Patch, "kubectl edit/2", ""));
        assert_eq!((&*event.object.group, &*event.object.resource), ("apps", "deployments"));
        assert_eq!((&*event.object.namespace, &*event.object.name), ("shop", "web"));
        assert_eq!((event.version, event.uid.as_deref()), (Some(42), Some("u-1")));
        assert_eq!(event.answered - event.received, 4_500);
        assert_eq!(written(event.received), "2026-11-16T10:00:01Z");
    }

    #[test]
    fn only_the_address_the_server_itself_saw_is_believed() {
        let event = read_event(line(&[("/sourceIPs", r#"["203.0.113.1","10.0.0.9"]"#)]).as_bytes());
        assert_eq!(event.unwrap().unwrap().address.as_deref(), Some("10.0.0.9"));
    }

    #[test]
    fn without_a_field_manager_the_user_agent_is_the_manager() {
        let uri = r#""/apis/apps/v1/namespaces/shop/deployments/web""#;
        let event = read_event(line(&[("/requestURI", uri)]).as_bytes()).unwrap().unwrap();
        assert_eq!(&*event.manager, "kubectl");
    }

    #[test]
    fn an_impersonated_user_is_named_beside_the_one_who_acted() {
        let event = read_event(line(&[("/impersonatedUser", r#"{"username":"admin"}"#)]).as_bytes()).unwrap().unwrap();
        assert_eq!((&*event.user, event.acting_as.as_deref()), ("jane", Some("admin")));
    }

    #[test]
    fn what_changed_nothing_is_no_event() {
        let changes: [(&str, &str); 5] = [
            ("/verb", r#""get""#),
            ("/stage", r#""RequestReceived""#),
            ("/responseStatus/code", "409"),
            ("/requestURI", r#""/api/v1/x?dryRun=All""#),
            ("/objectRef", "null"),
        ];
        for change in changes {
            assert_eq!(read_event(line(&[change]).as_bytes()), Ok(None), "{change:?}");
        }
    }

    #[test]
    fn levels_without_bodies_are_read_too() {
        let event = read_event(line(&[("/responseObject", "null"), ("/level", r#""Metadata""#)]).as_bytes());
        let event = event.unwrap().unwrap();
        assert_eq!((event.version, event.uid), (None, None));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_nothing_breaks() {
        let good = line(&[]);
        let broken = [
            "".to_owned(),
            "nonsense".to_owned(),
            good[..good.len() / 2].to_owned(),
            format!("{{{}}}", "[".repeat(10_000)),
            line(&[("/stageTimestamp", r#""soon, after a \"patch\"""#)]),
            line(&[("/apiVersion", r#""audit.k8s.io/v0""#)]),
        ];
        for text in broken.iter().filter(|text| !text.starts_with("{[")) {
            assert_eq!(read_event(text.as_bytes()), Err(Malformed), "{text}");
        }
        assert_eq!(read_event(broken[3].as_bytes()), Ok(None), "it names no write");
    }

    #[test]
    fn a_list_is_read_but_for_what_is_broken_in_it() {
        let list = |items: &str| format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{items}]}}"#);
        let good = line(&[("/apiVersion", r#""""#)]);
        let read = read_list(list(&format!(r#"{good},7,{{"verb":"patch"}},{good}"#)).as_bytes()).unwrap();
        assert_eq!((read.events.len(), read.malformed), (2, 2));
        assert_eq!(read_list(br#"{"kind":"Pod","apiVersion":"v1"}"#), Err(Malformed));
        assert_eq!(read_list(b"{"), Err(Malformed));
    }

    #[test]
    fn a_collection_is_chosen_from_or_taken_whole() {
        let verb = |uri: &str| {
            let uri = format!("{uri:?}");
            let changes =
                [("/verb", r#""deletecollection""#), ("/requestURI", uri.as_str()), ("/objectRef/name", r#""""#)];
            read_event(line(&changes).as_bytes()).unwrap().unwrap().verb
        };
        assert_eq!(verb("/x"), Verb::DeleteCollection { chosen: false });
        assert_eq!(verb("/x?labelSelector=a%3Db"), Verb::DeleteCollection { chosen: true });
    }
}
