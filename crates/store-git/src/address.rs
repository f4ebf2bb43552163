//! Checks URLs. Every decision here comes before any file, socket or process is touched.

use std::fmt;
use std::path::PathBuf;

use setpoint_store::StoreError;
use setpoint_store::path::shown;

/// The address of a repository. Holds no secret, so it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    Https {
        /// The URL as declared.
        url: String,
    },
    Ssh {
        user: String,
        host: String,
        port: Option<u16>,
        path: String,
    },
    Local {
        path: PathBuf,
    },
}

/// The error for a URL, branch, tag or commit that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what} that can be used: {problem}")]
pub struct BadAddress {
    what: &'static str,
    /// The text, escaped and without the part before an `@`, which may be a password.
    text: String,
    problem: &'static str,
}

impl BadAddress {
    pub(crate) fn new(what: &'static str, text: &str, problem: &'static str) -> Self {
        Self { what, text: shown(text), problem }
    }
}

impl From<BadAddress> for StoreError {
    fn from(bad: BadAddress) -> Self {
        Self::refused(bad.to_string(), "correct the store's document")
    }
}

impl Address {
    pub fn parse(url: &str, allow_local: bool) -> Result<Self, BadAddress> {
        let bad = |problem| BadAddress::new("URL", without_user(url), problem);
        if url.len() > 2_048 {
            return Err(bad("it is longer than 2,048 bytes"));
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains(['\\', '"', '\'', '`', '<', '>']) {
            return Err(bad("spaces, quotes, backslashes and control characters are not allowed"));
        }
        if hides_control_characters(url) {
            return Err(bad("percent-encoded control characters are not allowed"));
        }
        if let Some(rest) = url.strip_prefix("https://") {
            return https(url, rest).map_err(bad);
        }
        if let Some(rest) = url.strip_prefix("ssh://") {
            return ssh(rest).map_err(bad);
        }
        if url.starts_with('/') || url.starts_with("file:///") {
            let path = url.strip_prefix("file://").unwrap_or(url);
            return if allow_local {
                Ok(Self::Local { path: PathBuf::from(path) })
            } else {
                Err(bad("a path on this machine is only allowed in the bootstrap document: use https or ssh"))
            };
        }
        if url.starts_with("http://") || url.starts_with("git://") {
            return Err(bad("it is not encrypted: use https or ssh"));
        }
        if url.contains("://") || url.contains("::") {
            return Err(bad("use https or ssh"));
        }
        short_ssh(url).map_err(bad)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Https { url } => f.write_str(url),
            Self::Ssh { user, host, port: Some(port), path } => write!(f, "ssh://{user}@{host}:{port}{path}"),
            Self::Ssh { user, host, port: None, path } => write!(f, "ssh://{user}@{host}{path}"),
            Self::Local { path } => write!(f, "{}", path.display()),
        }
    }
}

/// Returns the part of a wrong URL that may be shown: a user may have written a password into it.
fn without_user(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

fn hides_control_characters(url: &str) -> bool {
    let decoded = url.as_bytes().windows(3).filter(|window| window[0] == b'%');
    let mut bytes = decoded.filter_map(|w| u8::from_str_radix(std::str::from_utf8(&w[1..]).ok()?, 16).ok());
    bytes.any(|byte| byte.is_ascii_control())
}

fn https(url: &str, rest: &str) -> Result<Address, &'static str> {
    let (authority, path) = rest.split_once('/').ok_or("it names no repository: write https://host/path")?;
    if authority.contains('@') {
        return Err("credentials do not belong in a URL: put them into a file and name it in credentialsFrom");
    }
    split_port(authority)?;
    check_path(path)?;
    Ok(Address::Https { url: url.to_owned() })
}

fn ssh(rest: &str) -> Result<Address, &'static str> {
    let (authority, path) = rest.split_once('/').ok_or("it names no repository: write ssh://user@host/path")?;
    let (user, authority) = authority.split_once('@').unwrap_or(("git", authority));
    let (host, port) = split_port(authority)?;
    check_user(user)?;
    check_path(path)?;
    Ok(Address::Ssh { user: user.to_owned(), host, port, path: format!("/{path}") })
}

