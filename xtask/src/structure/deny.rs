//! Reads deny.toml: the licences we allow and the duplicates we accept, each with its reason.
//!
//! The file has the form of cargo-deny, so that whoever has that tool may run it as well. Only the two lists used here are read,
//! and by hand: a TOML parser would be most of what xtask compiles.

use anyhow::{Context, bail};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Deny {
    /// `[licenses] allow`
    pub(crate) licences: Vec<String>,
    /// `[bans] skip`
    pub(crate) duplicates: Vec<Duplicate>,
}

/// Versions of a crate that may be built beside another one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub(crate) name: String,
    /// The leading parts of the versions: `0.10` stands for 0.10.9 as well, so that a patch release changes nothing here.
    pub(crate) version: String,
}

impl Duplicate {
    pub(crate) fn accepts(&self, name: &str, version: &str) -> bool {
        self.name == name
            && version.strip_prefix(self.version.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl Deny {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let text: String = text.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        let licences = array(&text, "licenses", "allow")?;
        let duplicates = array(&text, "bans", "skip")?;
        Ok(Self {
            licences: licences.split('"').skip(1).step_by(2).map(str::to_owned).collect(),
            duplicates: duplicates
                .split('}')
                .filter(|entry| entry.contains('{'))
                .map(duplicate)
                .collect::<anyhow::Result<_>>()?,
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

/// What stands between the brackets of `key = [ … ]` in a section.
fn array<'a>(text: &'a str, section: &str, key: &str) -> anyhow::Result<&'a str> {
    let missing = || format!("deny.toml has no list `{key}` in [{section}]; write one, empty if need be");
    let (_, rest) = text.split_once(&format!("[{section}]\n")).with_context(missing)?;
    let section = rest.split_once("\n[").map_or(rest, |(section, _)| section);
    let (_, list) = section.split_once(&format!("{key} = [")).with_context(missing)?;
    let (list, _) =
        list.split_once(']').with_context(|| format!("the list `{key}` of deny.toml has no closing bracket"))?;
    Ok(list)
}

/// Reads `{ crate = "name@version", reason = "…" `.
fn duplicate(entry: &str) -> anyhow::Result<Duplicate> {
    let value = |key: &str| {
        let (_, rest) = entry.split_once(&format!("{key} = \""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let package = value("crate").with_context(|| format!("no `crate` in the entry of deny.toml: {}", entry.trim()))?;
    if value("reason").is_none_or(str::is_empty) {
        bail!("deny.toml accepts a second {package} without a reason; say who needs it and what would end that");
    }
    let (name, version) = package
        .split_once('@')
        .with_context(|| format!("deny.toml must name the version it accepts: `{package}@version`"))?;
    Ok(Duplicate { name: name.to_owned(), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_are_read_without_their_comments() {
        let text = "[licenses]\nallow = [\n  \"MIT\", # \"GPL-3.0\"\n  \"ISC\",\n]\n\n[bans]\nskip = [\n  { crate = \"syn@2.0.1\", reason = \"a # of old macros\" },\n]\n";
        let deny = Deny::read(text).unwrap();
        assert_eq!(deny.licences, ["MIT", "ISC"]);
        assert_eq!(deny.duplicates, [Duplicate { name: "syn".to_owned(), version: "2.0.1".to_owned() }]);
    }

    #[test]
    fn a_leading_part_of_a_version_is_compared_as_a_whole() {
        let accepted = Duplicate { name: "sha2".to_owned(), version: "0.1".to_owned() };
        assert!(accepted.accepts("sha2", "0.1.9"));
        assert!(accepted.accepts("sha2", "0.1"));
        assert!(!accepted.accepts("sha2", "0.10.9"));
        assert!(!accepted.accepts("sha3", "0.1.9"));
    }

    #[test]
    fn a_duplicate_without_a_reason_is_refused() {
        let text = "[licenses]\nallow = []\n[bans]\nskip = [{ crate = \"syn@2.0.1\" }]\n";
        let error = Deny::read(text).unwrap_err().to_string();
        assert!(error.contains("second syn@2.0.1 without a reason"), "{error}");
    }

    #[test]
    fn a_missing_list_is_an_error_and_not_an_empty_one() {
        let error = Deny::read("[licenses]\nallow = []\n").unwrap_err().to_string();
        assert!(error.contains("no list `skip` in [bans]"), "{error}");
    }
}
