//! Converts an observed file into the shape of its declaration. Without a difference, the result is
//! the declared value itself. With one, it is the declaration with the actual values filled in, so
//! that the difference names its field.

use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::fields::Fields;
use setpoint_core::live::{Health, Live};
use setpoint_core::secret::SecretRef;
use setpoint_core::value::Value;

use crate::accounts::{Accounts, Kind};
use crate::declaration::{API_VERSION, Account, Content, HostResource};
use crate::host::Known;
use crate::path::HostPath;
use crate::stamp::{Stamp, Type};

use super::found::{Found, Held};

#[derive(Debug)]
pub(crate) struct Showing<'h> {
    accounts: &'h Accounts,
}

impl<'h> Showing<'h> {
    pub(crate) fn new(accounts: &'h Accounts) -> Self {
        Self { accounts }
    }

    pub(crate) fn live(&self, path: &HostPath, found: &Found, known: Option<&Known>) -> Live {
        let (value, fingerprint) = match known.map(|known| (known, self.beside(known, found))) {
            Some((known, None)) => (Arc::clone(&known.value), known.fingerprint),
            Some((_, Some(value))) => fingerprinted(value),
            None => fingerprinted(self.alone(path, found)),
        };
        let stamp = &found.stamp;
        // A file does not record its writer: its owner need not be the writer. An audit trail of the
        // kernel could prove it.
        Live { health: Health::Healthy, ..Live::with_fingerprint(stamp.of.uid(), found.version(), value, fingerprint) }
    }

    /// Returns the declaration with the actual values filled in; `None` if they are all equal.
    fn beside(&self, known: &Known, found: &Found) -> Option<Value> {
        let stamp = &found.stamp;
        let mut different = Fields::new();
        match (&known.declared, stamp.of) {
            (HostResource::File(file), Type::File) => {
                let shown = || self.content(file.sensitive, &file.content, file.path.as_str(), &found.held, stamp);
                if let Some(content) = shown() {
                    different.insert(content_field(&file.content).into(), content);
                }
                self.permissions(&mut different, stamp, file.mode, file.owner.as_ref(), file.group.as_ref());
            }
            (HostResource::Directory(folder), Type::Directory) => {
                self.permissions(&mut different, stamp, folder.mode, folder.owner.as_ref(), folder.group.as_ref());
            }
            (HostResource::Symlink(link), Type::Symlink) => match &found.held {
                Held::Link { target } if *target == link.target.as_bytes() => {}
                held => {
                    different.insert("target".into(), target_text(held));
                }
            },
            _ => return Some(other_type(known, found)),
        }
        (!different.is_empty()).then(|| with_fields(&known.value, different))
    }

    fn permissions(
        &self,
        into: &mut Fields,
        stamp: &Stamp,
        mode: u32,
        owner: Option<&Account>,
        group: Option<&Account>,
    ) {
        if stamp.mode != mode {
            into.insert("mode".into(), mode_text(stamp.mode));
        }
        for (field, of, declared, found) in
            [("owner", Kind::User, owner, stamp.owner), ("group", Kind::Group, group, stamp.group)]
        {
            let Some(declared) = declared else { continue };
            let shown = self.accounts.shown(of, declared, found);
            if shown != account_text(declared) {
                into.insert(field.into(), Value::str(&shown));
            }
        }
    }

    /// Returns the actual content of a file; `None` if it is the declared one.
    fn content(&self, sensitive: bool, declared: &Content, path: &str, held: &Held, stamp: &Stamp) -> Option<Value> {
        let name = match declared {
            Content::Sealed(reference) => Arc::clone(&reference.name),
            _ => path.into(),
        };
        match held {
            Held::Declared => None,
            Held::Bytes { digest, .. } if sensitive => Some(Value::Secret(SecretRef { name, digest: *digest })),
            Held::Bytes { text: Some(text), .. } if matches!(declared, Content::Text(_)) => {
                Some(Value::Str(Arc::clone(text)))
            }
            Held::Bytes { digest, .. } => Some(summary(&digest.to_string(), stamp.size)),
            Held::Large | Held::Link { .. } | Held::Nothing => Some(summary("not looked at", stamp.size)),
        }
    }

    /// Returns the value of an owned object that is no longer declared. Its content is not shown,
    /// because it may have been sensitive.
    fn alone(&self, path: &HostPath, found: &Found) -> Value {
        let stamp = &found.stamp;
        let mut spec = Fields::from([("path".into(), Value::str(path.as_str()))]);
        match &found.held {
            Held::Bytes { digest, .. } => {
                let name = path.as_str().into();
                spec.insert("content".into(), Value::Secret(SecretRef { name, digest: *digest }));
            }
            Held::Link { .. } => {
                spec.insert("target".into(), target_text(&found.held));
            }
            Held::Large | Held::Declared => {
                spec.insert("content".into(), summary("not looked at", stamp.size));
            }
            Held::Nothing => {}
        }
        if stamp.of != Type::Symlink {
            spec.insert("mode".into(), mode_text(stamp.mode));
            spec.insert("owner".into(), Value::str(&stamp.owner.to_string()));
            spec.insert("group".into(), Value::str(&stamp.group.to_string()));
        }
        document(stamp.of, Value::map([("name", Value::str(path.as_str()))]), Value::Map(spec))
    }
}

fn fingerprinted(value: Value) -> (Arc<Value>, Digest) {
    let fingerprint = Live::fingerprint_of(&value);
    (Arc::new(value), fingerprint)
}

/// Returns the value of an object whose type is not the declared one.
fn other_type(known: &Known, found: &Found) -> Value {
    let metadata = known.value.get("metadata").cloned().unwrap_or_default();
    let path = known.value.get("spec").and_then(|spec| spec.get("path")).cloned().unwrap_or_default();
    let mut spec = Fields::from([("path".into(), path)]);
    if let Held::Link { .. } = &found.held {
        spec.insert("target".into(), target_text(&found.held));
    }
    document(found.stamp.of, metadata, Value::Map(spec))
}

fn document(of: Type, metadata: Value, spec: Value) -> Value {
    let (api_version, kind) = (Value::str(API_VERSION), Value::str(of.kind()));
    Value::map([("apiVersion", api_version), ("kind", kind), ("metadata", metadata), ("spec", spec)])
}

/// Returns the declared value with some fields of its `spec` replaced.
fn with_fields(declared: &Value, different: Fields) -> Value {
    let mut value = declared.clone();
    if let Value::Map(document) = &mut value
        && let Some(Value::Map(spec)) = document.get_mut("spec")
    {
        spec.extend(different);
    }
    value
}

fn content_field(declared: &Content) -> &'static str {
    match declared {
        Content::Bytes(_) => "contentBase64",
        Content::Text(_) | Content::Sealed(_) => "content",
    }
}

/// Returns a placeholder for content that is not shown.
fn summary(digest: &str, size: u64) -> Value {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    Value::map([("digest", Value::str(digest)), ("bytes", Value::int(size))])
}

/// Returns the target of a link. A link may hold any bytes; if they are not text, they are escaped.
fn target_text(held: &Held) -> Value {
    match held {
        Held::Link { target } => match std::str::from_utf8(target) {
            Ok(text) => Value::str(text),
            Err(_) => Value::map([("bytes", Value::str(&target.escape_ascii().to_string()))]),
        },
        _ => Value::Null,
    }
}

fn mode_text(mode: u32) -> Value {
    Value::str(&format!("{mode:04o}"))
}

fn account_text(account: &Account) -> String {
    match account {
        Account::Name(name) => name.to_string(),
        Account::Id(id) => id.to_string(),
    }
}
