//! A request that the proxy received, and its meaning for the API server.

use hyper::body::Bytes;

/// A request that arrived, whether or not it was passed on.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// The part after the question mark.
    pub query: String,
    pub content_type: String,
    /// The format in which the client accepts the response.
    pub accept: String,
    pub body: Bytes,
}

impl Seen {
    pub(super) fn new(method: &str, target: &str, content_type: &str, body: Bytes) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (method, content_type) = (method.to_owned(), content_type.to_owned());
        let accept = String::new();
        Self { method, path: path.to_owned(), query: query.to_owned(), content_type, accept, body }
    }

    /// Returns path and query.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    pub fn is_watch(&self) -> bool {
        self.method == "GET" && self.has("watch=true")
    }

    /// Reports whether the client requests a list as a stream of events.
    pub fn streams_list(&self) -> bool {
        self.is_watch() && self.has("sendInitialEvents=true")
    }

    pub fn is_dry_run(&self) -> bool {
        self.has("dryRun=All")
    }

    /// Reports whether the client accepts only the metadata of objects.
    pub fn wants_metadata_only(&self) -> bool {
        self.accept.split(',').all(|form| form.contains("as=PartialObjectMetadata"))
    }

    fn has(&self, parameter: &str) -> bool {
        self.query.split('&').any(|part| part == parameter)
    }

    /// Returns the verb as the server authorises it, with `apply` for a patch that applies. A dry
    /// run counts as the change that it tries.
    pub fn verb(&self) -> &'static str {
        let named = self.parts().is_some_and(|parts| parts.name.is_some());
        match self.method.as_str() {
            "GET" if self.is_watch() => "watch",
            "GET" if named || self.parts().is_none() => "get",
            "GET" => "list",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" if self.content_type.starts_with("application/apply-patch") => "apply",
            "PATCH" => "patch",
            "DELETE" if named => "delete",
            "DELETE" => "deletecollection",
            _ => "other",
        }
    }

    /// Returns the resource with its group and subresource, as in `deployments.apps/scale`; for
    /// other requests, the path.
    pub fn resource(&self) -> String {
        let Some(parts) = self.parts() else { return self.path.clone() };
        let group = if parts.group.is_empty() { String::new() } else { format!(".{}", parts.group) };
        let subresource = parts.subresource.map_or_else(String::new, |name| format!("/{name}"));
        format!("{}{group}{subresource}", parts.resource)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let mut words = self.path.trim_matches('/').split('/');
        let group = match words.next()? {
            "api" => "",
            "apis" => words.next()?,
            _ => return None,
        };
        words.next()?;
        let mut rest: Vec<&str> = words.collect();
        if rest.first() == Some(&"namespaces") && rest.len() > 2 && !NAMESPACE_PARTS.contains(&rest[2]) {
            rest.drain(..2);
        }
        let resource = *rest.first()?;
        Some(Parts { group, resource, name: rest.get(1).copied(), subresource: rest.get(2).copied() })
    }
}

/// Subresources of namespaces; any other word after a namespace's name is a resource in it.
const NAMESPACE_PARTS: [&str; 2] = ["status", "finalize"];

struct Parts<'a> {
    group: &'a str,
    resource: &'a str,
    name: Option<&'a str>,
    subresource: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(method: &str, target: &str) -> (&'static str, String) {
        let seen = Seen::new(method, target, "application/apply-patch+yaml", Bytes::new());
        (seen.verb(), seen.resource())
    }

    #[test]
    fn a_path_means_what_the_server_authorises() {
        let cases = [
            ("GET", "/api/v1/namespaces/a/configmaps/b", "get", "configmaps"),
            ("GET", "/api/v1/namespaces/a/configmaps", "list", "configmaps"),
            ("GET", "/apis/apps/v1/deployments?watch=true", "watch", "deployments.apps"),
            ("GET", "/api/v1/namespaces", "list", "namespaces"),
            ("GET", "/api/v1/namespaces/a", "get", "namespaces"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update", "namespaces/finalize"),
            ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b/scale", "apply", "deployments.apps/scale"),
            ("DELETE", "/api/v1/namespaces/a/secrets", "deletecollection", "secrets"),
            ("DELETE", "/api/v1/namespaces/a/secrets/b", "delete", "secrets"),
            ("GET", "/apis/apps/v1", "get", "/apis/apps/v1"),
            ("GET", "/readyz", "get", "/readyz"),
        ];
        for (method, target, verb, resource) in cases {
            assert_eq!(means(method, target), (verb, resource.to_owned()), "{method} {target}");
        }
    }

    #[test]
    fn a_streamed_list_is_told_from_a_watch() {
        let of = |query: &str| Seen::new("GET", &format!("/api/v1/pods?{query}"), "", Bytes::new());
        assert!(of("watch=true&sendInitialEvents=true").streams_list());
        assert!(!of("watch=true").streams_list());
        assert!(!of("sendInitialEvents=true").streams_list());
    }

    #[test]
    fn who_would_take_more_than_metadata_does_not_want_metadata_only() {
        let wants = |accept: &str| {
            let seen = Seen::new("GET", "/api/v1/secrets", "", Bytes::new());
            Seen { accept: accept.to_owned(), ..seen }.wants_metadata_only()
        };
        let (one, list) =
            ("application/json;as=PartialObjectMetadata;v=v1", "application/json;as=PartialObjectMetadataList;v=v1");
        assert!(wants(one) && wants(list) && wants(&format!("{one},{list}")));
        assert!(!wants("") && !wants("application/json") && !wants(&format!("{one},application/json")));
    }
}
