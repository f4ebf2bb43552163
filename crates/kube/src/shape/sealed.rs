//! Values of a Secret: they leave this crate only as keyed digests, and are shown in the field that
//! declares them.

use std::sync::Arc;

use data_encoding::BASE64;
use setpoint_core::digest::DigestKey;
use setpoint_core::secret::SecretRef;
use setpoint_core::value::Value;

use crate::key::group_of;
use crate::object;
use crate::path::{Element, FieldPath, at};

/// Returns the object; if it is a Secret, its values are replaced by keyed digests.
pub(crate) fn sealed_data(object: &Value, key: &DigestKey) -> Value {
    let sealing = Sealing::new(object, key);
    let mut shown = object.clone();
    if let (true, Value::Map(fields)) = (sealing.is_secret, &mut shown) {
        for map in ["data", "stringData"] {
            if let Some(values) = fields.get_mut(map) {
                *values = sealing.shown(&FieldPath::fields(&[map]), values);
            }
        }
    }
    shown
}

pub(super) struct Sealing<'d> {
    declared: &'d Value,
    key: &'d DigestKey,
    is_secret: bool,
}

impl<'d> Sealing<'d> {
    pub(super) fn new(declared: &'d Value, key: &'d DigestKey) -> Self {
        let group = object::api_version(declared).map_or("", group_of);
        let is_secret = group.is_empty() && object::kind(declared) == Some("Secret");
        Self { declared, key, is_secret }
    }

    pub(super) fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Returns the declaration's path for a path of the server: `stringData` is how people write
    /// `data`.
    pub(super) fn place(&self, path: &FieldPath) -> FieldPath {
        match path.0.as_slice() {
            [Element::Field(data), Element::Field(name)] if self.is_secret && &**data == "data" => {
                let as_text = object::at(self.declared, &["stringData", name]).is_some();
                if as_text { FieldPath::fields(&["stringData", name]) } else { path.clone() }
            }
            _ => path.clone(),
        }
    }

    /// Reports whether the declaration of a Secret is literally equal to the live value. A digest
    /// would not show that.
    pub(super) fn is_declared(&self, place: &FieldPath, live: &Value) -> bool {
        let [Element::Field(map), Element::Field(_)] = place.0.as_slice() else { return false };
        match (&**map, at(self.declared, place), live) {
            _ if !self.is_secret => false,
            ("data", Some(declared), live) => declared == live,
            ("stringData", Some(Value::Str(text)), Value::Str(live)) => BASE64.encode(text.as_bytes()) == **live,
            _ => false,
        }
    }

    /// Returns a live value in the form that may be shown at this path.
    pub(super) fn shown(&self, place: &FieldPath, live: &Value) -> Value {
        let Some(Element::Field(first)) = place.0.first() else { return live.clone() };
        if !self.is_secret || !matches!(&**first, "data" | "stringData") {
            return live.clone();
        }
        match (place.0.get(1), live) {
            (Some(Element::Field(name)), _) => self.sealed(name, live),
            (_, Value::Map(values)) => {
                Value::Map(values.iter().map(|(name, value)| (Arc::clone(name), self.sealed(name, value))).collect())
            }
            _ => self.sealed(first, live),
        }
    }

    /// Returns the digest of the bytes, not of their base64 form: the declaration may have either.
    fn sealed(&self, name: &Arc<str>, live: &Value) -> Value {
        let bytes = match live {
            Value::Str(text) => BASE64.decode(text.as_bytes()).unwrap_or_else(|_| text.as_bytes().to_vec()),
            other => setpoint_core::canonical::to_bytes(other),
        };
        let declared = ["stringData", "data"].into_iter().find_map(|map| object::at(self.declared, &[map, name]));
        let name = match declared {
            Some(Value::Secret(reference)) => Arc::clone(&reference.name),
            _ => Arc::clone(name),
        };
        Value::Secret(SecretRef { name, digest: self.key.digest(&bytes) })
    }
}
