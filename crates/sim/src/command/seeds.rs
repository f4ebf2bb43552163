//! `run`: the selection of seeds and grounds, or of a tape.

use setpoint_sim::universe::Ground;

use super::{ENOUGH_SEEDS, HELP};

/// The arguments of `run`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Seeds(Seeds),
    /// The file of a tape.
    Tape(String),
}

/// The seeds to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seeds {
    pub(super) number: u64,
    from: u64,
    pub(super) grounds: Vec<Ground>,
}

impl Asked {
    /// Unknown arguments are refused: a run that ignores one would print `ok` all the same.
    pub(super) fn read(options: &[&str]) -> Result<Self, String> {
        let mut seeds = Seeds::enough();
        let mut tape = None;
        for option in options.chunks(2) {
            let [name, value] = option else { return Err(format!("{} needs a value\n\n{HELP}", option[0])) };
            let number = || value.parse().map_err(|_| format!("{name}: `{value}` is not a number"));
            match *name {
                "--seeds" => seeds.number = number()?,
                "--from" => seeds.from = number()?,
                "--only" => seeds.grounds = vec![ground(value)?],
                "--replay" => tape = Some((*value).to_owned()),
                _ => return Err(format!("there is no option `{name}`\n\n{HELP}")),
            }
        }
        match tape {
            Some(_) if options.len() > 2 => Err("a tape contains all options: use --replay alone".to_owned()),
            Some(file) => Ok(Self::Tape(file)),
            None if seeds.number == 0 => Err("--seeds: at least one seed is required".to_owned()),
            None if seeds.from.checked_add(seeds.number).is_none() => {
                Err("--from: the seeds would exceed the range of 64 bits".to_owned())
            }
            None => Ok(Self::Seeds(seeds)),
        }
    }
}

fn ground(named: &str) -> Result<Ground, String> {
    let ground = Ground::ALL.into_iter().find(|ground| ground.to_string() == named);
    ground.ok_or(format!("--only: `{named}` is neither `plain` nor `clusters`"))
}

impl Seeds {
    /// Returns enough seeds to find every fault and refusal.
    pub(super) fn enough() -> Self {
        Self { number: ENOUGH_SEEDS, from: 0, grounds: Ground::ALL.to_vec() }
    }

    /// Returns every seed on every ground.
    pub(super) fn all(&self) -> impl Iterator<Item = (Ground, u64)> {
        let seeds = self.from..self.from + self.number;
        seeds.flat_map(|seed| self.grounds.iter().map(move |ground| (*ground, seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_chosen_by_number_first_one_and_ground() {
        assert_eq!(Asked::read(&[]), Ok(Asked::Seeds(Seeds::enough())));
        let some = Seeds { number: 3, from: 7, grounds: vec![Ground::Plain] };
        assert_eq!(some.all().map(|(_, seed)| seed).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!(Asked::read(&["--from", "7", "--only", "plain", "--seeds", "3"]), Ok(Asked::Seeds(some)));
    }

    #[test]
    fn a_tape_is_replayed() {
        assert_eq!(Asked::read(&["--replay", "seed-plain-7.tape"]), Ok(Asked::Tape("seed-plain-7.tape".to_owned())));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (options, problem) in [
            (["--sedes", "9"].as_slice(), "there is no option `--sedes`"),
            (&["--seeds"], "--seeds needs a value"),
            (&["--seeds", "many"], "--seeds: `many` is not a number"),
            (&["--seeds", "0"], "at least one seed is required"),
            (&["--from", "18446744073709551615"], "exceed the range of 64 bits"),
            (&["--only", "moons"], "`moons` is neither"),
            (&["--replay", "a.tape", "--seeds", "5"], "use --replay alone"),
        ] {
            let read = Asked::read(options);
            assert!(read.as_ref().is_err_and(|told| told.contains(problem)), "{options:?}: {read:?}");
        }
    }
}
