//! Text types that are validated when they are read, so that later code need not validate again.

use std::net::{IpAddr, SocketAddr};

use setpoint_core::name::{AppName, BadName, Scope, StoreName, TargetName};
use setpoint_yaml::{Class, Node, visible_text};

use crate::declaration::{Field, Shape};
use crate::reader::Reader;

/// The error for an invalid text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}: {problem}")]
pub struct InvalidText {
    /// The text, escaped so that control and direction characters are visible.
    pub text: String,
    /// The expected type of text, with an article.
    pub expected: &'static str,
    /// The violated rule or the expected form.
    pub problem: &'static str,
}

/// Declares a validated text type. The check returns the problem with an invalid text.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $word:literal, $expected:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Validates a text.
            pub fn new(text: &str) -> Result<Self, InvalidText> {
                let check: fn(&str) -> Option<&'static str> = $check;
                match check(text) {
                    None => Ok(Self(text.to_owned())),
                    Some(problem) => Err(InvalidText { text: ascii_text(text), expected: $expected, problem }),
                }
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Field for $name {
            fn shape() -> Shape {
                Shape::Scalar($word.to_owned())
            }

            fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
                let text = reader.text(node)?;
                match Self::new(text) {
                    Ok(checked) => Some(checked),
                    Err(bad) => reader.report(Class::Value, node, format!("`{}` is not {}", bad.text, bad.expected), bad.problem),
                }
            }

            fn show(&self) -> String {
                self.0.clone()
            }
        }
    };
}

checked_text!(
    /// A short name, such as that of a component, an environment or an input.
    Label, "name", "a name", |text| AppName::new(text).err().map(|bad| bad.problem)
);
checked_text!(
    /// A path inside a store or target, relative to its root and without `..`.
    RelativePath, "path", "a relative path", relative_path
);
checked_text!(
    /// An absolute path of a file on the agent's machine, or of a directory on a host.
    AbsolutePath, "absolute path", "an absolute path", absolute_path
);
checked_text!(
    /// A URL in printable ASCII that no tool can mistake for an option. The code that connects
    /// decides which schemes are allowed.
    Url, "URL", "a URL", url
);
checked_text!(
    /// An address and a port of the agent's machine: `127.0.0.1:9443`, `[::]:9443`.
    Address, "address and port", "an address with a port", |text| {
        let fits = text.parse::<SocketAddr>().is_ok_and(|address| address.port() > 0);
        (!fits).then_some("write it as `10.0.0.7:9443`, or `0.0.0.0:9443` for all addresses of the machine")
    }
);
checked_text!(
    /// An IP address, such as `10.0.0.7` or `fd00::7`.
    IpAddress, "IP address", "an IP address", |text| {
        text.parse::<IpAddr>().is_err().then_some("write it as `10.0.0.7` or `fd00::7`, without a port")
    }
);
checked_text!(
    /// The location of a repository: a URL, or an absolute path on the agent's machine.
    RepositoryLocation, "URL or absolute path", "a URL or an absolute path", |text| {
        if text.starts_with('/') { absolute_path(text) } else { url(text) }
    }
);
checked_text!(
    /// The name of a branch.
    Branch, "branch", "the name of a branch", |text| {
        (!is_reference(text)).then_some("use the name as `git branch` shows it, without `refs/heads/`")
    }
);
checked_text!(
    /// The name of a tag.
    Tag, "tag", "the name of a tag", |text| {
        (!is_reference(text)).then_some("use the name as `git tag` shows it, without `refs/tags/`")
    }
);
checked_text!(
    /// The full ID of a commit.
    Commit, "commit", "the ID of a commit", |text| {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let fits = text.len() == 40 && text.bytes().all(is_digit);
        (!fits).then_some("write the full ID of 40 digits, as `git log --format=%H` prints it")
    }
);
checked_text!(
    /// The SHA-256 digest of a program.
    ProgramDigest, "digest", "the digest of a program", |text| {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let fits = text.strip_prefix("sha256:").is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_digit));
        (!fits).then_some("write `sha256:` and the 64 digits that `sha256sum` prints, in lower case")
    }
);
checked_text!(
    /// The name of an IANA time zone, such as `Europe/Berlin`.
    Zone, "time zone", "a time zone", zone
);
checked_text!(
    /// A path to a field of a resource: `spec.replicas`, `metadata.annotations[example.com/x]`.
    FieldPath, "field path", "a field path", |text| printable(text).or_else(|| {
        (text.starts_with('.') || text.ends_with('.') || text.contains("..")).then_some("write it as `spec.replicas`")
    })
);
checked_text!(
    /// A Kubernetes kind: `Kind` for the core group, `group/Kind` for other groups.
    GroupKind, "kind", "a kind", |text| printable(text).or_else(|| {
        let kind = text.split_once('/').map_or(text, |(_, kind)| kind);
        let plain = kind.starts_with(|first: char| first.is_ascii_alphabetic()) && !kind.contains('/');
        (!plain).then_some("write `Kind` for the core group or `group/Kind` for others, without a version")
    })
);
checked_text!(
    /// The name of a namespace, in which `*` matches any characters.
    NamePattern, "name or pattern", "a namespace name or pattern", |text| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'*';
        let fits = !text.is_empty() && text.len() <= 63 && text.bytes().all(plain);
        (!fits).then_some("use 1 to 63 lower-case letters, digits, `-` and `*`")
    }
);
checked_text!(
    /// A Kubernetes user or group that the agent may impersonate. Names that begin with `system:`
    /// (`system:masters`, nodes, components) are excluded, except service accounts.
    Principal, "user or group", "a user or group that can be impersonated", |text| printable(text).or_else(|| {
        let is_reserved = text.starts_with("system:") && !is_service_account(text);
        is_reserved.then_some("names that begin with `system:` are reserved, except `system:serviceaccount:NAMESPACE:NAME`")
    })
);
checked_text!(
    /// A CEL expression. It is compiled, and its syntax checked, by the code that evaluates it.
    Expression, "CEL expression", "a CEL expression", |text| {
        (text.trim().is_empty() || text.len() > 4096).then_some("write 1 to 4096 bytes of CEL")
    }
);
checked_text!(
    /// Printable text on one line.
    Line, "text", "a line of text", |text| {
        let plain = !text.is_empty() && text.len() <= 1024 && visible_text(text) == text && !text.contains('\t');
        (!plain).then_some("use 1 to 1024 printable characters on one line")
    }
);

