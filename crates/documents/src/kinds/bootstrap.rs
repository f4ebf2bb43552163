//! `kind: Bootstrap`.

use setpoint_core::name::Scope;
use setpoint_yaml::{Class, Node};

use super::identity_provider::IdentityProvider;
use super::store::StoreCredentials;
use crate::declaration::{object, string_enum};
use crate::duration::{DAY, Duration};
use crate::reader::Reader;
use crate::text::{
    AbsolutePath, Address, Branch, IpAddress, Label, ProgramDigest, RelativePath, RepositoryLocation, Url,
};

object! {
    /// The agent's start configuration, the only document that is not read from a store. It names
    /// the store of all other documents.
    pub struct BootstrapSpec {
        /// The store of the control documents.
        "store" store: BootstrapStore,
        /// The directory of the control documents. Every `*.yaml` file in it and below is read.
        "path" path: RelativePath,
        /// A second copy of the newest checkpoint of the ledger, outside of the data directory.
        "anchor" anchor: Option<Anchor> = None,
        /// The external programs that Apps may select to render their kustomizations. Each runs in
        /// a kernel sandbox. No other external program is run.
        "renderers" renderers: Vec<Renderer> = Vec::new(),
        /// The web pages and the API over HTTP. If omitted, only the socket in the data directory
        /// is served.
        "server" server: Option<Server> = None,
    }
}

object! {
    /// The web pages and the API over HTTP.
    pub struct Server => server_is_consistent {
        /// The address and port to listen on, such as `127.0.0.1:7070`.
        "listen" listen: Address,
        /// The certificate of the server. Required for an address that other machines can reach,
        /// unless a trusted proxy ends TLS.
        "tls" tls: Option<ServerCertificate> = None,
        /// The URL at which people reach the server, if it is not the address: behind a proxy, or
        /// below a path, such as `https://ops.example/setpoint`.
        "url" url: Option<Url> = None,
        /// The IP addresses of proxies that end TLS. Only their `X-Forwarded-For` header is
        /// believed.
        "trustedProxies" trusted_proxies: Vec<IpAddress> = Vec::new(),
        /// The webhooks of Git hosts. Each only causes an earlier poll of the stores that follow
        /// the repository.
        "webhooks" webhooks: Vec<Webhook> = Vec::new(),
        /// The identity providers by which people can sign in, next to local accounts.
        "providers" providers: Vec<IdentityProvider> = Vec::new(),
        /// The callers that may read `/metrics`.
        "metrics" metrics: MetricsAccess = MetricsAccess::Token,
    }
}

object! {
    /// A webhook of a Git host. Its address is `/webhooks/NAME` below the URL of the server.
    pub struct Webhook {
        /// The last part of its address.
        "name" name: Label,
        /// The sender, which determines how requests are signed.
        "from" sender: WebhookSender,
        /// A file with the secret that is also set at the sender: at least 16 characters. For a
        /// change, add the new secret on a second line. The file is read again when it changes.
        "secretFile" secret: AbsolutePath,
        /// The scope of the stores that may be polled. If omitted, all stores, also
        /// that of the control documents.
        "scope" scope: Option<Scope> = None,
    }
}

string_enum! {
    /// A sender of webhooks.
    pub enum WebhookSender {
        /// GitHub, and what signs like it (`X-Hub-Signature-256`).
        "github" GitHub,
        /// GitLab, with its secret token or a signing token.
        "gitlab" GitLab,
        /// Gitea and Forgejo.
        "gitea" Gitea,
        /// Bitbucket, in the cloud or in a data center, with a secret.
        "bitbucket" Bitbucket,
        /// Any program that signs as the Standard Webhooks specification says, and sends
        /// `{"repository": "URL"}`.
        "standard" Standard,
    }
}

string_enum! {
    /// The callers that may read the metrics.
    pub enum MetricsAccess {
        /// Machine tokens and people who may `see` everything.
        "token" Token,
        /// Everyone who can reach the server.
        "open" Open,
    }
}

object! {
    /// The certificate of the server. The files are read again when they change.
    pub struct ServerCertificate {
        /// A PEM file with the certificate and its chain.
        "certificateFile" certificate: AbsolutePath,
        /// A PEM file with the private key.
        "keyFile" key: AbsolutePath,
    }
}

