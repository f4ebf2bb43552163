//! The words to avoid, with the words of the field that replace them, and their frequency in texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words and phrases in lower case, each with better ones. The rules behind the table: name the
/// subject, use the active voice, and use the nouns of the field.
const AVOIDED: &[(&str, &str)] = &[
    ("afresh", "again, from the start"),
    ("anew", "again"),
    ("anybody", "any user"),
    ("beside", "next to, in addition to"),
    ("folder", "directory"),
    ("folders", "directories"),
    ("gone through", "checked"),
    ("in whose name", "impersonated user"),
    ("let go", "released"),
    ("look", "read, observe"),
    ("looked", "read, observed"),
    ("looking", "reading, observing"),
    ("looks", "reads, observes"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("nobody", "no, none"),
    ("put right", "corrected, healed"),
    ("puts right", "corrects, heals"),
    ("seen", "observed, read"),
    ("somebody", "another user or writer"),
    ("stands", "is, exists"),
    ("taken up", "loaded, adopted"),
    ("tell", "report, print"),
    ("telling", "reporting"),
    ("tells", "reports, prints"),
    ("told", "reported, printed"),
    ("unsaid", "omitted"),
    ("unwell", "unhealthy"),
    ("whoever", "the component or user that"),
];

/// Next words after which `look` means to resemble.
const RESEMBLING: [&str; 3] = ["alike", "as", "like"];

/// The words of some texts.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: u32,
    avoided: BTreeMap<&'static str, u32>,
    /// The number of words to avoid in each file.
    files: BTreeMap<PathBuf, u32>,
}

impl Vocabulary {
    /// Adds the words of a text. Inline code consists of names, so it is skipped.
    pub(super) fn add(&mut self, file: &Path, text: &str) {
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let words: Vec<String> = prose
            .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
            .filter(|word| word.contains(char::is_alphabetic))
            .map(str::to_lowercase)
            .collect();
        self.words += u32::try_from(words.len()).unwrap_or(u32::MAX);
        for at in 0..words.len() {
            let Some(found) = AVOIDED.iter().map(|(phrase, _)| *phrase).find(|phrase| is_at(phrase, &words[at..]))
            else {
                continue;
            };
            *self.avoided.entry(found).or_default() += 1;
            *self.files.entry(file.to_path_buf()).or_default() += 1;
        }
    }

    pub(super) fn per_10_000(&self) -> f64 {
        f64::from(self.avoided.values().sum::<u32>()) * 10_000.0 / f64::from(self.words.max(1))
    }

    /// Describes the most frequent words to avoid, with better ones, and the files with most of
    /// them.
    pub(super) fn details(&self) -> String {
        if self.avoided.is_empty() {
            return String::new();
        }
        let better = |word: &str| AVOIDED.iter().find(|(avoided, _)| *avoided == word).map_or("", |(_, better)| better);
        let words = most(&self.avoided).into_iter().map(|(word, count)| format!("{word} {count} ({})", better(word)));
        let files = most(&self.files).into_iter().map(|(file, count)| format!("{} {count}", file.display()));
        let [words, files] = [words.collect::<Vec<_>>(), files.collect()].map(|items| items.join(", "));
        format!("\n      {words}\n      most in {files}")
    }
}

/// The five most frequent entries.
fn most<K: Ord>(counts: &BTreeMap<K, u32>) -> Vec<(&K, u32)> {
    let mut counts: Vec<(&K, u32)> = counts.iter().map(|(key, count)| (key, *count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(5);
    counts
}

fn is_at(phrase: &str, words: &[String]) -> bool {
    let length = phrase.split(' ').count();
    let is_equal = words.len() >= length && phrase.split(' ').zip(words).all(|(part, word)| part == word);
    let resembles = words.get(length).is_some_and(|next| RESEMBLING.contains(&next.as_str()));
    is_equal && !(phrase.starts_with("look") && resembles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn avoided(text: &str) -> Vec<(&'static str, u32)> {
        let mut words = Vocabulary::default();
        words.add(Path::new("a.rs"), text);
        words.avoided.into_iter().collect()
    }

    #[test]
    fn words_and_phrases_are_counted_in_any_case() {
        assert_eq!(avoided("Told of a folder, told it is put\nright."), [("folder", 1), ("put right", 1), ("told", 2)]);
    }

    #[test]
    fn inline_code_parts_of_words_and_resemblance_are_not_counted() {
        assert_eq!(avoided("`folder`, retold, a look-alike, it looks like a hyperfolder"), []);
    }

    #[test]
    fn the_frequency_is_per_10_000_words() {
        let mut words = Vocabulary::default();
        words.add(Path::new("a.rs"), "nobody reads this");
        words.add(Path::new("b.rs"), "one two three four five six seven");
        assert!((words.per_10_000() - 1_000.0).abs() < 0.01);
        assert!(words.details().contains("nobody 1 (no, none)") && words.details().contains("most in a.rs 1"));
    }
}
