//! The identity providers of `kind: Bootstrap`.

use std::net::IpAddr;

use setpoint_yaml::{Class, Node};

use crate::declaration::object;
use crate::reader::Reader;
use crate::text::{AbsolutePath, Label, Line, Url};

object! {
    /// An identity provider: OpenID Connect with the authorization code flow. Register Setpoint
    /// there with the redirect URI `URL/sign-in/NAME/callback`.
    pub struct IdentityProvider => provider_is_usable {
        /// The name by which Access documents and the ledger refer to the provider. It is part of
        /// the redirect URI.
        "name" name: Label,
        /// The name on the sign-in page. If omitted: `name`.
        "title" title: Option<Line> = None,
        /// The issuer, exactly as the provider writes it: the URL below which
        /// `/.well-known/openid-configuration` is found. HTTPS, or this machine.
        "issuer" issuer: Url,
        /// The client ID under which Setpoint is registered.
        "clientId" client_id: Line,
        /// A file that contains only the client secret. It is read at each sign-in. If omitted,
        /// Setpoint is a public client, protected by PKCE alone.
        "clientSecretFile" client_secret: Option<AbsolutePath> = None,
        /// The scopes to request; `openid` is required. If omitted: `openid`, `profile`, `email`
        /// and `groups`, except those that the provider does not list as supported.
        "scopes" scopes: Option<Vec<Line>> = None,
        /// The claim with the groups of a person: a list of texts, or one text.
        "groupsClaim" groups_claim: Line = Line::groups(),
        /// The claim with the name to show for a person. If omitted: `preferred_username`, then
        /// `email` if the provider has verified it, then `sub`. The identity is always `sub`.
        "nameClaim" name_claim: Option<Line> = None,
        /// A PEM file with CA certificates. They replace those of the system.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
    }
}

/// The longest name: it is part of the actors of people.
const LONGEST_NAME: usize = 64;

fn provider_is_usable(provider: &IdentityProvider, node: Node<'_>, reader: &mut Reader) -> bool {
    let mut problems = Vec::new();
    if provider.name.as_str().len() > LONGEST_NAME {
        problems.push(("name", "the name is longer than 64 characters, and part of every identity", "shorten it"));
    }
    if let Some((message, help)) = issuer_problem(provider.issuer.as_str()) {
        problems.push(("issuer", message, help));
    }
    let scopes = provider.scopes.as_deref();
    if scopes.is_some_and(|scopes| scopes.iter().all(|scope| scope.as_str() != "openid")) {
        problems.push((
            "scopes",
            "`scopes` lacks `openid`, without which no provider sends an ID token",
            "add `openid`",
        ));
    }
    let is_scope = |scope: &Line| scope.as_str().bytes().all(|b| b.is_ascii_graphic() && !b"\"\\".contains(&b));
    if !scopes.unwrap_or_default().iter().all(is_scope) {
        let help = "use printable ASCII characters without spaces, quotes and backslashes, one scope for each entry";
        problems.push(("scopes", "one of the scopes is not valid", help));
    }
    for (field, message, help) in &problems {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), *message, *help);
    }
    problems.is_empty()
}

/// Returns the problem with an issuer, and its remedy.
fn issuer_problem(issuer: &str) -> Option<(&'static str, &'static str)> {
    let (scheme, rest) = issuer.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or_default();
    if rest.contains(['?', '#']) || authority.contains('@') {
        return Some((
            "an issuer has no user, query or fragment",
            "copy `issuer` from the provider's discovery document",
        ));
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match scheme {
        "https" => None,
        "http" if is_local => None,
        _ => Some(("the issuer is not reached over HTTPS, so that anyone on the way could sign in", "use `https://`")),
    }
}
