//! The data of a generator: keys with their values, from files of lines, literals and whole files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::folder::Folder;

use super::{Generator, GeneratorError, Kind, ToldKey};

/// The longest line that Go's scanner accepts, without its line break.
const LONGEST_LINE: usize = 64 * 1024 - 1;
const BYTE_ORDER_MARK: char = '\u{feff}';

type Pairs = BTreeMap<String, Vec<u8>>;

impl Generator {
    /// Returns all pairs, sorted by key.
    pub(super) fn pairs(&self, folder: &Folder<'_>) -> Result<Pairs, GeneratorError> {
        let mut all = Vec::new();
        let file = |sources| move |source| GeneratorError::File { name: Arc::clone(&self.name), sources, source };
        for path in &self.envs {
            let bytes = folder.read(path).map_err(file("env source files"))?;
            lines(path, &bytes, &mut all)?;
        }
        for (at, literal) in self.literals.iter().enumerate() {
            all.push(pair(literal).ok_or_else(|| self.no_pair(literal, at + 1))?);
        }
        for source in &self.files {
            let (key, path) = named_file(source)?;
            let bytes = folder.read(path).map_err(file("file sources"))?;
            all.push((key.to_owned(), bytes.to_vec()));
        }
        let mut pairs = Pairs::new();
        for (key, value) in all {
            if pairs.contains_key(&key) {
                return Err(GeneratorError::Repeated { name: Arc::clone(&self.name), key: self.told(&key) });
            }
            pairs.insert(key, value);
        }
        Ok(pairs)
    }

    fn no_pair(&self, literal: &Arc<str>, number: usize) -> GeneratorError {
        match self.kind {
            Kind::ConfigMap => GeneratorError::Literal { literal: Arc::clone(literal) },
            Kind::Secret { .. } => GeneratorError::SecretLiteral { name: Arc::clone(&self.name), number },
        }
    }

    /// Returns a key for a message, unless it may be part of a secret.
    pub(super) fn told(&self, key: &str) -> ToldKey {
        let is_literal = || self.literals.iter().any(|literal| pair(literal).is_some_and(|(own, _)| own == key));
        let is_file = || self.files.iter().any(|file| named_file(file).is_ok_and(|(own, _)| own == key));
        match self.kind {
            Kind::Secret { .. } if !is_literal() && !is_file() => ToldKey::Hidden,
            Kind::Secret { .. } | Kind::ConfigMap => ToldKey::Plain(key.to_owned()),
        }
    }
}

/// Splits `key=value`. One pair of quotes around the value is removed.
fn pair(literal: &str) -> Option<(String, Vec<u8>)> {
    let (key, value) = literal.split_once('=').filter(|(key, _)| !key.is_empty())?;
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some((key.to_owned(), inner.unwrap_or(value).into()))
}

/// Splits `path` or `key=path`.
fn named_file(source: &Arc<str>) -> Result<(&str, &str), GeneratorError> {
    let file = || Arc::clone(source);
    match source.split_once('=') {
        None => Ok((base(source), source)),
        Some((_, path)) if path.contains('=') => Err(GeneratorError::Equals { file: file() }),
        Some(("", path)) => Err(GeneratorError::NoKey { file: file(), path: path.to_owned() }),
        Some((key, "")) => Err(GeneratorError::NoPath { file: file(), key: key.to_owned() }),
        Some(found) => Ok(found),
    }
}

/// Returns the last part of a path.
fn base(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" if path.is_empty() => ".",
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

/// Reads the pairs of a file of lines. Only the first `=` of a line is special: quotes and `export`
/// are plain text. Lines that begin with `#` are comments; a line without a key is skipped.
fn lines(file: &Arc<str>, bytes: &[u8], pairs: &mut Vec<(String, Vec<u8>)>) -> Result<(), GeneratorError> {
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let (number, file) = (at + 1, || Arc::clone(file));
        if line.len() > LONGEST_LINE {
            return Err(GeneratorError::LongLine { file: file(), line: number });
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| GeneratorError::NotText { file: file(), line: number })?;
        let line = if at == 0 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let line = line.trim_start();
        if line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.into()));
        }
    }
    Ok(())
}
