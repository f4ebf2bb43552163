//! Reads deny.toml: the licences we allow and the duplicates we accept, each with its reason.
//!
//! The file has the format of cargo-deny. Only the three lists used here are read, and by hand: a
//! TOML parser would be most of the code that xtask compiles.

use anyhow::{Context, bail};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Deny {
    /// `[licenses] allow`
    pub(crate) licences: Vec<String>,
    /// `[licenses] clarify`: crates whose manifest names no licence, with the one we read in their
    /// files.
    pub(crate) clarified: Vec<(Versions, String)>,
    /// `[bans] skip`: crates that may be built in several versions.
    pub(crate) duplicates: Vec<Versions>,
}

/// Some versions of a crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) name: String,
    /// The leading parts of the version: `0.10` includes 0.10.9, so that a patch release changes
    /// nothing here.
    pub(crate) version: String,
}

impl Versions {
    pub(crate) fn include(&self, name: &str, version: &str) -> bool {
        self.name == name
            && version.strip_prefix(self.version.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl Deny {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let text: String = text.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        let allowed = array(&text, "licenses", "allow")?;
        let mut clarified = Vec::new();
        for entry in entries(array(&text, "licenses", "clarify")?) {
            let expression = value(entry, "expression").with_context(|| lacks("expression", entry))?;
            clarified.push((versions(entry)?, expression.to_owned()));
        }
        Ok(Self {
            licences: allowed.split('"').skip(1).step_by(2).map(str::to_owned).collect(),
            clarified,
            duplicates: entries(array(&text, "bans", "skip")?).map(versions).collect::<anyhow::Result<_>>()?,
        })
    }
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Returns the text between the brackets of `key = [ … ]` in a section.
fn array<'a>(text: &'a str, section: &str, key: &str) -> anyhow::Result<&'a str> {
    let missing = || format!("deny.toml has no list `{key}` in [{section}]; write one, empty if need be");
    let (_, rest) = text.split_once(&format!("[{section}]\n")).with_context(missing)?;
    let section = rest.split_once("\n[").map_or(rest, |(section, _)| section);
    let (_, list) = section.split_once(&format!("{key} = [")).with_context(missing)?;
    let (list, _) =
        list.split_once(']').with_context(|| format!("the list `{key}` of deny.toml has no closing bracket"))?;
    Ok(list)
}

/// Returns the tables of a list, each without its closing brace.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split('}').filter(|entry| entry.contains('{'))
}

fn value<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = entry.split_once(&format!("{key} = \""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn lacks(key: &str, entry: &str) -> String {
    format!("no `{key}` in the entry of deny.toml: {}", entry.trim())
}

/// Reads `{ crate = "name@version", reason = "…" `. An exception without a reason could never be
/// ended.
fn versions(entry: &str) -> anyhow::Result<Versions> {
    let package = value(entry, "crate").with_context(|| lacks("crate", entry))?;
    if value(entry, "reason").is_none_or(str::is_empty) {
        bail!("deny.toml makes an exception for {package} without a reason; add who needs it and what ends the need");
    }
    let (name, version) = package
        .split_once('@')
        .with_context(|| format!("deny.toml must name the version it means: `{package}@version`"))?;
    Ok(Versions { name: name.to_owned(), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read_without_its_comments() {
        let text = r#"
[licenses]
allow = [
  "MIT", # "GPL-3.0"
  "ISC",
]
clarify = [{ crate = "b@1", expression = "MIT", reason = "its LICENSE" }]

[bans]
skip = [
  { crate = "syn@2.0", reason = "a # of old macros" },
]
"#;
        let deny = Deny::read(text).unwrap();
        let versions = |name: &str, version: &str| Versions { name: name.to_owned(), version: version.to_owned() };
        assert_eq!(deny.licences, ["MIT", "ISC"]);
        assert_eq!(deny.clarified, [(versions("b", "1"), "MIT".to_owned())]);
        assert_eq!(deny.duplicates, [versions("syn", "2.0")]);
    }

    #[test]
    fn a_leading_part_of_a_version_is_compared_as_a_whole() {
        let accepted = Versions { name: "sha2".to_owned(), version: "0.1".to_owned() };
        assert!(accepted.include("sha2", "0.1.9"));
        assert!(accepted.include("sha2", "0.1"));
        assert!(!accepted.include("sha2", "0.10.9"));
        assert!(!accepted.include("sha3", "0.1.9"));
    }

    #[test]
    fn a_duplicate_without_a_reason_is_refused() {
        let text = "[licenses]\nallow = []\nclarify = []\n[bans]\nskip = [{ crate = \"syn@2.0.1\" }]\n";
        let error = Deny::read(text).unwrap_err().to_string();
        assert!(error.contains("exception for syn@2.0.1 without a reason"), "{error}");
    }

    #[test]
    fn a_missing_list_is_an_error_and_not_an_empty_one() {
        let error = Deny::read("[licenses]\nallow = []\nclarify = []\n").unwrap_err().to_string();
        assert!(error.contains("no list `skip` in [bans]"), "{error}");
    }
}
