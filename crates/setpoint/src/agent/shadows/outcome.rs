//! The result of rendering a version with both programs, for all inputs of the app together.

use setpoint_render::Sides;

use crate::sides::{Compared, Pair};

/// The number of lines that are stored for one version.
const LINES: usize = 20;

/// The result of a comparison. Each difference is a line, with the directory it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Equal, byte for byte.
    Alike,
    Different(Vec<String>),
    /// No differences, but neither program renders some of the inputs. This does not show what they
    /// would do with a valid version.
    Refused(Vec<String>),
}

impl Outcome {
    /// Returns `None` if no input is a kustomization: then neither has rendered anything.
    pub(super) fn of(all: &[Sides]) -> Option<Self> {
        let (mut different, mut refused) = (Vec::new(), Vec::new());
        for sides in all {
            let compared = compared(sides);
            let lines = if matches!(compared, Compared::Refused { .. }) { &mut refused } else { &mut different };
            lines.extend(compared.lines().into_iter().map(|line| format!("{}: {line}", sides.folder)));
        }
        different.truncate(LINES);
        refused.truncate(LINES);
        Some(match (all, different.as_slice(), refused.as_slice()) {
            ([], ..) => return None,
            (_, [], []) => Self::Alike,
            (_, [], _) => Self::Refused(refused),
            _ => Self::Different(different),
        })
    }
}

fn compared(sides: &Sides) -> Compared {
    let Sides { ours, theirs, .. } = sides;
    let (ours, theirs) = (ours.as_deref().map_err(String::as_str), theirs.as_deref().map_err(String::as_str));
    Pair { ours, theirs }.compare()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(folder: &str, ours: Result<&str, &str>, theirs: Result<&str, &str>) -> Sides {
        let owned = |side: Result<&str, &str>| side.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        Sides { folder: folder.to_owned(), ours: owned(ours), theirs: owned(theirs) }
    }

    #[test]
    fn one_input_that_differs_is_told_and_one_that_both_refuse_makes_nothing_alike() {
        let alike = || sides("a", Ok("kind: A\n"), Ok("kind: A\n"));
        let refused = || sides("b", Err("bad"), Err("worse"));
        assert_eq!(Outcome::of(&[]), None);
        assert_eq!(Outcome::of(&[alike(), alike()]), Some(Outcome::Alike));
        let told = ["b: we refuse it: bad", "b: the other program refuses it, too: worse"].map(str::to_owned);
        assert_eq!(Outcome::of(&[alike(), refused()]), Some(Outcome::Refused(told.into())));
        let told = "c: the other program refuses it, and we do not: worse".to_owned();
        let differs = sides("c", Ok("kind: A\n"), Err("worse"));
        assert_eq!(Outcome::of(&[alike(), refused(), differs]), Some(Outcome::Different(vec![told])));
    }
}
