//! Notifies people: delivers the machine's notes to the notifiers of the accepted documents, and
//! logs them.

use std::sync::{Arc, Mutex, PoisonError};

use setpoint_engine::Note;
use setpoint_engine::accept::ControlDocuments;
use setpoint_notify::{Courier, Message, Notifier};
use setpoint_target::Answer;

use super::log::Log;
use super::sources::Provider;
use crate::complaint::told;
use crate::doors::Clock;
use crate::interpreter::Messenger;

/// Delivers notes to people.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) clock: Clock,
    /// The installation that sends them.
    pub(super) installation: String,
    pub(super) provider: Arc<Provider>,
    pub(super) log: Arc<dyn Log>,
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
    fn say(&self, line: &str) {
        self.log.say(line);
    }

    fn deliver<'a>(&'a self, note: &'a Note) -> Answer<'a, bool> {
        Box::pin(async move {
            self.log.say(&format!("{}: {}", note.kind, note.text));
            let courier = match self.courier() {
                Ok(courier) => courier,
                Err(problem) => {
                    self.log.say(&format!("cannot notify anyone: {problem}"));
                    return false;
                }
            };
            match courier.deliver(&self.message(&note.kind.to_string(), &note.subject, &note.text)).await {
                Ok(()) => true,
                Err(problems) => {
                    for problem in problems {
                        self.log.say(&format!("a message was not delivered: {problem}"));
                    }
                    false
                }
            }
        })
    }
}
