//! Parses the kinds with a path: `File`, `Directory`, `Symlink`.

use std::sync::Arc;

use data_encoding::BASE64;
use setpoint_core::value::Value;

use super::reading::{Object, Reading};
use super::{Account, Content, DirectorySpec, FileSpec, SymlinkSpec, kinds};
use crate::path::HostPath;

/// The kernel's own limit for the target of a link.
const LONGEST_LINK: usize = 4095;

impl Reading {
    pub(super) fn file(&mut self, spec: &Value) -> Option<FileSpec> {
        let spec = self.object("spec".to_owned(), spec, kinds::FILE)?;
        if spec.get("contentFrom").is_some() {
            let hint = "rendering should have replaced it with the content: render the app again";
            return self.report(spec.at("contentFrom"), "names a file of a store, which a host cannot read", hint);
        }
        let path = self.path(&spec);
        let content = self.one_content(&spec);
        let mode = self.mode(&spec, 0o644);
        let (owner, group) = (self.account(&spec, "owner"), self.account(&spec, "group"));
        let sensitive = self.flag(&spec, "sensitive") || matches!(content, Some(Content::Sealed(_)));
        Some(FileSpec { path: path?, content: content?, mode: mode?, owner, group, sensitive })
    }

    pub(super) fn directory(&mut self, spec: &Value) -> Option<DirectorySpec> {
        let spec = self.object("spec".to_owned(), spec, kinds::DIRECTORY)?;
        let path = self.path(&spec);
        let mode = self.mode(&spec, 0o755);
        let (owner, group) = (self.account(&spec, "owner"), self.account(&spec, "group"));
        Some(DirectorySpec { path: path?, mode: mode?, owner, group })
    }

    pub(super) fn symlink(&mut self, spec: &Value) -> Option<SymlinkSpec> {
        let spec = self.object("spec".to_owned(), spec, kinds::SYMLINK)?;
        let path = self.path(&spec);
        let target = Arc::clone(self.text(&spec, "target")?);
        if target.is_empty() || target.len() > LONGEST_LINK || target.contains('\0') {
            return self.report(spec.at("target"), "cannot be the text of a link", "use 1 to 4095 bytes without NUL");
        }
        Some(SymlinkSpec { path: path?, target })
    }

    fn path(&mut self, spec: &Object<'_>) -> Option<HostPath> {
        let text = self.text(spec, "path")?;
        match HostPath::new(text) {
            Ok(path) => Some(path),
            Err(bad) => self.report(spec.at("path"), "is not an absolute path", bad.problem),
        }
    }

    fn one_content(&mut self, spec: &Object<'_>) -> Option<Content> {
        match (spec.get("content"), spec.get("contentBase64")) {
            (Some(content), None) => self.content(spec.at("content"), content),
            (None, Some(encoded)) => self.decoded(spec, encoded),
            (None, None) => self.report(
                spec.at("content"),
                "is missing",
                "add `content:`, which may be an empty text, or `contentBase64:`",
            ),
            (Some(_), Some(_)) => {
                self.report(spec.at("content"), "is given twice", "keep one of `content` and `contentBase64`")
            }
        }
    }

    fn decoded(&mut self, spec: &Object<'_>, encoded: &Value) -> Option<Content> {
        let path = spec.at("contentBase64");
        let text = self.as_text(path.clone(), encoded)?;
        let plain: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        match BASE64.decode(&plain) {
            Ok(bytes) => Some(Content::Bytes(bytes.into())),
            Err(_) => self.report(path, "is not base64", "encode the file with `base64`"),
        }
    }

    fn mode(&mut self, spec: &Object<'_>, default: u32) -> Option<u32> {
        let Some(value) = spec.get("mode") else { return Some(default) };
        let hint = "write the permissions as octal digits in quotes: \"0644\"";
        let Value::Str(text) = value else {
            // YAML parses 0644 as a number, and parsers disagree on which one.
            return self.report(spec.at("mode"), "is not a text", hint);
        };
        let octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        match u32::from_str_radix(text, 8) {
            Ok(mode) if octal => Some(mode),
            _ => self.report(spec.at("mode"), "is not a mode", hint),
        }
    }

    fn account(&mut self, spec: &Object<'_>, field: &str) -> Option<Account> {
        let text = self.optional_text(spec, field)?;
        let plain = !text.is_empty()
            && text.len() <= 256
            && text.bytes().all(|b| b.is_ascii_graphic() && b != b':' && b != b'/');
        match text.parse::<u32>() {
            Ok(id) if id != u32::MAX => Some(Account::Id(id)),
            Err(_) if plain => Some(Account::Name(Arc::clone(text))),
            _ => self.report(spec.at(field), "is not a valid account", "write its name, or its number in quotes"),
        }
    }
}
