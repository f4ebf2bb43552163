//! A real OpenID Connect provider: the npm package oidc-provider, in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::node::Node;

/// A running provider. Its process ends with the value, and when the tests end in any other way.
#[derive(Debug)]
pub struct IdentityProvider {
    process: Child,
    issuer: String,
    /// Node would end at the first line that it cannot write.
    _output: BufReader<ChildStdout>,
    _scratch: TempDir,
}

impl IdentityProvider {
    /// The client ID of its only client, and its secret.
    pub const CLIENT: (&str, &str) = ("setpoint", "a secret: with + and %");

    /// Starts a provider for a client at this address, and for people with these subjects, names and
    /// groups. A person signs in with the subject and any password.
    pub fn start(node: &Node, redirect: &str, people: &[(&str, &str, &[&str])]) -> Self {
        let scratch = tempfile::tempdir().expect("there is room for temporary files");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/identity_provider/provider.mjs");
        let (client, secret) = Self::CLIENT;
        let clients = json!([{ "client_id": client, "client_secret": secret, "redirect_uris": [redirect] }]);
        let person = |(subject, name, groups): &(&str, &str, &[&str])| {
            ((*subject).to_owned(), json!({ "name": name, "groups": groups }))
        };
        let people: serde_json::Map<_, _> = people.iter().map(person).collect();
        let mut command = node.script(&script, scratch.path());
        command.arg(json!({ "clients": clients, "people": people }).to_string());
        // Node warns about its version, and the package about its keys for development.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("node can be started");
        let output = process.stdout.take().expect("it is piped");
        let mut output = BufReader::new(output);
        let mut issuer = String::new();
        output.read_line(&mut issuer).expect("the provider prints its issuer");
        assert!(issuer.starts_with("http://"), "the provider did not start: {issuer}");
        Self { process, issuer: issuer.trim().to_owned(), _output: output, _scratch: scratch }
    }

    /// Returns the issuer: the URL at which the provider listens.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl Drop for IdentityProvider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
