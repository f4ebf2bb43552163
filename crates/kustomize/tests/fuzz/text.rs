//! The texts of files: joins documents, and breaks them.

use super::dice::Dice;
use super::words::odd;
use super::world::World;

/// Separators of two documents.
const BETWEEN: &[&str] =
    &["--- # next\n", "---\n# remark\n", "---\n\n", "...\n---\n", "---\n---\n", "--- \n", "# end\n---\n", "\n---\n"];

/// Joins documents into a file.
pub(super) fn joined(documents: &[String], dice: &mut Dice) -> String {
    let mut file = String::new();
    for (at, document) in documents.iter().enumerate() {
        if at > 0 {
            file.push_str(if dice.percent(8) { dice.pick(BETWEEN) } else { "---\n" });
        }
        file.push_str(document);
    }
    if dice.percent(5) {
        file.insert_str(
            0,
            dice.pick(&["---\n", "# remark\n---\n", "# remark\n\n", "--- # first\n", "\n", "%YAML 1.1\n---\n"]),
        );
    }
    if dice.percent(3) {
        file.push_str(dice.pick(&[
            "---\n# nothing\n---\n",
            "---\n",
            "...\n",
            "# remark",
            "---\nnull\n",
            "---\n{}\n",
            "  \n",
        ]));
    }
    varied(file, dice)
}

/// Varies the text as another editor would have written it.
pub(super) fn varied(mut text: String, dice: &mut Dice) -> String {
    match dice.below(120) {
        0 => text = text.replace('\n', "\r\n"),
        1 => text.insert(0, '\u{feff}'),
        2 => text = text.trim_end().to_owned(),
        _ => {}
    }
    text
}

impl World {
    /// Breaks a line of a file.
    pub(super) fn spoil(&mut self) {
        let at = self.dice.below(self.case.files.len());
        let Some((_, text)) = self.case.files.iter_mut().nth(at) else { return };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            return;
        }
        let at = self.dice.below(lines.len());
        match self.dice.below(if self.dice.has_flow { 5 } else { 6 }) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
            2 => lines[at].insert(0, ' '),
            3 => lines.truncate(at),
            5 => lines[at] = lines[at].split(':').next().unwrap_or_default().to_owned() + ":",
            _ => {
                let odd = odd(&mut self.dice).write(&mut self.dice);
                let start = lines[at].split_inclusive(": ").next().unwrap_or_default().to_owned();
                lines[at] = start + odd.trim_end();
            }
        }
        *text = lines.join("\n") + "\n";
    }
}
