//! The providers of a server, and the two halves of a sign-in: the way there and the way back.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use setpoint_core::secret::Secret;
use setpoint_core::time::Timestamp;

use crate::attempt::{Attempt, Ended, Seal};
use crate::errors::SignInError;
use crate::fetch;
use crate::person::Person;
use crate::provider::Provider;
use crate::randomness::NoRandomness;
use crate::settings::Settings;

/// The longest code of a provider that is passed on.
const LONGEST_CODE: usize = 8 * 1024;

/// The providers by which people can sign in.
#[derive(Debug)]
pub struct Providers {
    providers: Vec<Provider>,
    seal: Seal,
    ended: Mutex<Ended>,
}

/// The beginning of a sign-in: the page to go to, and the cookie that the browser must bring back.
pub struct Start {
    /// The page of the provider. It contains the state, so no log may have it.
    pub page: String,
    /// The value of a cookie, valid for [`VALIDITY`](crate::VALIDITY).
    pub cookie: Secret<String>,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Start(…)")
    }
}

/// The parameters with which a provider sends a browser back.
#[derive(Clone, Default)]
pub struct Callback {
    pub state: String,
    pub code: Option<Secret<String>>,
    pub issuer: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback(…)")
    }
}

/// A sign-in that has ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    pub person: Person,
    /// The page to open, as passed to [`Providers::begin`].
    pub next: String,
}

/// A sign-in that has ended otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub error: SignInError,
    /// The page to open after another attempt; empty if the browser began none.
    pub next: String,
}

impl Providers {
    pub fn new(settings: impl IntoIterator<Item = Settings>) -> Result<Self, NoRandomness> {
        let providers = settings.into_iter().map(Provider::new).collect();
        Ok(Self { providers, seal: Seal::new()?, ended: Mutex::default() })
    }

    /// Returns the name and the title of each provider, in the order of the settings.
    pub fn titles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().map(|provider| (provider.settings.name.as_str(), provider.settings.title.as_str()))
    }

    /// Reports whether there is a provider of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.titles().any(|(known, _)| known == name)
    }

    fn provider(&self, name: &str) -> Result<&Provider, SignInError> {
        let found = self.providers.iter().find(|provider| provider.settings.name == name);
        found.ok_or_else(|| SignInError::NoSuchProvider { name: fetch::words(name) })
    }

    /// Begins a sign-in. `next` is the page to open afterwards; it is returned as it is.
    pub async fn begin(&self, name: &str, next: &str, now: Timestamp) -> Result<Start, SignInError> {
        let provider = self.provider(name)?;
        let attempt = Attempt::begin(name, next, now)?;
        Ok(Start { page: provider.page(&attempt, now).await?, cookie: self.seal.close(&attempt)? })
    }

    /// Ends a sign-in: the browser comes back from the provider, with the cookie of its beginning.
    pub async fn finish(
        &self,
        name: &str,
        cookie: Option<&str>,
        callback: &Callback,
        now: Timestamp,
    ) -> Result<SignedIn, Failure> {
        let attempt = cookie.and_then(|cookie| self.seal.open(cookie));
        let attempt = attempt.filter(|attempt| attempt.accepts(name, &callback.state, now));
        let Some(attempt) = attempt else {
            return Err(Failure { error: SignInError::NotBegun, next: String::new() });
        };
        match self.person(name, &attempt, callback, now).await {
            Ok(person) => Ok(SignedIn { person, next: attempt.next }),
            Err(error) => Err(Failure { error, next: attempt.next }),
        }
    }

    async fn person(
        &self,
        name: &str,
        attempt: &Attempt,
        callback: &Callback,
        now: Timestamp,
    ) -> Result<Person, SignInError> {
        let provider = self.provider(name)?;
        // Before anything is sent: two requests at the same time must not both pass.
        if !self.ended.lock().unwrap_or_else(PoisonError::into_inner).record(attempt, now) {
            return Err(SignInError::Repeated);
        }
        if let Some(error) = &callback.error {
            let words = fetch::error_words(error, callback.error_description.as_deref());
            return Err(SignInError::Denied { words });
        }
        let code = callback.code.as_ref().filter(|code| !code.open().is_empty() && code.open().len() <= LONGEST_CODE);
        let code = code.ok_or_else(|| SignInError::Denied { words: "it sent no code".to_owned() })?;
        provider.person(attempt, code, callback.issuer.as_deref(), now).await
    }
}
