//! Two renders of one kustomization, ours and another program's, and their differences.

use setpoint_render_external::{Shadow, compare};

/// The note on a version that could not be compared, wherever it is reported.
pub(crate) const TRIED_AGAIN: &str = "it is tried again with the next commit";

/// The results of two programs for one kustomization: the output, or the reason for having none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) ours: Result<&'a str, &'a str>,
    pub(crate) theirs: Result<&'a str, &'a str>,
}

/// The comparison of two results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// Equal byte for byte.
    Alike,
    /// The differences, one line each.
    Different(Vec<String>),
    /// Neither program renders it, which is no difference either: our reason, and theirs.
    Refused { ours: String, theirs: String },
}

impl Compared {
    /// Returns the report of the comparison, one line each.
    pub(crate) fn lines(self) -> Vec<String> {
        match self {
            Self::Alike => Vec::new(),
            Self::Different(lines) => lines,
            Self::Refused { ours, theirs } => {
                vec![format!("we refuse it: {ours}"), format!("the other program refuses it, too: {theirs}")]
            }
        }
    }
}

impl Pair<'_> {
    pub(crate) fn compare(self) -> Compared {
        match (self.ours, self.theirs) {
            (Ok(ours), Ok(theirs)) => match compare(ours, theirs) {
                Shadow::Equal => Compared::Alike,
                differs @ Shadow::Different { .. } => {
                    Compared::Different(differs.to_string().lines().map(ToOwned::to_owned).collect())
                }
            },
            (Ok(_), Err(why)) => {
                Compared::Different(vec![format!("the other program refuses it, and we do not: {why}")])
            }
            (Err(why), Ok(_)) => {
                Compared::Different(vec![format!("we refuse it, and the other program does not: {why}")])
            }
            (Err(ours), Err(theirs)) => Compared::Refused { ours: ours.to_owned(), theirs: theirs.to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n";

    fn compared(ours: Result<&str, &str>, theirs: Result<&str, &str>) -> Compared {
        Pair { ours, theirs }.compare()
    }

    #[test]
    fn what_only_one_of_them_renders_is_a_difference_and_what_neither_does_is_none() {
        assert_eq!(compared(Ok(ONE), Ok(ONE)), Compared::Alike);
        let other = ONE.replace("name: a", "name: b");
        let Compared::Different(lines) = compared(Ok(ONE), Ok(&other)) else { panic!("they differ") };
        assert_eq!(lines, ["v1 Service a: only in ours", "v1 Service b: only in theirs"]);
        let Compared::Different(lines) = compared(Ok(ONE), Err("bad")) else { panic!("they differ") };
        assert_eq!(lines, ["the other program refuses it, and we do not: bad"]);
        let Compared::Different(lines) = compared(Err("bad"), Ok(ONE)) else { panic!("they differ") };
        assert_eq!(lines, ["we refuse it, and the other program does not: bad"]);
        let refused = Compared::Refused { ours: "bad".to_owned(), theirs: "worse".to_owned() };
        assert_eq!(compared(Err("bad"), Err("worse")), refused);
        assert_eq!(refused.lines(), ["we refuse it: bad", "the other program refuses it, too: worse"]);
    }
}
