//! `kind: Notifier`.

use super::store::Credentials;
use crate::declaration::{object, words};
use crate::text::Url;

object! {
    /// Where people are told.
    pub struct NotifierSpec {
        /// Where messages are posted.
        "url" url: Url,
        /// The form of a message.
        "format" format: NotifierFormat = NotifierFormat::Generic,
        /// Where the credentials are, if the URL alone is not enough.
        "credentialsFrom" credentials_from: Option<Credentials> = None,
    }
}

words! {
    /// The form of a message.
    pub enum NotifierFormat {
        /// JSON with every field of the event.
        "generic" Generic,
        /// What Slack's incoming webhooks take.
        "slack" Slack,
    }
}
