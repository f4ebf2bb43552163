//! Parses URLs of repositories as kustomize does (its `git.RepoSpec`), for the annotations that
//! record origins. [`crate::files::Files::remote_folder`] decides which directory a URL leads to.

use std::borrow::Cow;

/// A directory of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository<'u> {
    /// The address that git would clone. It may contain a password.
    pub(crate) address: String,
    pub(crate) folder: &'u str,
    /// A branch, a tag or a commit; empty if omitted.
    pub(crate) reference: String,
}

const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", FILE];
const FILE: &str = "file://";
const GITHUB: &str = "github.com";

impl<'u> Repository<'u> {
    /// Parses a URL; `None` if kustomize takes it for a path.
    pub(crate) fn of(url: &'u str) -> Option<Self> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (host, path) = host(address)?;
        let (path, folder) = parts(path, host.starts_with(FILE))?;
        let folder = folder.strip_prefix('/').unwrap_or(folder);
        if path.is_empty() || leaves(folder) {
            return None;
        }
        Some(Self { address: format!("{host}{path}"), folder, reference: reference(query).unwrap_or_default() })
    }
}

/// Splits an address into the part before the path, with the `/` or `:` after it, and the path.
fn host(address: &str) -> Option<(String, &str)> {
    if address.starts_with('/') {
        return None;
    }
    let address = without_start(address, "git::").unwrap_or(address);
    let with_scheme = |scheme: &'static str| without_start(address, scheme).map(|rest| (scheme, rest));
    let (scheme, rest) = SCHEMES.into_iter().find_map(with_scheme).unwrap_or(("", address));
    if scheme == FILE {
        return Some((scheme.to_owned(), rest));
    }
    let (user, rest) = account(rest);
    let is_github = without_start(rest, GITHUB).is_some_and(|rest| rest.starts_with(['/', ':']));
    // The notation of `scp`, with a colon before the path.
    let is_short = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !is_short {
        return None;
    }
    let slash = rest.find('/');
    let colon =
        rest.find(':').filter(|at| is_short && (slash.is_none() || *at > 0 && slash.is_some_and(|slash| *at < slash)));
    let end = colon.or(slash).map_or(rest.len(), |at| at + 1);
    let (host, path) = rest.split_at(end);
    if is_github {
        let is_ssh = scheme == "ssh://" || !user.is_empty();
        let host = if is_ssh { format!("{user}{GITHUB}:") } else { format!("https://{GITHUB}/") };
        return Some((host, path));
    }
    (!host.is_empty()).then(|| (format!("{scheme}{user}{host}"), path))
}

/// Returns `user@` before a host, if the user is a plain name.
fn account(rest: &str) -> (&str, &str) {
    let is_plain = |user: &str| {
        user.starts_with(|first: char| first.is_ascii_alphabetic())
            && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match rest.split_once('@') {
        Some((user, _)) if is_plain(user) => rest.split_at(user.len() + 1),
        _ => ("", rest),
    }
}

/// Splits a path into that of the repository and that of a directory in it.
fn parts(path: &str, is_file: bool) -> Option<(&str, &str)> {
    let split = |end: usize, next: usize| Some((&path[..end], path.get(next..).unwrap_or_default()));
    let up_to_slash = |start: usize| path[start..].find('/').map_or(path.len(), |at| start + at);
    if let Some(at) = path.find("_git/") {
        let end = up_to_slash(at + "_git/".len());
        return split(end, end + 1);
    }
    if let Some(at) = path.find("//") {
        return split(at, at + 2);
    }
    if let Some(at) = path.find(".git") {
        return split(at + ".git".len(), at + ".git".len());
    }
    if is_file {
        return Some((path, ""));
    }
    let name = path.find('/')? + 1;
    let end = up_to_slash(name);
    split(end, end + 1)
}

fn leaves(folder: &str) -> bool {
    let mut depth = 0_usize;
    for part in folder.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Returns the version that a query names; `None` if the query cannot be parsed.
fn reference(query: &str) -> Option<String> {
    let mut named = [None, None];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (unescaped(name)?, unescaped(value)?);
        if pair.contains(';') {
            return None;
        }
        for (kept, wanted) in named.iter_mut().zip(["ref", "version"]) {
            if name == wanted && kept.is_none() {
                *kept = Some(value.clone());
            }
        }
    }
    named.into_iter().flatten().find(|value| !value.is_empty()).map(Cow::into_owned)
}

fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(text.into());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let [high, low, after @ ..] = after else { return None };
                rest = after;
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(*high)? * 16 + digit(*low)?
            }
            plain => *plain,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn without_start<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let (before, rest) = text.split_at_checked(start.len())?;
    before.eq_ignore_ascii_case(start).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those of kustomize's own `NewRepoSpecFromURL`.
    #[test]
    fn urls_are_taken_apart_as_kustomize_does() {
        for (url, address, folder, reference) in [
            ("https://github.com/org/repo//deploy/base?ref=v1", "https://github.com/org/repo", "deploy/base", "v1"),
            ("github.com/org/repo/deploy?version=v2", "https://github.com/org/repo", "deploy", "v2"),
            ("GitHub.com/org/repo", "https://github.com/org/repo", "", ""),
            ("git::https://example.com/org/repo.git/deploy", "https://example.com/org/repo.git", "deploy", ""),
            ("git@github.com:org/repo/deploy?ref=a%2Fb", "git@github.com:org/repo", "deploy", "a/b"),
            ("ssh://git@github.com/org/repo", "git@github.com:org/repo", "", ""),
            ("ssh://git@example.com:22/org/repo//x", "ssh://git@example.com:22/org/repo", "x", ""),
            ("git@example.com:org/repo//x?ref=v1&version=v2", "git@example.com:org/repo", "x", "v1"),
            ("https://me@dev.azure.com/o/p/_git/repo/x/y", "https://me@dev.azure.com/o/p/_git/repo", "x/y", ""),
            ("https://u:p@example.com/org/repo/x", "https://u:p@example.com/org/repo", "x", ""),
            ("file:///srv/repo.git//x", "file:///srv/repo.git", "x", ""),
            ("file:///srv/repo", "file:///srv/repo", "", ""),
            ("me@example.com/org/repo.git/c.yaml", "me@example.com/org/repo.git", "c.yaml", ""),
            ("https://example.com/org/repo?ref=v1;x", "https://example.com/org/repo", "", ""),
            ("https://example.com/org/repo?ref=%zz", "https://example.com/org/repo", "", ""),
        ] {
            let (address, reference) = (address.to_owned(), reference.to_owned());
            assert_eq!(Repository::of(url), Some(Repository { address, folder, reference }), "{url}");
        }
    }

    #[test]
    fn paths_are_no_repositories() {
        for path in
            ["", "a.yaml", "../base", "/srv/repo", "example.com/org/repo", "github.com/org", "https://", "a/b@c:d"]
        {
            assert_eq!(Repository::of(path), None, "{path}");
        }
        assert_eq!(Repository::of("https://example.com/org/repo//../x"), None, "it leaves the repository");
    }
}
