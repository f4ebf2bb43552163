//! The content of webhooks, as far as it names the stores to poll: repository, branch or tag, and
//! commit.

use axum::http::HeaderMap;
use serde::Deserialize;

/// A push to a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The addresses of the repository, as its host knows them.
    pub urls: Vec<String>,
    /// The full name of the changed branch or tag, such as `refs/heads/main`; `None` if the sender
    /// does not report it.
    pub reference: Option<String>,
    /// The new commit, to recognise the same webhook from several senders.
    pub commit: Option<String>,
}

/// The headers in which senders name the event.
const EVENT_HEADERS: [&str; 5] =
    ["x-github-event", "x-gitea-event", "x-forgejo-event", "x-gitlab-event", "x-event-key"];

/// The largest number of references that one webhook is read for. A push of more polls each store of
/// the repository.
const MOST_REFERENCES: usize = 20;

/// Returns the pushes that a webhook reports; none for another event. The error is the problem with
/// its content.
pub(super) fn pushes(headers: &HeaderMap, body: &[u8]) -> Result<Vec<Push>, String> {
    let event = EVENT_HEADERS.iter().find_map(|name| headers.get(*name)).and_then(|event| event.to_str().ok());
    if !event.is_none_or(is_push) {
        return Ok(Vec::new());
    }
    let payload: Payload =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON of a push: {error}"))?;
    let urls = payload.urls();
    if urls.is_empty() {
        return Err("the body names no repository: expected the URL in `repository` or `project`".to_owned());
    }
    let push = |(reference, commit)| Push { urls: urls.clone(), reference, commit };
    Ok(payload.references().into_iter().map(push).collect())
}

fn is_push(event: &str) -> bool {
    matches!(event, "push" | "create" | "Push Hook" | "Tag Push Hook" | "repo:push" | "repo:refs_changed")
}

/// The fields of all senders. All are optional: a payload of unknown form is no error of ours.
#[derive(Deserialize)]
struct Payload {
    repository: Option<Repository>,
    /// GitLab's name for the repository.
    project: Option<Addresses>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    /// Changed references in Bitbucket's cloud.
    push: Option<Changes<CloudChange>>,
    /// Changed references in Bitbucket's data center.
    changes: Option<Vec<ServerChange>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Repository {
    /// A webhook of one's own: the URL alone.
    Url(String),
    Addresses(Box<Addresses>),
}

#[derive(Deserialize)]
struct Addresses {
    clone_url: Option<String>,
    ssh_url: Option<String>,
    git_url: Option<String>,
    html_url: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
    links: Option<Links>,
}

#[derive(Deserialize)]
struct Links {
    html: Option<Link>,
    clone: Option<Vec<Link>>,
}

#[derive(Deserialize)]
struct Link {
    href: Option<String>,
}

#[derive(Deserialize)]
struct Changes<T> {
    changes: Vec<T>,
}

#[derive(Deserialize)]
struct CloudChange {
    new: Option<CloudReference>,
}

#[derive(Deserialize)]
struct CloudReference {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    target: Option<CloudCommit>,
}

#[derive(Deserialize)]
struct CloudCommit {
    hash: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerChange {
    #[serde(rename = "ref")]
    reference: Option<ServerReference>,
    to_hash: Option<String>,
}

#[derive(Deserialize)]
struct ServerReference {
    id: Option<String>,
}

type Reference = (Option<String>, Option<String>);

impl Payload {
    fn urls(&self) -> Vec<String> {
        let repository = self.repository.iter().flat_map(|repository| match repository {
            Repository::Url(url) => vec![url.clone()],
            Repository::Addresses(addresses) => addresses.urls(),
        });
        repository.chain(self.project.iter().flat_map(Addresses::urls)).collect()
    }

