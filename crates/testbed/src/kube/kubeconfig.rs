//! Kubeconfig files, with the address of a cluster and a user, in the forms that clients have to
//! understand.

use std::path::Path;

use data_encoding::BASE64;

use crate::tls::Pair;

/// A user.
#[derive(Debug)]
pub(super) enum Identity<'a> {
    Nobody,
    Token(&'a str),
    Certificate(&'a Pair),
}

/// Writes the CA certificate as a path of a separate file, as tools of administrators do.
pub(super) fn with_files(url: &str, authority: &Path, identity: &Identity<'_>) -> String {
    text(url, &format!("certificate-authority: {}", authority.display()), identity)
}

/// Embeds the CA certificate, as most clusters do.
pub(super) fn self_contained(url: &str, authority: &str, identity: &Identity<'_>) -> String {
    text(url, &format!("certificate-authority-data: {}", BASE64.encode(authority.as_bytes())), identity)
}

fn text(url: &str, trust: &str, identity: &Identity<'_>) -> String {
    let user = match identity {
        Identity::Nobody => "{}".to_owned(),
        Identity::Token(token) => format!("token: {token}"),
        Identity::Certificate(pair) => format!(
            "client-certificate-data: {}\n    client-key-data: {}",
            BASE64.encode(pair.certificate.as_bytes()),
            BASE64.encode(pair.key.as_bytes())
        ),
    };
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: testbed\n  cluster:\n    server: {url}\n    {trust}\n\
         users:\n- name: testbed\n  user:\n    {user}\n\
         contexts:\n- name: testbed\n  context:\n    cluster: testbed\n    user: testbed\ncurrent-context: testbed\n"
    )
}
