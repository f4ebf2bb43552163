//! The settings of the second start of our binary: the tree, the directory in it, the limits. They
//! are command-line arguments, since nothing else is inherited.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::Limits;

/// The argument for `is_restricted`.
const RESTRICTED: &str = "restricted";
const UNRESTRICTED: &str = "unrestricted";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// The only directory that can be read.
    pub(crate) tree: PathBuf,
    /// The directory of the tree that is rendered.
    pub(crate) folder: String,
    /// Requires files to be in the directory of the kustomization that names them, or below it.
    pub(crate) is_restricted: bool,
    pub(crate) limits: Limits,
}

impl Confinement {
    /// Returns the arguments. The limits on output and error bytes are not among them, because the
    /// reader of the output enforces them.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let Limits { time, memory, files, threads, output: _, errors: _ } = &self.limits;
        let numbers = [&time.as_millis().to_string(), &memory.to_string(), &files.to_string(), &threads.to_string()];
        let restriction = if self.is_restricted { RESTRICTED } else { UNRESTRICTED };
        let mut words =
            vec![self.tree.clone().into_os_string(), OsString::from(&self.folder), OsString::from(restriction)];
        words.extend(numbers.map(OsString::from));
        words
    }

    /// Parses the arguments of [`Confinement::words`]. Returns `None` if they are invalid.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let words: Vec<OsString> = words.into_iter().collect();
        let [tree, folder, restriction, numbers @ ..] = words.as_slice() else { return None };
        let is_restricted = match restriction.to_str()? {
            RESTRICTED => true,
            UNRESTRICTED => false,
            _ => return None,
        };
        let numbers: Vec<u64> = numbers.iter().map(|word| word.to_str()?.parse().ok()).collect::<Option<_>>()?;
        let &[time, memory, files, threads] = numbers.as_slice() else { return None };
        let limits = Limits { time: Duration::from_millis(time), memory, files, threads, ..Limits::default() };
        Some(Self { tree: PathBuf::from(tree), folder: folder.to_str()?.to_owned(), is_restricted, limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_read() {
        let limits = Limits { time: Duration::from_millis(1234), memory: 5, files: 6, threads: 7, ..Limits::default() };
        for is_restricted in [true, false] {
            let (tree, folder, limits) = (PathBuf::from("/a b/-c"), "-d/é".to_owned(), limits.clone());
            let told = Confinement { tree, folder, is_restricted, limits };
            assert_eq!(Confinement::read(told.words()), Some(told));
        }
    }

    #[test]
    fn words_of_another_form_are_not_guessed_at() {
        for words in [
            &["/a"][..],
            &["/a", "b", RESTRICTED, "1", "2", "3"],
            &["/a", "b", RESTRICTED, "1", "2", "3", "x"],
            &["/a", "b", RESTRICTED, "1", "2", "3", "4", "5"],
            &["/a", "b", "perhaps", "1", "2", "3", "4"],
        ] {
            assert_eq!(Confinement::read(words.iter().map(OsString::from)), None, "{words:?}");
        }
    }
}