fn server_is_consistent(server: &Server, node: Node<'_>, reader: &mut Reader) -> bool {
    // Each check reports its own problems.
    let checks = [passwords_are_protected, provider_names_differ, providers_know_the_way_back, webhooks_are_distinct];
    checks.into_iter().filter(|check| !check(server, node, reader)).count() == 0
}

fn webhooks_are_distinct(server: &Server, node: Node<'_>, reader: &mut Reader) -> bool {
    let names = server.webhooks.iter().map(|webhook| &webhook.name);
    let Some(twice) = names.clone().enumerate().find(|(n, name)| names.clone().take(*n).any(|other| other == *name))
    else {
        return true;
    };
    let place = node.get("webhooks").unwrap_or(node);
    let message = format!("two webhooks have the name `{}`", twice.1);
    reader.report::<()>(Class::Value, place, message, "give each a name of its own: it is the end of its address");
    false
}

/// Reports a server that other machines reach without encryption: passwords and sessions would be
/// readable on the network.
fn passwords_are_protected(server: &Server, node: Node<'_>, reader: &mut Reader) -> bool {
    let is_local = server.listen.socket().ip().is_loopback();
    if is_local || server.tls.is_some() || !server.trusted_proxies.is_empty() {
        return true;
    }
    let help = "add `tls` with a certificate, or `trustedProxies` with the proxy that ends TLS, or listen on 127.0.0.1";
    reader.report::<()>(Class::Value, node, "other machines can reach this address without encryption", help);
    false
}

/// Reports providers with the same name: rights are granted by name.
fn provider_names_differ(server: &Server, node: Node<'_>, reader: &mut Reader) -> bool {
    let names: Vec<&Label> = server.providers.iter().map(|provider| &provider.name).collect();
    let Some(twice) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) else { return true };
    let message = format!("two providers have the name `{}`", twice.1);
    let place = node.get("providers").unwrap_or(node);
    reader.report::<()>(Class::Value, place, message, "give each its own: rights of groups are granted by this name");
    false
}

/// Reports a server to which a provider could not send people back.
fn providers_know_the_way_back(server: &Server, node: Node<'_>, reader: &mut Reader) -> bool {
    let listens_everywhere = server.listen.socket().ip().is_unspecified();
    if server.providers.is_empty() || server.url.is_some() || !listens_everywhere {
        return true;
    }
    let message = "`providers` send people back to `url`, which is not set, and `listen` names no address";
    let place = node.get("providers").unwrap_or(node);
    reader.report::<()>(Class::Value, place, message, "set `url` to the address of the server in a browser");
    false
}

object! {
    /// The store of the control documents.
    pub struct BootstrapStore {
        /// The URL of the repository, or its absolute path on the agent's machine.
        "url" url: RepositoryLocation,
        /// The branch to follow. Each commit is a version.
        "branch" branch: Branch = Branch::main(),
        /// The credentials for the repository. If omitted, none are sent.
        "credentialsFrom" credentials_from: Option<StoreCredentials> = None,
        /// A file with the accepted SSH host keys, in the format of `ssh-keyscan`.
        "knownHostsFile" known_hosts: Option<AbsolutePath> = None,
        /// A PEM file with CA certificates. They replace those of the system.
        "authoritiesFile" authorities: Option<AbsolutePath> = None,
        /// The interval at which the branch is polled. A webhook only triggers an earlier poll.
        "interval" interval: Duration<1, DAY> = Duration::seconds(30),
    }
}

object! {
    /// The location of the ledger's newest checkpoint outside of the data directory.
    pub struct Anchor {
        /// A file, preferably on another disk than the data directory.
        "file" file: AbsolutePath,
    }
}

object! {
    /// An external program that renders kustomizations. Apps select it by its digest.
    pub struct Renderer {
        /// The path of the program: a statically linked `kustomize`, such as an official release.
        "binary" binary: AbsolutePath,
        /// The SHA-256 digest of the program. If the file at `binary` has another digest, it is not
        /// run.
        "digest" digest: ProgramDigest,
    }
}
