//! Notifies people: delivers the machine's notes to the notifiers of the accepted documents, and
//! logs them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_engine::accept::ControlDocuments;
use setpoint_engine::{Note, NoteKind};
use setpoint_notify::{Courier, Message, Notifier};
use setpoint_target::Answer;
use tracing::warn;

use super::sources::Provider;
use crate::complaint::told;
use crate::doors::Clock;
use crate::interpreter::Messenger;
use crate::log::Log;

/// Delivers notes to people.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) clock: Clock,
    /// The installation that sends them.
    pub(super) installation: String,
    pub(super) provider: Arc<Provider>,
    pub(super) log: Log,
    /// The notes that were logged and have not arrived yet.
    pub(super) undelivered: Mutex<BTreeSet<Note>>,
    /// The courier, and the documents it was created for.
    pub(super) courier: Mutex<Option<(Arc<ControlDocuments>, Courier)>>,
}

impl Messages {
    /// Returns the courier of the documents in force. It remembers which notifiers have which
    /// message, so it is reused until the documents change.
    pub(super) fn courier(&self) -> Result<Courier, String> {
        let documents = self.provider.documents();
        let mut kept = self.courier.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, courier)) = &*kept
            && Arc::ptr_eq(of, &documents)
        {
            return Ok(courier.clone());
        }
        let notifier = |((scope, name), document): (&(_, _), &setpoint_engine::accept::ControlDocument<_>)| {
            Notifier::new(&format!("{scope}/{name}"), &document.spec)
        };
        let notifiers = documents.notifiers().iter().map(notifier).collect();
        let courier = Courier::new(notifiers).map_err(|error| told(&error))?;
        *kept = Some((documents, courier.clone()));
        Ok(courier)
    }

    fn undelivered(&self) -> MutexGuard<'_, BTreeSet<Note>> {
        self.undelivered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn message(&self, kind: &str, subject: &str, text: &str) -> Message {
        Message {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            at: self.clock.now(),
            installation: self.installation.clone(),
        }
    }
}

impl Messenger for Messages {
    fn deliver<'a>(&'a self, note: &'a Note) -> Answer<'a, bool> {
        Box::pin(async move {
            // A note that did not arrive is sent again.
            let is_new = self.undelivered().insert(note.clone());
            if is_new {
                self.log.with(|| log(note));
            }
            let courier = match self.courier() {
                Ok(courier) => courier,
                Err(reason) => {
                    self.log.with(|| warn!(reason, "cannot notify anyone"));
                    return false;
                }
            };
            match courier.deliver(&self.message(&note.kind.to_string(), &note.subject, &note.text)).await {
                Ok(()) => {
                    self.undelivered().remove(note);
                    true
                }
                Err(problems) => {
                    for reason in problems {
                        let (kind, subject) = (note.kind.to_string(), &note.subject);
                        self.log.with(|| warn!(kind, subject, %reason, "notification not delivered; it is sent again"));
                    }
                    false
                }
            }
        })
    }
}

/// Logs a note, with its subject in the field of its kind.
fn log(note: &Note) {
    let (kind, subject) = (note.kind.to_string(), &note.subject);
    let subject_of = |kinds: &[NoteKind]| kinds.contains(&note.kind).then_some(subject.as_str());
    let store = subject_of(&[NoteKind::StoreStale]);
    let target = subject_of(&[NoteKind::BreakerOpen]);
    let object = subject_of(&[NoteKind::Fight]);
    let intent = subject_of(&[NoteKind::Unsettled]);
    let is_other = store.or(target).or(object).or(intent).is_none();
    let app = is_other.then_some(subject.as_str());
    warn!(kind, app, store, target, object, intent, "{}", note.text);
}
