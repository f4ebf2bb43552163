//! What the second start of our binary is told: which tree, which folder of it, which limits. As
//! words of a command line, since nothing else comes along.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::Limits;

/// How `is_restricted` is told.
const RESTRICTED: &str = "restricted";
const UNRESTRICTED: &str = "unrestricted";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// The only folder that can be read.
    pub(crate) tree: PathBuf,
    /// The folder of the tree that is rendered.
    pub(crate) folder: String,
    /// Files have to be in the folder of the kustomization that names them, or below it.
    pub(crate) is_restricted: bool,
    pub(crate) limits: Limits,
}

impl Confinement {
    /// The words of this confinement. Output and error bytes are counted by whoever reads them, and
    /// are not among them.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let Limits { time, memory, files, threads, output: _, errors: _ } = &self.limits;
        let numbers = [&time.as_millis().to_string(), &memory.to_string(), &files.to_string(), &threads.to_string()];
        let restriction = if self.is_restricted { RESTRICTED } else { UNRESTRICTED };
        let mut words =
            vec![self.tree.clone().into_os_string(), OsString::from(&self.folder), OsString::from(restriction)];
        words.extend(numbers.map(OsString::from));
        words
    }

    /// Reads what [`Confinement::words`] wrote; none if it is something else.
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
