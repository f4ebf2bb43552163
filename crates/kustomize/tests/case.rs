//! A tree of files and what is made of it: as the fuzzer generates it, and as a fixture holds it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use setpoint_kustomize::build::{Options, build};
use setpoint_kustomize::files::{FileError, Files};

/// The folder of a case that is built. Beside it lie its bases.
pub(crate) const BUILT: &str = "app";

/// Stands in a fixture whose files may be anywhere, as with `--load-restrictor
/// LoadRestrictionsNone`.
const UNRESTRICTED: &str = "unrestricted";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) files: BTreeMap<String, String>,
    /// Files may be anywhere.
    pub(crate) is_unrestricted: bool,
}

impl Files for Case {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        if let Some(text) = self.files.get(path) {
            return Ok(text.as_bytes().into());
        }
        let below = format!("{path}/");
        let is_folder = self.files.range(below.clone()..).next().is_some_and(|(file, _)| file.starts_with(&below));
        let path = path.to_owned();
        Err(if is_folder || path.is_empty() { FileError::Folder { path } } else { FileError::Missing { path } })
    }
}

impl Case {
    /// What we make of it, or why we make nothing of it.
    pub(crate) fn build(&self) -> Result<String, String> {
        let built = build(self, BUILT, &self.options()).and_then(|built| built.to_yaml());
        built.map_err(|error| error.to_string())
    }

    pub(crate) fn options(&self) -> Options {
        Options { is_restricted: !self.is_unrestricted, ..Options::default() }
    }

    /// Reads the folders of a fixture: what lies beside them is how it is built, and what was made
    /// of it.
    pub(crate) fn read_from(fixture: &Path) -> Self {
        let mut case = Self { is_unrestricted: fixture.join(UNRESTRICTED).exists(), ..Self::default() };
        for entry in std::fs::read_dir(fixture).expect("a fixture is a folder") {
            let path = entry.expect("a file of a fixture").path();
            if path.is_dir() {
                case.add_below(fixture, &path);
            }
        }
        case
    }

    fn add_below(&mut self, fixture: &Path, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("a folder of a fixture") {
            let path = entry.expect("a file of a fixture").path();
            if path.is_dir() {
                self.add_below(fixture, &path);
                continue;
            }
            let name = path.strip_prefix(fixture).expect("it is below").to_str().expect("a plain name").to_owned();
            self.files.insert(name, std::fs::read_to_string(&path).expect("a text"));
        }
    }

    /// Writes it as a fixture holds it.
    pub(crate) fn write_to(&self, fixture: &Path) {
        for (name, text) in &self.files {
            let path = fixture.join(name);
            std::fs::create_dir_all(path.parent().expect("it is below")).expect("a folder can be made");
            std::fs::write(path, text).expect("a file can be written");
        }
        if self.is_unrestricted {
            std::fs::write(fixture.join(UNRESTRICTED), "").expect("a file can be written");
        }
    }
}
