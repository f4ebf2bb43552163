//! `kind: Notifier`.

use super::store::Credentials;
use crate::declaration::{object, string_enum};
use crate::text::Url;

object! {
    /// A destination for notifications.
    pub struct NotifierSpec {
        /// The URL to which messages are posted.
        "url" url: Url,
        /// The message format.
        "format" format: NotifierFormat = NotifierFormat::Generic,
        /// The credentials, if the URL alone is not sufficient.
        "credentialsFrom" credentials_from: Option<Credentials> = None,
    }
}

string_enum! {
    /// The message format.
    pub enum NotifierFormat {
        /// JSON with every field of the event.
        "generic" Generic,
        /// The format of Slack's incoming webhooks.
        "slack" Slack,
    }
}
