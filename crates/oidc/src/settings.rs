//! The settings of a provider, from the Bootstrap document.

use std::path::PathBuf;
use std::time::Duration;

/// The scopes that are requested if none are set, as far as the provider lists them.
pub(crate) const USUAL_SCOPES: [&str; 4] = ["openid", "profile", "email", "groups"];

/// The settings of a provider. No secret is among them: its file is read when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name in documents, paths and the ledger.
    pub name: String,
    /// The name on the sign-in page.
    pub title: String,
    /// The issuer, exactly as the provider writes it.
    pub issuer: String,
    pub client_id: String,
    /// The file with the client secret. Without one, Setpoint is a public client.
    pub client_secret: Option<PathBuf>,
    /// The scopes to request; `None` for the usual ones that the provider supports.
    pub scopes: Option<Vec<String>>,
    pub groups_claim: String,
    /// The claim with the name to show; `None` for the usual ones.
    pub name_claim: Option<String>,
    /// A PEM file with the trusted CA certificates; `None` for those of the system.
    pub authorities: Option<PathBuf>,
    /// The address to which the provider sends people back.
    pub redirect: String,
    /// The time limit of each request to the provider.
    pub patience: Duration,
}
