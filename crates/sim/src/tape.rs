//! The choice tape: every decision of a run, labelled. A seed becomes useless with the next commit
//! (one more draw shifts all later ones); a tape can be replayed and shrunk. Zero always means "the
//! plain choice", so a tape of zeros is a run without trouble.

use std::borrow::Cow;
use std::fmt::Write as _;

/// One decision. A run makes thousands with static labels; only the labels of a tape that was read
/// are owned texts.
pub type Choice = (Cow<'static, str>, u32);

/// The source of decisions, and the record of them.
#[derive(Debug)]
pub struct Tape {
    source: Source,
    recorded: Vec<(&'static str, u32)>,
}

#[derive(Debug)]
enum Source {
    /// Drawn from a seed (SplitMix64: small, fast, good enough to explore with).
    Seed(u64),
    /// Read from an earlier tape.
    Replay { choices: Vec<Choice>, next: usize },
}

impl Tape {
    pub fn from_seed(seed: u64) -> Self {
        Self { source: Source::Seed(seed ^ 0x5e7_9017), recorded: Vec::new() }
    }

    pub fn replay(choices: Vec<Choice>) -> Self {
        Self { source: Source::Replay { choices, next: 0 }, recorded: Vec::new() }
    }

    /// Returns a number below `n`.
    pub fn pick(&mut self, label: &'static str, n: u32) -> u32 {
        let drawn = match &mut self.source {
            Source::Seed(state) => ((u64::from(n) * (draw(state) >> 32)) >> 32) as u32,
            Source::Replay { choices, next } => replayed(choices, next, label).min(n.saturating_sub(1)),
        };
        self.recorded.push((label, drawn));
        drawn
    }

    /// Reports whether an event with this probability happens, per mille. A certain result is no
    /// choice.
    pub fn happens(&mut self, label: &'static str, per_mille: u32) -> bool {
        if per_mille == 0 || per_mille >= 1000 {
            return per_mille != 0;
        }
        let drawn = match &mut self.source {
            Source::Seed(state) => u32::from(((draw(state) >> 32) * 1000) >> 32 < u64::from(per_mille)),
            Source::Replay { choices, next } => replayed(choices, next, label).min(1),
        };
        self.recorded.push((label, drawn));
        drawn == 1
    }

    /// Records a decision that was made elsewhere: a replay of the record decides the same.
    pub fn settle(&mut self, label: &'static str, happens: bool) -> bool {
        self.recorded.push((label, u32::from(happens)));
        happens
    }

    /// Returns the decisions so far.
    pub fn choices(&self) -> Vec<Choice> {
        self.recorded.iter().map(|(label, value)| (Cow::Borrowed(*label), *value)).collect()
    }
}

/// Returns the next choice with this label. After a change of the code or a cut of the shrinker
/// there may be others in between: they are skipped. If none is left, the plain choice is made.
fn replayed(choices: &[Choice], next: &mut usize, label: &str) -> u32 {
    const FAR: usize = 64;
    let ahead = choices.iter().skip(*next).take(FAR).position(|(found, _)| found == label);
    match ahead {
        Some(distance) => {
            *next += distance + 1;
            choices[*next - 1].1
        }
        None => 0,
    }
}

fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Formats a tape as text: a label and a number per line.
pub fn to_text(choices: &[Choice]) -> String {
    choices.iter().fold(String::new(), |mut text, (label, value)| {
        writeln!(text, "{label} {value}").expect("writing to a String cannot fail");
        text
    })
}

/// Reads a tape; lines that start with `#` are comments.
pub fn from_text(text: &str) -> Result<Vec<Choice>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|(n, line)| {
            let (label, value) = line.rsplit_once(' ').ok_or(format!("line {}: expected `label number`", n + 1))?;
            let value = value.parse().map_err(|_| format!("line {}: `{value}` is not a number", n + 1))?;
            Ok((Cow::Owned(label.to_owned()), value))
        })
        .collect()
}

/// Makes a failing tape shorter and plainer: cuts ever smaller pieces, then sets the rest to zero
/// where it still fails. `fails` runs the tape; `tries` bounds how often.
pub fn shrink(mut tape: Vec<Choice>, tries: usize, mut fails: impl FnMut(&[Choice]) -> bool) -> Vec<Choice> {
    let mut left = tries;
    let mut piece = tape.len() / 2;
    while piece > 0 && left > 0 {
        let mut at = 0;
        while at < tape.len() && left > 0 {
            let mut shorter = tape.clone();
            shorter.drain(at..(at + piece).min(tape.len()));
            left -= 1;
            if fails(&shorter) {
                tape = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    for at in 0..tape.len() {
        if left == 0 || tape[at].1 == 0 {
            continue;
        }
        let mut plainer = tape.clone();
        plainer[at].1 = 0;
        left -= 1;
        if fails(&plainer) {
            tape = plainer;
        }
    }
    tape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replayed_tape_makes_the_same_choices() {
        let mut drawn = Tape::from_seed(7);
        let first: Vec<_> = (0..50).map(|n| (drawn.pick("p", 10 + n), drawn.happens("h", 300))).collect();
        let text = to_text(&drawn.choices());
        let mut replayed = Tape::replay(from_text(&text).unwrap());
        let second: Vec<_> = (0..50).map(|n| (replayed.pick("p", 10 + n), replayed.happens("h", 300))).collect();
        assert_eq!(first, second);
        assert_eq!(
            (replayed.pick("p", 9), replayed.happens("h", 999)),
            (0, false),
            "at its end the plain thing happens"
        );
    }

    #[test]
    fn shrinking_keeps_what_fails() {
        let tape: Vec<Choice> = (0..64).map(|n| ("x".into(), n)).collect();
        let shrunk = shrink(tape, 1_000, |tape| tape.iter().any(|(_, value)| *value == 40));
        assert_eq!(shrunk, [("x".into(), 40)]);
    }
}
