//! Matching of audit events with an observed change. An ambiguous result is never called proven.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::live::{Proof, Writer};
use setpoint_core::time::Timestamp;

use super::event::{AuditEvent, ObjectName, Verb, micros, written};
use crate::attribute::Holder;

const SECOND: u64 = 1_000_000;

/// An observation of an object that differs from its desired state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub object: ObjectName,
    pub uid: Option<Arc<str>>,
    /// The time of the observation by our own clock: our earlier requests came before it.
    pub at: Timestamp,
    pub change: Change,
}

/// The kind of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The object is gone. `made` is its creation time in seconds since 1970.
    Gone { made: Option<u64> },
    /// The object has this version. `holder` is the writer that the object names for the
    /// difference, and `applied` the time of our last change according to the object, by the
    /// server's clock.
    Edited { version: Option<u64>, holder: Option<Holder>, applied: Option<Arc<str>> },
}

/// The author of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub writer: Writer,
    /// Set if no later event can change the result.
    pub is_final: bool,
}

/// An event, of ours or of another client.
#[derive(Clone, Copy, Debug)]
pub struct Known<'e> {
    pub event: &'e AuditEvent,
    /// The time when we sent the request; `None` if it was not ours.
    pub sent: Option<Timestamp>,
}

/// Returns the author of an observed change, from the events about the object and about all objects
/// of its kind in its namespace. `complete_from`, in microseconds since 1970: the events include
/// all since then.
pub fn explain(sighting: &Sighting, events: &[Known<'_>], complete_from: u64) -> Option<Explanation> {
    let about = Window::of(sighting, events);
    let mut suspects: Vec<&AuditEvent> =
        events.iter().filter(|known| known.sent.is_none()).map(|known| known.event).collect();
    suspects.retain(|event| about.holds(event) && is_of(sighting, event));
    match &sighting.change {
        Change::Gone { made } => {
            suspects.retain(|event| event.verb.removes() && made.is_none_or(|made| event.answered / SECOND >= made));
            gone(&suspects)
        }
        Change::Edited { version, holder, applied } => {
            suspects.retain(|event| !event.verb.removes() && event.version <= version.or(event.version));
            suspects.retain(|event| match holder {
                Some(holder) => is_holders(event, holder),
                None => *event.subresource != *"status",
            });
            let held = holder.as_ref().and_then(|holder| micros(holder.time.as_deref()?));
            // If the object does not contain the time, as for a scale, the change came after our
            // own last write.
            let applied = applied.as_deref().and_then(micros);
            suspects.retain(|event| held.or(applied).is_none_or(|since| event.answered >= since));
            // The change came after both. The object's times have whole seconds, so our own writes
            // within that second narrow it down.
            let since = held.max(about.after).or(applied);
            // If the events since then are not complete, an unknown client may have written.
            let complete = since.is_some_and(|since| since >= complete_from);
            complete.then(|| edited(&suspects, *version, holder.as_ref())).flatten()
        }
    }
}

/// The time between our last write before the observation and our first one after it.
struct Window {
    after: Option<u64>,
    before: Option<u64>,
}

impl Window {
    fn of(sighting: &Sighting, events: &[Known<'_>]) -> Self {
        let ours = |earlier: bool| {
            let of_ours = events.iter().filter_map(|known| known.sent.map(|sent| (sent, known.event)));
            of_ours.filter(move |(sent, _)| (*sent < sighting.at) == earlier).map(|(_, event)| event)
        };
        Self {
            after: ours(true).map(|event| event.received).max(),
            before: ours(false).map(|event| event.answered).min(),
        }
    }

    /// Reports whether an event may lie in the window. One that ran concurrently with a write of
    /// ours may have come on either side of it.
    fn holds(&self, event: &AuditEvent) -> bool {
        self.after.is_none_or(|after| event.answered > after)
            && self.before.is_none_or(|before| event.received < before)
    }
}

fn is_of(sighting: &Sighting, event: &AuditEvent) -> bool {
    let Sighting { object, uid, .. } = sighting;
    let named = event.object == *object
        || matches!(event.verb, Verb::DeleteCollection { .. }) && event.object == object.collection();
    let same = match (&event.uid, uid) {
        (Some(of), Some(uid)) => of == uid,
        _ => true,
    };
    named && same
}

/// Reports whether a write is the one that the object records for this holder: by its name, through
/// its subresource, in its second.
fn is_holders(event: &AuditEvent, holder: &Holder) -> bool {
    let second = holder.time.as_deref().and_then(micros).map(|time| time / SECOND);
    let timely = second.is_none_or(|second| (event.received / SECOND..=event.answered / SECOND).contains(&second));
    event.manager == holder.manager && event.subresource == holder.subresource && timely
}

/// Returns the identity of a client, as far as events distinguish clients.
fn identity(event: &AuditEvent) -> (&str, Option<&str>, Option<&str>) {
    (&event.user, event.acting_as.as_deref(), event.address.as_deref())
}

fn are_one(suspects: &[&AuditEvent]) -> bool {
    suspects.iter().map(|event| identity(event)).collect::<BTreeSet<_>>().len() == 1
}

fn proven(event: &AuditEvent, alone: bool, how: String) -> Writer {
    Writer::Proven(Box::new(Proof {
        who: event.user.to_string(),
        acting_as: event.acting_as.as_deref().map(str::to_owned),
        address: event.address.as_deref().map(str::to_owned),
        audit_id: alone.then(|| event.id.to_string()),
        how,
    }))
}

fn edited(suspects: &[&AuditEvent], version: Option<u64>, holder: Option<&Holder>) -> Option<Explanation> {
    let last = suspects.iter().max_by_key(|event| (event.version, event.answered))?;
    if !are_one(suspects) {
        return None;
    }
    let exact = version.is_some() && last.version == version;
    let how = holder.map_or_else(|| done(last), Holder::who);
    let writer = proven(last, suspects.len() == 1 || exact, how);
    Some(Explanation { writer, is_final: exact && suspects.len() == 1 })
}

fn gone(suspects: &[&AuditEvent]) -> Option<Explanation> {
    let last = suspects.iter().max_by_key(|event| event.answered)?;
    // The text of a selector does not show which objects it chose.
    let certain = suspects.iter().all(|event| event.verb != Verb::DeleteCollection { chosen: true });
    if certain && are_one(suspects) {
        let writer = proven(last, suspects.len() == 1, done(last));
        return Some(Explanation { writer, is_final: last.uid.is_some() && suspects.len() == 1 });
    }
    let named: BTreeSet<String> = suspects.iter().map(|event| format!("{} ({})", event.user, done(event))).collect();
    let who = named.into_iter().collect::<Vec<_>>().join(" or ");
    Some(Explanation { writer: Writer::Likely { who }, is_final: false })
}

/// Describes an operation and its time: `patch of scale, 2026-11-16T10:00:01Z`.
fn done(event: &AuditEvent) -> String {
    let of = if event.subresource.is_empty() { String::new() } else { format!(" of {}", event.subresource) };
    format!("{}{of}, {}", event.verb, written(event.answered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::event::read_event;
    use crate::audit::own::samples::line;
    use crate::managed::Operation;

    const NOBODY: [(&str, &str); 0] = [];

    fn event(changes: &[(&str, &str)]) -> AuditEvent {
        let quoted: Vec<(String, String)> = changes
            .iter()
            .map(|(pointer, value)| {
                let bare = value.starts_with(['[', '{', '"']) || *value == "null" || value.parse::<u64>().is_ok();
                ((*pointer).to_owned(), if bare { (*value).to_owned() } else { format!("{value:?}") })
            })
            .collect();
        let changes: Vec<(&str, &str)> = quoted.iter().map(|(pointer, value)| (&**pointer, &**value)).collect();
        read_event(line(&changes).as_bytes()).unwrap().unwrap()
    }

    /// Builds an edit without its response.
    fn bare(changes: &[(&str, &str)]) -> AuditEvent {
        let metadata = [("/responseObject", "null")];
        event(&metadata.iter().chain(changes).copied().collect::<Vec<_>>())
    }

    fn at(time: &str) -> Timestamp {
        Timestamp::from_millis(micros(time).unwrap() / 1_000)
    }

    fn sighting(change: Change) -> Sighting {
        let object = event(&NOBODY).object;
        Sighting { object, uid: Some("u-1".into()), at: at("2026-11-16T10:00:03Z"), change }
    }

    fn holder(manager: &str, subresource: &str) -> Holder {
        Holder {
            manager: manager.into(),
            operation: Operation::Update,
            time: Some("2026-11-16T10:00:01Z".into()),
            subresource: subresource.into(),
            as_us: false,
            paths: Vec::new(),
        }
    }

    fn edit(holder: Option<Holder>) -> Sighting {
        sighting(Change::Edited { version: Some(42), holder, applied: Some("2026-11-16T10:00:00Z".into()) })
    }

    fn removal() -> Sighting {
        sighting(Change::Gone { made: Some(micros("2026-11-16T10:00:00Z").unwrap() / SECOND) })
    }

    fn asked(sighting: &Sighting, events: &[AuditEvent]) -> Option<Explanation> {
        let known: Vec<Known<'_>> = events.iter().map(|event| Known { event, sent: None }).collect();
        explain(sighting, &known, 0)
    }

    fn who(explanation: Option<Explanation>) -> String {
        match explanation.map(|explanation| explanation.writer) {
            Some(Writer::Proven(proof)) => format!("{} by {}", proof.who, proof.audit_id.unwrap_or_default()),
            Some(Writer::Likely { who }) => format!("likely {who}"),
            Some(Writer::Unknown) | None => "nobody".to_owned(),
        }
    }

    #[test]
    fn an_edit_is_proven_by_manager_second_and_subresource() {
        let holder = holder("kubectl edit/2", "");
        let explanation = asked(&edit(Some(holder.clone())), &[bare(&NOBODY)]).unwrap();
        let expected = Writer::Proven(Box::new(Proof {
            who: "jane".into(),
            acting_as: None,
            address: Some("10.0.0.7".into()),
            audit_id: Some("one".into()),
            how: holder.who(),
        }));
        assert_eq!((explanation.writer, explanation.is_final), (expected, false));
        for (pointer, value) in [
            ("/requestURI", "/x?fieldManager=other"),
            ("/objectRef/name", "other"),
            ("/objectRef/apiGroup", "extensions"),
            ("/requestReceivedTimestamp", "2026-11-16T10:00:02.000Z"),
        ] {
            let other = bare(&[(pointer, value), ("/stageTimestamp", "2026-11-16T10:00:02.100Z")]);
            assert_eq!(asked(&edit(Some(holder.clone())), &[other]), None, "{pointer}");
        }
    }

    #[test]
    fn an_edit_of_which_the_version_is_known_is_final() {
        let explanation = asked(&edit(Some(holder("kubectl edit/2", ""))), &[event(&NOBODY)]).unwrap();
        assert!(explanation.is_final);
        let later = event(&[("/responseObject/metadata/resourceVersion", r#""43""#)]);
        assert_eq!(asked(&edit(Some(holder("kubectl edit/2", ""))), &[later]), None, "it came after the observation");
        let replaced = event(&[("/responseObject/metadata/uid", r#""u-2""#)]);
        assert_eq!(asked(&edit(Some(holder("kubectl edit/2", ""))), &[replaced]), None, "it was another object");
    }

    #[test]
    fn two_who_may_have_done_it_are_not_told_apart_by_guessing() {
        let edit = edit(Some(holder("kubectl edit/2", "")));
        let bob = bare(&[("/user/username", "bob"), ("/auditID", "two")]);
        assert_eq!(who(asked(&edit, &[bare(&NOBODY), bob])), "nobody");
        let again = bare(&[("/auditID", "two")]);
        assert_eq!(
            who(asked(&edit, &[bare(&NOBODY), again])),
            "jane by ",
            "who it was is sure, by which request is not"
        );
    }

    #[test]
    fn a_scale_is_proven_through_its_subresource() {
        let scaled = bare(&[(
            "/objectRef",
            r#"{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","subresource":"scale"}"#,
        )]);
        assert_eq!(
            who(asked(&edit(Some(holder("kubectl edit/2", "scale"))), std::slice::from_ref(&scaled))),
            "jane by one"
        );
        let timeless = Holder { time: None, ..holder("kubectl edit/2", "scale") };
        assert_eq!(who(asked(&edit(Some(timeless)), std::slice::from_ref(&scaled))), "jane by one");
        assert_eq!(who(asked(&edit(Some(holder("kubectl edit/2", ""))), &[scaled])), "nobody");
    }

    #[test]
    fn what_nobody_holds_is_proven_only_where_everything_since_our_write_is_known() {
        let events = [bare(&NOBODY)];
        assert_eq!(who(asked(&edit(None), &events)), "jane by one");
        let known = [Known { event: &events[0], sent: None }];
        let since = micros("2026-11-16T10:00:00.5Z").unwrap();
        assert_eq!(explain(&edit(None), &known, since), None);
    }

    #[test]
    fn in_the_second_in_which_telling_began_an_edit_is_proven_if_we_wrote_between() {
        let (edited, began) = (bare(&NOBODY), micros("2026-11-16T10:00:01.030Z").unwrap());
        let asked = |received: &str| {
            let ours = bare(&[("/requestReceivedTimestamp", received), ("/stageTimestamp", received)]);
            let known = [Known { event: &edited, sent: None }, Known { event: &ours, sent: Some(at(received)) }];
            who(explain(&edit(Some(holder("kubectl edit/2", ""))), &known, began))
        };
        assert_eq!(asked("2026-11-16T10:00:01.050Z"), "jane by one");
        assert_eq!(
            asked("2026-11-16T10:00:01.010Z"),
            "nobody",
            "another client may have written before our events begin"
        );
    }

    #[test]
    fn our_own_writes_bound_what_can_have_happened_and_are_never_suspected() {
        let (sent, edited) = (at("2026-11-16T10:00:02Z"), bare(&NOBODY));
        let ours = bare(&[
            ("/requestReceivedTimestamp", "2026-11-16T10:00:02.010Z"),
            ("/stageTimestamp", "2026-11-16T10:00:02.020Z"),
        ]);
        let known = [Known { event: &edited, sent: None }, Known { event: &ours, sent: Some(sent) }];
        assert_eq!(explain(&edit(None), &known, 0), None, "we wrote after it and before the sighting");
        let healed = Sighting { at: at("2026-11-16T10:00:01.900Z"), ..edit(None) };
        assert_eq!(who(explain(&healed, &known, 0)), "jane by one", "ours put it right again");
        assert_eq!(explain(&healed, &known[1..], 0), None);
    }

    #[test]
    fn a_deletion_is_proven_by_name_or_by_the_whole_collection() {
        let delete = bare(&[("/verb", "delete")]);
        assert_eq!(who(asked(&removal(), std::slice::from_ref(&delete))), "jane by one");
        assert_eq!(who(asked(&removal(), &[bare(&NOBODY)])), "nobody", "an edit removes nothing");
        let all = |uri: &str| {
            bare(&[
                ("/verb", "deletecollection"),
                ("/requestURI", uri),
                ("/objectRef/name", r#""""#),
                ("/auditID", "all"),
            ])
        };
        assert_eq!(who(asked(&removal(), &[all("/x")])), "jane by all");
        let chosen = who(asked(&removal(), &[all("/x?labelSelector=a")]));
        assert_eq!(chosen, "likely jane (deletecollection, 2026-11-16T10:00:01Z)");
        let bob = bare(&[("/verb", "delete"), ("/user/username", "bob")]);
        assert!(who(asked(&removal(), &[delete, bob])).starts_with("likely bob (delete, "));
    }

    #[test]
    fn a_deletion_before_the_object_was_made_is_of_another_one() {
        let delete = bare(&[("/verb", "delete")]);
        let made = Some(micros("2026-11-16T10:00:02Z").unwrap() / SECOND);
        assert_eq!(asked(&sighting(Change::Gone { made }), &[delete]), None);
    }
}
