//! The page of `setpoint kustomize compare`.

use serde::Serialize;

use super::Screen;
use super::page::Page;
use super::paint::{Paint, Painted};

/// The result for all directories.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// The digest of the other program.
    pub(crate) renderer: String,
    pub(crate) folders: Vec<ComparedFolder>,
}

/// The result for one directory.
#[derive(Debug, Serialize)]
pub(crate) struct ComparedFolder {
    pub(crate) folder: String,
    pub(crate) verdict: Verdict,
    /// The differences, or the reasons why nothing is rendered: one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) told: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    Alike,
    Different,
    /// Both programs refuse it.
    Refused,
}

pub(crate) fn comparison(answer: &Comparison, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    for ComparedFolder { folder, verdict, told } in &answer.folders {
        let (word, paint) = match verdict {
            Verdict::Alike => ("alike", Paint::Good),
            Verdict::Different => ("different", Paint::Bad),
            Verdict::Refused => ("rendered by neither", Paint::Warn),
        };
        page.line(0, Painted::new(format!("{folder}: {word}"), paint));
        told.iter().for_each(|line| page.line(2, line.as_str()));
    }
    let count = |wanted| answer.folders.iter().filter(|folder| folder.verdict == wanted).count();
    let (alike, different, refused) = (count(Verdict::Alike), count(Verdict::Different), count(Verdict::Refused));
    page.heading(&format!("{alike} alike, {different} different, {refused} rendered by neither"));
    page.line(0, format!("renderer      {}", answer.renderer));
    page.into_text()
}
