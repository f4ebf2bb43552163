//! A ratchet for plain English: measures the words to avoid in comments, docs and messages, how
//! comments begin, and the length of commit subjects. Each measure has a limit in
//! `xtask/language-limits.txt`, which may only go down.

mod limits;
mod texts;
mod vocabulary;

use std::path::Path;

use anyhow::Context;

use super::Complaints;
use super::files::{pages, sources, text_of};
use crate::process;
use limits::Limits;
use vocabulary::Vocabulary;

/// The file of the limits, relative to the root of the workspace.
const LIMITS: &str = "xtask/language-limits.txt";
/// First words of comments that describe a thing by a clause instead of a verb or a noun.
const CLAUSES: [&str; 4] = ["What", "Whether", "Who", "Those"];
const LONGEST_SUBJECT: usize = 72;
/// The number of commits to check if there is no tag.
const COMMITS: &str = "50";

/// A measured value, with the name of its limit.
#[derive(Debug)]
struct Measure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    /// The most frequent causes, with the remedy.
    details: String,
}

pub(super) fn the_language_is_plain() -> anyhow::Result<Complaints> {
    let limits = Limits::read(&text_of(Path::new(LIMITS))?)?;
    let mut complaints = limits.raised(&git(&["log", "--format=", "--unified=0", "-p", "--", LIMITS])?);
    let mut measures = texts()?;
    measures.push(subjects()?);
    for Measure { name, value, unit, details } in &measures {
        println!("    {name}: {value:.1} {unit} (limit {:.1}){details}", limits.of(name)?);
    }
    complaints.extend(above(&measures, &limits)?);
    Ok(complaints)
}

/// Complains about measures that are above their limits.
fn above(measures: &[Measure], limits: &Limits) -> anyhow::Result<Complaints> {
    let mut complaints = Complaints::new();
    for Measure { name, value, unit, details } in measures {
        let limit = limits.of(name)?;
        if *value > limit {
            complaints.push(format!("{name}: {value:.1} {unit}, above the limit of {limit:.1}{details}"));
        }
    }
    Ok(complaints)
}

/// Measures all texts of the workspace.
fn texts() -> anyhow::Result<Vec<Measure>> {
    let [mut all, mut help, mut documents, mut errors, mut docs] = [(); 5].map(|()| Vocabulary::default());
    let (mut comments, mut clauses) = (0_u32, 0_u32);
    for file in sources()? {
        let text = text_of(&file)?;
        for comment in texts::comments(&text) {
            comments += 1;
            clauses += u32::from(comment.split_whitespace().next().is_some_and(|first| CLAUSES.contains(&first)));
            all.add(&file, &comment);
        }
        texts::attribute_strings(&text, "error").iter().for_each(|message| errors.add(&file, message));
        if file.starts_with("crates/setpoint/src/cli") {
            texts::help(&text).iter().for_each(|line| help.add(&file, line));
        }
    }
    for file in pages()? {
        let page = texts::prose(&text_of(Path::new(&file))?);
        let kind = if file == "docs/reference.md" { &mut documents } else { &mut docs };
        kind.add(Path::new(&file), &page);
        all.add(Path::new(&file), &page);
    }
    anyhow::ensure!(comments > 0, "found no comment in the sources");
    let share = f64::from(clauses) * 100.0 / f64::from(comments);
    let openings = Measure {
        name: "openings",
        value: share,
        unit: "% of comments",
        details: format!(" begin with {}: begin with a verb or a noun", CLAUSES.join(", ")),
    };
    let words =
        [("comments-and-docs", all), ("help", help), ("documents", documents), ("errors", errors), ("docs", docs)];
    let words = words.map(|(name, words)| Measure {
        name,
        value: words.per_10_000(),
        unit: "of 10,000 words",
        details: words.details(),
    });
    Ok(words.into_iter().chain([openings]).collect())
}

/// Counts the long commit subjects since the last tag.
fn subjects() -> anyhow::Result<Measure> {
    let tags = git(&["tag", "--merged", "HEAD", "--sort=-creatordate"])?;
    let since = tags.lines().next().map(|tag| format!("{tag}..HEAD"));
    let mut arguments = vec!["log", "--no-merges", "--format=%s"];
    match &since {
        Some(range) => arguments.push(range),
        None => arguments.extend(["-n", COMMITS]),
    }
    let log = git(&arguments)?;
    let long: Vec<&str> = log.lines().filter(|subject| subject.chars().count() > LONGEST_SUBJECT).collect();
    let count = u32::try_from(long.len()).context("too many commits")?;
    let newest = long.first().map_or(String::new(), |subject| format!("; the newest: {subject}"));
    let details = format!(" are longer than {LONGEST_SUBJECT} characters{newest}");
    Ok(Measure { name: "subjects", value: f64::from(count), unit: "commit subjects", details })
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    process::output_of(process::program("git", arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_above_its_limit_is_reported_with_its_details() {
        let measure = |name, value| Measure { name, value, unit: "words", details: " such as `told`".to_owned() };
        let limits = Limits::read("help 3\ndocs 3\n").unwrap();
        let complaints = above(&[measure("help", 3.1), measure("docs", 3.0)], &limits).unwrap();
        assert_eq!(complaints, ["help: 3.1 words, above the limit of 3.0 such as `told`"]);
        assert!(above(&[measure("errors", 0.0)], &limits).is_err(), "a measure without a limit");
    }
}
