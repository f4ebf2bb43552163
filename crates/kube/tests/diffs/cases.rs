//! The cases of Argo CD's own test of its comparison: the files that belong together, and the
//! expected result.

use std::collections::BTreeMap;

/// One comparison of a test.
pub(super) struct Case {
    pub(super) test: String,
    /// The files with the declared object, the live one, and the result of a dry-run.
    pub(super) files: Vec<String>,
    /// Set if Argo CD expects a difference.
    pub(super) modified: bool,
}

impl Case {
    /// Returns the file with this word in its name: `config`, `live` or `predicted`.
    pub(super) fn file(&self, part: &str) -> Option<&str> {
        let is_it = |file: &&String| {
            let mut words = file.split(['-', '.']);
            words.clone().any(|word| word == part) && (part == "predicted" || words.all(|word| word != "predicted"))
        };
        self.files.iter().find(is_it).map(String::as_str)
    }
}

/// Reads `//go:embed FILE` and, on the next line, the variable that holds it.
pub(super) fn embedded(source: &str) -> BTreeMap<&str, &str> {
    let mut held = BTreeMap::new();
    let mut file = None;
    for line in source.lines().map(str::trim) {
        match line.strip_prefix("//go:embed ") {
            Some(name) => file = Some(name),
            None => {
                if let (Some(file), Some(variable)) = (file.take(), line.split(' ').next()) {
                    held.insert(variable, file);
                }
            }
        }
    }
    held
}

/// Returns every assertion on `Modified`, with the files that were named since the previous one.
pub(super) fn cases(source: &str, embedded: &BTreeMap<&str, &str>) -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut function, mut section) = ("", None);
    let mut files: Vec<String> = Vec::new();
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("func ") {
            (function, section) = (rest.split('(').next().unwrap_or_default(), None);
            files.clear();
        }
        if let Some((name, _)) = line.trim().strip_prefix("t.Run(\"").and_then(|rest| rest.split_once('"')) {
            section = Some(name);
            files.clear();
        }
        files.extend(named_in(line, embedded));
        let Some(modified) = expectation(line).filter(|_| !files.is_empty()) else { continue };
        let test = section.map_or_else(|| function.to_owned(), |section| format!("{function}: {section}"));
        cases.push(Case { test, files: std::mem::take(&mut files), modified });
    }
    cases
}

/// Returns the file that a line of Go names, by path or by the variable that holds it.
fn named_in(line: &str, embedded: &BTreeMap<&str, &str>) -> Option<String> {
    if let Some((_, rest)) = line.split_once("\"testdata/") {
        return rest.split('"').next().map(str::to_owned);
    }
    let (_, rest) = line.split_once("testdata.")?;
    let variable = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    embedded.get(variable).map(|file| (*file).to_owned())
}

fn expectation(line: &str) -> Option<bool> {
    let (_, rest) = line.split_once("assert.")?;
    let (word, rest) = rest.split_once("(t, ")?;
    rest.split([')', ',']).next()?.strip_suffix(".Modified")?;
    match word {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}