/// Parses `user@host:path`, as forges show it.
fn short_ssh(url: &str) -> Result<Address, &'static str> {
    let hint = "use https://host/path, ssh://user@host/path or user@host:path";
    let (user, rest) = url.split_once('@').ok_or(hint)?;
    let (host, path) = rest.split_once(':').ok_or(hint)?;
    let (host, _) = split_port(host)?;
    check_user(user)?;
    check_path(path.strip_prefix('/').unwrap_or(path))?;
    Ok(Address::Ssh { user: user.to_owned(), host, port: None, path: path.to_owned() })
}

fn split_port(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, port) = match bracketed {
        Some((address, port)) if address.parse::<std::net::Ipv6Addr>().is_ok() => (address, port.strip_prefix(':')),
        Some(_) => return Err("the host is not a valid address"),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let is_name = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'.';
    if bracketed.is_none() && (host.is_empty() || host.starts_with(['-', '.']) || !host.bytes().all(is_name)) {
        return Err("the host must be letters, digits, `-` and `.`, and begin with a letter or digit");
    }
    let port = port.map(|port| port.parse().map_err(|_| "the port is not a number")).transpose()?;
    Ok((host.to_owned(), port))
}

fn check_user(user: &str) -> Result<(), &'static str> {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.' | b'_');
    if user.is_empty() || user.starts_with(['-', '.']) || !user.bytes().all(is_plain) {
        return Err("the user must be letters, digits, `-`, `.` and `_`, and begin with a letter or digit");
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.contains(['?', '#', '@', '{', '}', '|', '^', '*', ';', '&', '$', '(', ')', '!']) {
        return Err("the path must name a repository, without query, fragment or special characters");
    }
    if path.split('/').any(|part| part == ".." || part == "." || part.starts_with('-')) {
        return Err("no part of the path may be `.` or `..` or begin with `-`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        Address::parse(url, false).expect_err(url).to_string()
    }

    #[test]
    fn the_urls_people_write_are_taken() {
        for url in [
            "https://git.example/platform.git",
            "https://git.example:8443/group/platform",
            "https://[::1]:8443/platform.git",
            "ssh://git@git.example:2222/platform.git",
            "ssh://git.example/~team/platform.git",
            "git@git.example:group/platform.git",
        ] {
            assert!(Address::parse(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn case_01_a_url_that_runs_a_program_is_refused() {
        for url in ["ext::sh", "ext::sh -c id", "fd::7", "transport::https://x/y"] {
            refused(url);
        }
    }

    #[test]
    fn case_02_a_path_on_this_machine_is_refused_unless_the_bootstrap_allows_it() {
        for url in ["file:///etc", "/etc", "../etc", "etc"] {
            refused(url);
        }
        assert!(matches!(Address::parse("/srv/state", true), Ok(Address::Local { .. })));
        assert!(Address::parse("../state", true).is_err());
    }

    #[test]
    fn case_03_a_host_that_is_an_option_of_ssh_is_refused() {
        for url in ["ssh://-oProxyCommand=touch/x", "ssh://git@-oProxyCommand=touch/x", "git@-oProxyCommand=x:y"] {
            refused(url);
        }
    }

    #[test]
    fn case_04_users_and_paths_that_begin_with_a_dash_are_refused() {
        for url in ["ssh://-l@host/x", "-l@host:x", "ssh://git@host/-x", "git@host:--upload-pack=x"] {
            refused(url);
        }
    }

    #[test]
    fn case_05_control_characters_are_refused_and_never_shown_raw() {
        for url in [
            "https://host/x\r\ny",
            "https://host/x%0ay",
            "https://host/x%0Dy",
            "https://h\u{202e}ost/x",
            "https://host/%00",
        ] {
            let text = refused(url);
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{text:?}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        let text = refused("https://me:hunter2@git.example/x");
        assert!(!text.contains("hunter2") && text.contains("credentialsFrom"), "{text}");
        assert!(!refused("https://me:hunter2@git.example/x y").contains("hunter2"));
    }

    #[test]
    fn what_is_not_encrypted_is_refused() {
        assert!(refused("http://git.example/x").contains("not encrypted"));
    }

    #[test]
    fn a_scheme_or_a_helper_behind_a_host_is_refused() {
        for url in ["git@host::x", "git@host:ext::sh", "git@host:ftp://x"] {
            assert!(refused(url).contains("use https or ssh"), "{url}");
        }
    }
}