    /// Returns the changed references with their new commits; one without a name stands for all.
    fn references(&self) -> Vec<Reference> {
        let cloud = self.push.iter().flat_map(|push| &push.changes).map(CloudChange::reference);
        let server = self.changes.iter().flatten().map(ServerChange::reference);
        let changed: Vec<Reference> = cloud.chain(server).take(MOST_REFERENCES + 1).collect();
        if changed.is_empty() || changed.len() > MOST_REFERENCES {
            return vec![(self.reference.clone(), self.after.clone())];
        }
        changed
    }
}

impl Addresses {
    fn urls(&self) -> Vec<String> {
        let named = [
            &self.clone_url,
            &self.ssh_url,
            &self.git_url,
            &self.html_url,
            &self.git_http_url,
            &self.git_ssh_url,
            &self.web_url,
        ];
        let links = self.links.iter().flat_map(|links| links.html.iter().chain(links.clone.iter().flatten()));
        let links = links.filter_map(|link| link.href.clone());
        named.into_iter().flatten().cloned().chain(links).collect()
    }
}

impl CloudChange {
    /// Returns the new state; all unknown for a reference that was deleted.
    fn reference(&self) -> Reference {
        let Some(new) = &self.new else { return (None, None) };
        let folder = if new.kind.as_deref() == Some("tag") { "tags" } else { "heads" };
        let name = new.name.as_ref().map(|name| format!("refs/{folder}/{name}"));
        (name, new.target.as_ref().and_then(|target| target.hash.clone()))
    }
}

impl ServerChange {
    fn reference(&self) -> Reference {
        (self.reference.as_ref().and_then(|reference| reference.id.clone()), self.to_hash.clone())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn read(event: (&'static str, &'static str), body: &str) -> Result<Vec<Push>, String> {
        let header = (HeaderName::from_static(event.0), HeaderValue::from_static(event.1));
        pushes(&[header].into_iter().collect(), body.as_bytes())
    }

    fn push(urls: &[&str], reference: Option<&str>, commit: Option<&str>) -> Push {
        let urls = urls.iter().map(|url| (*url).to_owned()).collect();
        Push { urls, reference: reference.map(str::to_owned), commit: commit.map(str::to_owned) }
    }

    #[test]
    fn the_payload_of_each_sender_names_repository_reference_and_commit() {
        let main = Some("refs/heads/main");
        let github = r#"{"ref":"refs/heads/main","after":"c1","commits":[{"id":"x"}],"repository":{"id":1,"clone_url":"https://github.example/a/b.git","ssh_url":"git@github.example:a/b.git","url":"https://api.github.example"}}"#;
        let urls = ["https://github.example/a/b.git", "git@github.example:a/b.git"];
        assert_eq!(read(("x-github-event", "push"), github), Ok(vec![push(&urls, main, Some("c1"))]));
        assert_eq!(read(("x-gitea-event", "push"), github), Ok(vec![push(&urls, main, Some("c1"))]));
        let gitlab = r#"{"object_kind":"push","ref":"refs/tags/v1","after":"c2","project":{"git_http_url":"https://gitlab.example/a/b.git","git_ssh_url":"git@gitlab.example:a/b.git","namespace":"a"},"repository":{"name":"b"}}"#;
        let urls = ["https://gitlab.example/a/b.git", "git@gitlab.example:a/b.git"];
        let tag = push(&urls, Some("refs/tags/v1"), Some("c2"));
        assert_eq!(read(("x-gitlab-event", "Tag Push Hook"), gitlab), Ok(vec![tag]));
        let cloud = r#"{"push":{"changes":[{"new":{"type":"branch","name":"main","target":{"hash":"c3"}}},{"new":null}]},"repository":{"links":{"html":{"href":"https://bitbucket.example/a/b"}}}}"#;
        let urls = ["https://bitbucket.example/a/b"];
        let expected = vec![push(&urls, main, Some("c3")), push(&urls, None, None)];
        assert_eq!(read(("x-event-key", "repo:push"), cloud), Ok(expected));
        let center = r#"{"eventKey":"repo:refs_changed","changes":[{"ref":{"id":"refs/heads/main"},"toHash":"c4"}],"repository":{"links":{"clone":[{"href":"ssh://git@bb.example:7999/a/b.git","name":"ssh"}]}}}"#;
        let expected = push(&["ssh://git@bb.example:7999/a/b.git"], main, Some("c4"));
        assert_eq!(read(("x-event-key", "repo:refs_changed"), center), Ok(vec![expected]));
        let own = r#"{"repository":"https://git.example/a/b.git"}"#;
        assert_eq!(read(("webhook-id", "1"), own), Ok(vec![push(&["https://git.example/a/b.git"], None, None)]));
    }

    #[test]
    fn another_event_polls_nothing() {
        assert_eq!(read(("x-github-event", "ping"), "{}"), Ok(Vec::new()));
        assert_eq!(read(("x-github-event", "issues"), "not even JSON"), Ok(Vec::new()));
    }

    #[test]
    fn many_references_poll_all_stores_of_the_repository() {
        let change = r#"{"ref":{"id":"refs/heads/a"},"toHash":"c"}"#;
        let changes = [change; 21].join(",");
        let body = format!(r#"{{"changes":[{changes}],"repository":"/srv/a.git"}}"#);
        assert_eq!(read(("x-event-key", "repo:refs_changed"), &body), Ok(vec![push(&["/srv/a.git"], None, None)]));
    }

    #[test]
    fn bad_content_is_an_error() {
        for body in
            ["", "{", "[]", "null", "{}", r#"{"repository":null}"#, r#"{"repository":{}}"#, r#"{"repository":7}"#]
        {
            assert!(read(("x-github-event", "push"), body).is_err(), "{body}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(read(("x-github-event", "push"), &deep).is_err());
        let deep = format!(r#"{{"repository":{}"#, r#"{"links":"#.repeat(100_000));
        assert!(read(("x-github-event", "push"), &deep).is_err());
        let odd = r#"{"repository":"/a","push":{"changes":[{}]},"changes":[{}],"ref":null}"#;
        let expected = vec![push(&["/a"], None, None), push(&["/a"], None, None)];
        assert_eq!(read(("x-github-event", "push"), odd), Ok(expected), "missing fields are unknown");
    }
}
