//! Requests, with their parsed paths and queries.

use std::collections::BTreeMap;

use crate::schema::{KINDS, Kind};
use crate::server::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// One request, as it arrives over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    accept: String,
    /// The content type of the body, and the body's bytes.
    pub content: Option<(String, Vec<u8>)>,
    path: String,
    query: BTreeMap<String, String>,
    route: Option<Route>,
}

/// The resource that a path names.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) kind: usize,
    pub(crate) namespace: String,
    /// The name of the object, or `None` for the whole list.
    pub(crate) name: Option<String>,
    pub(crate) status: bool,
}

impl Request {
    /// Parses a request from a path with its query.
    pub fn new(method: Method, path: &str, accept: &str, content: Option<(String, Vec<u8>)>) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let pairs = query.split('&').filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (plain(name), plain(value))
        });
        let (query, route) = (pairs.collect(), route(path));
        Self { method, accept: accept.to_owned(), content, path: path.to_owned(), query, route }
    }

    /// Returns the path without its query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the route of the path, if it names an object or a list of objects.
    pub(crate) fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    pub(crate) fn wants_metadata(&self) -> bool {
        self.accept.contains("as=PartialObjectMetadata")
    }

    /// Returns the place of the object that the request is about.
    pub fn place(&self) -> Option<Place> {
        place_of(self.route()?)
    }

    /// Reports whether the request may change something.
    pub fn is_change(&self) -> bool {
        self.method != Method::Get && !self.says("dryRun", "All")
    }

    /// Reports whether the query sets a parameter to this value.
    pub fn says(&self, name: &str, value: &str) -> bool {
        self.said(name) == Some(value)
    }

    /// Returns the value of a query parameter.
    pub(crate) fn said(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Returns the number of seconds within which the request must have its effect, if the query
    /// sets it.
    pub fn timeout(&self) -> Option<u64> {
        self.said("timeout").and_then(|text| text.strip_suffix('s')?.parse().ok())
    }
}

pub(crate) fn place_of(route: &Route) -> Option<Place> {
    Some(Place { kind: route.kind, namespace: route.namespace.clone(), name: route.name.clone()? })
}

fn route(path: &str) -> Option<Route> {
    let parts: Vec<String> = path.trim_start_matches('/').split('/').map(plain).collect();
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match words.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let served = |plural: &str| {
        let is = |kind: &Kind| kind.group == group && kind.version == version && kind.plural == plural;
        KINDS.iter().position(is)
    };
    let (namespace, plural, rest) = match rest {
        ["namespaces", namespace, plural, rest @ ..] if *plural != "status" => (*namespace, *plural, rest),
        [plural, rest @ ..] => ("", *plural, rest),
        [] => return None,
    };
    let kind = served(plural)?;
    let (name, status) = match rest {
        [] => (None, false),
        [name] => (Some((*name).to_owned()), false),
        [name, "status"] => (Some((*name).to_owned()), true),
        _ => return None,
    };
    Some(Route { kind, namespace: namespace.to_owned(), name, status })
}

/// Decodes the percent escapes of a part of a path or query.
fn plain(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, after) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push(hex(*high).unwrap_or(0) << 4 | hex(*low).unwrap_or(0));
                rest = after;
            }
            (byte, after) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