impl Branch {
    /// Returns the default branch.
    pub(crate) fn main() -> Self {
        Self("main".to_owned())
    }
}

impl Line {
    /// Returns the usual name of the claim with the groups of a person.
    pub(crate) fn groups() -> Self {
        Self("groups".to_owned())
    }
}

impl Principal {
    /// Reports whether this is a service account of the cluster.
    pub fn is_service_account(&self) -> bool {
        is_service_account(&self.0)
    }
}

fn is_service_account(text: &str) -> bool {
    let parts = text.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let plain = |part: &str| AppName::new(part).is_ok();
    parts.is_some_and(|(namespace, name)| plain(namespace) && plain(name))
}

impl IpAddress {
    /// Returns the parsed address.
    pub fn address(&self) -> IpAddr {
        self.0.parse().expect("checked when it was read")
    }
}

impl Address {
    /// Returns the parsed address.
    pub fn socket(&self) -> SocketAddr {
        self.0.parse().expect("the address was validated when it was read")
    }
}

/// Escapes everything but printable ASCII, so that look-alike letters in a name are visible.
pub(crate) fn ascii_text(text: &str) -> String {
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() };
    visible_text(text).chars().take(80).map(escape).collect()
}

fn printable(text: &str) -> Option<&'static str> {
    let plain = !text.is_empty() && text.len() <= 1024 && text.bytes().all(|b| b.is_ascii_graphic());
    (!plain).then_some("use 1 to 1024 printable ASCII characters without spaces")
}

fn path_characters(text: &str) -> Option<&'static str> {
    let plain = !text.is_empty() && text.len() <= 1024 && visible_text(text) == text && !text.contains(['\\', '\t']);
    if !plain {
        return Some("use 1 to 1024 printable characters and `/`");
    }
    text.split('/').any(|part| part == "..").then_some("remove `..` from the path")
}

fn relative_path(text: &str) -> Option<&'static str> {
    path_characters(text).or_else(|| text.starts_with('/').then_some("remove the leading `/`"))
}

fn absolute_path(text: &str) -> Option<&'static str> {
    path_characters(text).or_else(|| (!text.starts_with('/')).then_some("begin the path with `/`"))
}

fn url(text: &str) -> Option<&'static str> {
    printable(text)
        .or_else(|| {
            let (scheme, rest) = text.split_once("://")?;
            let plain = !scheme.is_empty()
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+')
                && !rest.is_empty();
            (!plain || rest.starts_with('-')).then_some("write it as `https://host/path`")
        })
        .or_else(|| (!text.contains("://")).then_some("write it as `https://host/path`"))
}

/// Reports whether a name below `refs/heads/` or `refs/tags/` follows `git check-ref-format`.
fn is_reference(name: &str) -> bool {
    let plain = name.len() <= 255 && name.bytes().all(|b| b.is_ascii_graphic() && !b"~^:?*[\\".contains(&b));
    let is_special = name.starts_with('-') || name.starts_with("refs/") || name == "@";
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock");
    plain && !is_special && !name.contains("..") && !name.contains("@{") && name.split('/').all(is_part)
}

fn zone(text: &str) -> Option<&'static str> {
    let plain =
        !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
    (!plain || text.starts_with('/')).then_some("write it as `Europe/Berlin` or `UTC`")
}

/// Implements [`Field`] for a name type of `setpoint-core`.
macro_rules! name_field {
    ($name:ty, $word:literal) => {
        impl Field for $name {
            fn shape() -> Shape {
                Shape::Scalar($word.to_owned())
            }

            fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
                let text = reader.text(node)?;
                match Self::new(text) {
                    Ok(name) => Some(name),
                    Err(BadName { what, text, problem }) => {
                        reader.report(Class::Value, node, format!("`{text}` is not a valid {what}"), problem)
                    }
                }
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}

name_field!(AppName, "app name");
name_field!(StoreName, "store name");
name_field!(TargetName, "target name");
name_field!(Scope, "scope name");
