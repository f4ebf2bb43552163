//! Sign-in at OpenID Connect providers: the authorization code flow with PKCE, state and nonce, and
//! the checks of ID tokens.
//!
//! The crate has no web server and no clock: every call brings its time, and the caller sends the
//! redirects and the cookie. Its result is a [`Person`]. It does not decide what that person may
//! do. Why not a library for all of this: docs/decisions.md.
//!
//! Reading order: [`settings`](Settings), [`providers`](Providers) (the flow), `attempt` (the state
//! of a sign-in, sealed in a cookie), `provider` (one provider), `discovery` and `fetch` (what it
//! publishes), `id_token` and `keys` (the checks), `person` (claims to an identity), `errors`.

#![forbid(unsafe_code)]

mod attempt;
mod discovery;
mod errors;
mod fetch;
mod id_token;
mod keys;
mod person;
mod provider;
mod providers;
mod randomness;
mod settings;

pub use attempt::VALIDITY;
pub use errors::{InvalidToken, Remedy, SignInError};
pub use person::Person;
pub use providers::{Callback, Failure, Providers, SignedIn, Start};
pub use randomness::NoRandomness;
pub use settings::Settings;
