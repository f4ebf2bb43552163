//! Strict parsing of declared values: every field must be known and have the right type, and all
//! problems are reported at once.

use std::sync::Arc;

use setpoint_core::fields::Fields;
use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_documents::nearest;

use super::kinds::{self, FieldDoc};
use super::{API_VERSION, COMMAND_CLASS, Content, HostResource, Problem};

/// A parser, with the problems found so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) problems: Vec<Problem>,
}

/// An object with known fields only.
#[derive(Debug)]
pub(super) struct Object<'v> {
    path: String,
    map: &'v Fields,
}

impl<'v> Object<'v> {
    pub(super) fn at(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Returns a field that is set; `null` counts as not set.
    pub(super) fn get(&self, field: &str) -> Option<&'v Value> {
        self.map.get(field).filter(|value| **value != Value::Null)
    }
}

impl Reading {
    /// Reports a problem. Returns `None`, so that a caller can return it directly.
    pub(super) fn report<T>(&mut self, path: String, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.problems.push(Problem { path, message: message.into(), hint: hint.into() });
        None
    }

    pub(super) fn document(&mut self, kind: &str, body: &Value) -> Option<HostResource> {
        let document = self.object(String::new(), body, kinds::DOCUMENT)?;
        for (field, expected) in [("apiVersion", API_VERSION), ("kind", kind)] {
            let found = self.text(&document, field);
            if found.is_some_and(|found| &**found != expected) {
                self.report::<()>(
                    field.to_owned(),
                    "is not that of the object",
                    format!("write `{field}: {expected}`"),
                );
            }
        }
        let name = self.metadata(&document);
        let spec = self.required(&document, "spec")?;
        match kind {
            "File" => self.file(spec).map(HostResource::File),
            "Directory" => self.directory(spec).map(HostResource::Directory),
            "Symlink" => self.symlink(spec).map(HostResource::Symlink),
            "Command" => self.command(name, spec).map(HostResource::Command),
            other => {
                let known = kinds::KINDS.iter().map(|kind| kind.name);
                self.report("kind".to_owned(), format!("a host has no `{other}`"), suggestion(other, known))
            }
        }
    }

    fn metadata(&mut self, document: &Object<'_>) -> Option<Arc<str>> {
        let metadata = self.required(document, "metadata")?;
        let metadata = self.object("metadata".to_owned(), metadata, kinds::METADATA)?;
        let name = self.text(&metadata, "name")?;
        match Key::new(COMMAND_CLASS, "", name) {
            Ok(_) => Some(Arc::clone(name)),
            Err(bad) => self.report(metadata.at("name"), "is not a valid name", bad.problem),
        }
    }

    /// Parses a mapping that may have these fields only.
    pub(super) fn object<'v>(&mut self, path: String, value: &'v Value, fields: &[FieldDoc]) -> Option<Object<'v>> {
        let Value::Map(map) = value else {
            let path = if path.is_empty() { "(whole)".to_owned() } else { path };
            let names: Vec<_> = fields.iter().map(|field| field.name).collect();
            return self.report(path, "is not a mapping", format!("write its fields: {}", names.join(", ")));
        };
        let object = Object { path, map };
        for name in map.keys().filter(|name| fields.iter().all(|field| field.name != &***name)) {
            let hint = match &**name {
                // The one field that people will try and that must not exist: see the doc of
                // Directory.
                "purge" => "only what an app has claimed is ever deleted: `sync.prune` deletes what you stop declaring"
                    .to_owned(),
                "remove" => "removing a Command undoes nothing: declare a Command for the opposite state".to_owned(),
                name => suggestion(name, fields.iter().map(|field| field.name)),
            };
            self.report::<()>(object.at(name), "is not a known field", hint);
        }
        Some(object)
    }

    pub(super) fn required<'v>(&mut self, object: &Object<'v>, field: &str) -> Option<&'v Value> {
        match object.get(field) {
            Some(value) => Some(value),
            None => self.report(object.at(field), "is missing", format!("add `{field}:`")),
        }
    }

    /// Returns a required text.
    pub(super) fn text<'v>(&mut self, object: &Object<'v>, field: &str) -> Option<&'v Arc<str>> {
        let value = self.required(object, field)?;
        self.as_text(object.at(field), value)
    }

    /// Returns a text, or `None` if it is omitted or not a text.
    pub(super) fn optional_text<'v>(&mut self, object: &Object<'v>, field: &str) -> Option<&'v Arc<str>> {
        let value = object.get(field)?;
        self.as_text(object.at(field), value)
    }

    pub(super) fn as_text<'v>(&mut self, path: String, value: &'v Value) -> Option<&'v Arc<str>> {
        match value {
            Value::Str(text) => Some(text),
            Value::Num(_) | Value::Bool(_) => self.report(path, "is not a text", "put it in quotes"),
            _ => self.report(path, "is not a text", "write a text"),
        }
    }

    /// Returns a text, which may be sealed.
    pub(super) fn content(&mut self, path: String, value: &Value) -> Option<Content> {
        match value {
            Value::Secret(reference) => Some(Content::Sealed(reference.clone())),
            value => self.as_text(path, value).map(|text| Content::Text(Arc::clone(text))),
        }
    }

    /// Returns `true` or `false`; `false` if omitted.
    pub(super) fn flag(&mut self, object: &Object<'_>, field: &str) -> bool {
        match object.get(field) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.report::<()>(object.at(field), "is not a boolean", "write `true` or `false`, without quotes");
                false
            }
        }
    }

    pub(super) fn list<'v>(&mut self, object: &Object<'v>, field: &str, value: &'v Value) -> Option<&'v [Value]> {
        match value {
            Value::Seq(items) => Some(items),
            _ => self.report(object.at(field), "is not a list", "write its items below each other, each after `- `"),
        }
    }
}

fn suggestion(name: &str, known: impl Iterator<Item = &'static str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the known ones are {}", known.collect::<Vec<_>>().join(", ")),
    }
}
