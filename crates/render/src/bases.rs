//! Remote bases: URLs in kustomizations that refer to a directory of another repository. They
//! resolve to stores that the app names, at the version that was accepted with the app's own, and
//! to nothing else: nothing is fetched while rendering.

use setpoint_kustomize::folder::without_secrets;

use crate::request::RemoteBase;

/// The target of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Led<'b> {
    pub(crate) base: &'b RemoteBase,
    /// The directory, relative to the root of the store.
    pub(crate) folder: String,
}

/// Finds the store of a URL. The error explains what to declare.
pub(crate) fn find<'b>(bases: &'b [RemoteBase], url: &str) -> Result<Led<'b>, String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let wanted = normal(address);
    let found = bases.iter().filter_map(|base| Some((base, below(&wanted, &normal(&base.url))?)));
    // Where one repository's address is below another's, the longer address wins.
    let Some((base, folder)) = found.max_by_key(|(base, _)| normal(&base.url).len()) else {
        return Err(undeclared(url));
    };
    let reference =
        query.split('&').find_map(|part| part.strip_prefix("ref=").or_else(|| part.strip_prefix("version=")));
    match reference {
        Some(reference) if !base.references.iter().any(|known| known == reference) => Err(format!(
            "`{}` refers to `{reference}`, but the Store `{}` is at {}: change one of them",
            without_secrets(url),
            base.store,
            base.references.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ")
        )),
        _ => Ok(Led { base, folder: within(base, folder, url)?.to_owned() }),
    }
}

/// Returns the path in the store of a directory of the repository.
fn within<'f>(base: &RemoteBase, folder: &'f str, url: &str) -> Result<&'f str, String> {
    let root = base.folder.as_deref().unwrap_or_default().trim_start_matches("./").trim_matches('/');
    if root.is_empty() || root == "." {
        return Ok(folder);
    }
    below(folder, root).ok_or_else(|| {
        format!(
            "`{}` is not below `{root}`, the only directory that the Store `{}` reads: widen its `path`",
            without_secrets(url),
            base.store
        )
    })
}

/// Builds the message for an undeclared repository, with a declaration to copy.
fn undeclared(url: &str) -> String {
    let url = without_secrets(url);
    let repository = repository(url.split_once('?').map_or(url.as_str(), |(address, _)| address));
    format!(
        "`{url}` is remote, and nothing is fetched while rendering: declare the repository as a Store \
         (`{{apiVersion: setpoint.dev/v1, kind: Store, metadata: {{name: upstream}}, spec: {{url: \"{repository}\"}}}}`) and name it in \
         `spec.kustomize.bases` of the App, or copy the files here"
    )
}

/// Guesses the repository of an address: everything up to `.git` or `//`; for a well-known host its
/// first two names.
fn repository(address: &str) -> String {
    let address = address.strip_prefix("git::").unwrap_or(address);
    let address = match address.strip_prefix("github.com/") {
        Some(_) => format!("https://{address}"),
        None => address.to_owned(),
    };
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address[after_scheme..].find("//").map(|at| at + after_scheme);
    let end = end.or_else(|| address.find(".git/").map(|at| at + 4));
    let two_names = || address[after_scheme..].match_indices('/').nth(2).map(|(at, _)| at + after_scheme);
    address[..end.or_else(two_names).unwrap_or(address.len())].to_owned()
}

/// Removes the irrelevant parts of an address: the scheme, the user, and the suffix `.git`.
fn normal(address: &str) -> String {
    let address = address.strip_prefix("git::").unwrap_or(address);
    let (has_scheme, rest) = address.split_once("://").map_or((false, address), |(_, rest)| (true, rest));
    let rest = rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, rest)| rest);
    let (host, path) = match rest.find(if has_scheme { &['/'][..] } else { &['/', ':'][..] }) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, ""),
    };
    let path = path.replacen(".git/", "/", 1);
    let path = path.strip_suffix(".git").unwrap_or(&path);
    format!("{}/{}", host.to_ascii_lowercase(), path.trim_matches('/'))
}

/// Returns the rest of an address below a repository.
fn below<'w>(wanted: &'w str, repository: &str) -> Option<&'w str> {
    let rest = wanted.strip_prefix(repository)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use setpoint_core::name::StoreName;

    use super::*;

    fn bases() -> Vec<RemoteBase> {
        let base = |store: &str, url: &str| RemoteBase {
            store: StoreName::new(store).unwrap(),
            url: url.to_owned(),
            folder: None,
            references: vec!["v1.2".to_owned(), "main".to_owned()],
        };
        vec![base("upstream", "https://github.com/org/repo.git"), base("inner", "ssh://git@git.example.com:2222/a/b")]
    }

    fn led(url: &str) -> Result<(String, String), String> {
        find(&bases(), url).map(|led| (led.base.store.to_string(), led.folder))
    }

    #[test]
    fn every_way_to_write_a_repository_leads_to_its_store() {
        for url in [
            "https://github.com/org/repo//deploy/base?ref=v1.2",
            "https://github.com/org/repo.git//deploy/base?ref=v1.2&timeout=90s",
            "https://github.com/org/repo/deploy/base",
            "github.com/org/repo//deploy/base?version=main",
            "github.com/org/repo/deploy/base/",
            "git@github.com:org/repo.git//deploy/base?ref=main",
            "ssh://git@GitHub.com/org/repo//deploy/base",
            "git::https://github.com/org/repo.git//deploy/base",
            "https://user:token@github.com/org/repo//deploy/base",
        ] {
            assert_eq!(led(url), Ok(("upstream".to_owned(), "deploy/base".to_owned())), "{url}");
        }
        assert_eq!(led("github.com/org/repo"), Ok(("upstream".to_owned(), String::new())));
        assert_eq!(led("ssh://git.example.com:2222/a/b//c"), Ok(("inner".to_owned(), "c".to_owned())));
    }

    #[test]
    fn what_no_store_stands_for_is_told_with_the_document_to_write() {
        for (url, repository) in [
            ("https://github.com/org/repository//deploy?ref=v1.2", "https://github.com/org/repository"),
            ("github.com/org/other/deploy/base?ref=main", "https://github.com/org/other"),
            ("https://example.com/x/y.git/deploy", "https://example.com/x/y.git"),
            ("http://169.254.169.254/latest/meta-data", "http://169.254.169.254/latest/meta-data"),
            ("https://user:hunter2@example.com/x/y.git/deploy?token=hunter2", "https://example.com/x/y.git"),
            ("ssh://git:hunter2@example.com/x/y.git", "ssh://git@example.com/x/y.git"),
        ] {
            let problem = led(url).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
            assert!(problem.contains("nothing is fetched while rendering"), "{problem}");
            assert!(problem.contains(&format!("spec: {{url: \"{repository}\"}}")), "{problem}");
        }
    }

    #[test]
    fn the_folder_of_a_store_is_its_root() {
        let mut bases = bases();
        bases[0].folder = Some("deploy/".to_owned());
        let led = |url: &str| find(&bases, url).map(|led| led.folder);
        assert_eq!(led("github.com/org/repo//deploy/base").as_deref(), Ok("base"));
        assert_eq!(led("github.com/org/repo//deploy").as_deref(), Ok(""));
        assert!(led("github.com/org/repo//deployment").unwrap_err().contains("widen its `path`"));
    }

    #[test]
    fn another_reference_than_the_store_is_at_is_refused() {
        let problem = led("github.com/org/repo?ref=v2").unwrap_err();
        assert_eq!(
            problem,
            "`github.com/org/repo?ref=v2` refers to `v2`, but the Store `upstream` is at `v1.2`, `main`: change one of them"
        );
    }
}
