//! Shrinks a case while it still differs: removes files, then lines together with the lines nested
//! below them.

use crate::case::{BUILT, Case};

/// The maximum number of attempts.
const TRIES: usize = 1500;

pub(super) fn shrink(case: Case, mut differs: impl FnMut(&Case) -> bool) -> Case {
    let mut shrinking = Shrinking { case, left: TRIES, differs: &mut differs };
    loop {
        let before = shrinking.case.clone();
        shrinking.drop_files();
        let names: Vec<String> = shrinking.case.files.keys().cloned().collect();
        for name in names {
            shrinking.drop_documents(&name);
            shrinking.drop_lines(&name);
        }
        if shrinking.case == before || shrinking.left == 0 {
            return shrinking.case;
        }
    }
}

struct Shrinking<'d> {
    case: Case,
    left: usize,
    differs: &'d mut dyn FnMut(&Case) -> bool,
}

impl Shrinking<'_> {
    /// Accepts a smaller case if it still differs.
    fn take(&mut self, smaller: Case) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let is_taken = (self.differs)(&smaller);
        if is_taken {
            self.case = smaller;
        }
        is_taken
    }

    fn drop_files(&mut self) {
        let names: Vec<String> = self.case.files.keys().cloned().collect();
        for name in names {
            if name != format!("{BUILT}/kustomization.yaml") {
                let mut smaller = self.case.clone();
                smaller.files.remove(&name);
                self.take(smaller);
            }
        }
    }

    fn drop_documents(&mut self, name: &str) {
        let mut at = 0;
        loop {
            let documents: Vec<&str> = self.case.files[name].split("---\n").collect();
            if at >= documents.len() || documents.len() == 1 {
                return;
            }
            let kept = documents.iter().enumerate().filter(|(number, _)| *number != at);
            let rest: Vec<&str> = kept.map(|(_, document)| *document).collect();
            let rest = rest.join("---\n");
            let mut smaller = self.case.clone();
            smaller.files.insert(name.to_owned(), rest);
            at += usize::from(!self.take(smaller));
        }
    }

    fn drop_lines(&mut self, name: &str) {
        let mut at = 0;
        loop {
            let lines: Vec<&str> = self.case.files[name].lines().collect();
            if at >= lines.len() {
                return;
            }
            let block = block(&lines, at);
            let without = |range: std::ops::Range<usize>| -> String {
                let kept = lines.iter().enumerate().filter(|(at, _)| !range.contains(at));
                kept.map(|(_, line)| format!("{line}\n")).collect()
            };
            let (all, one) = (without(at..at + block), without(at..at + 1));
            let mut smaller = self.case.clone();
            smaller.files.insert(name.to_owned(), all);
            let mut is_taken = self.take(smaller);
            if !is_taken && block > 1 {
                let mut smaller = self.case.clone();
                smaller.files.insert(name.to_owned(), one);
                is_taken = self.take(smaller);
            }
            at += usize::from(!is_taken);
        }
    }
}

/// Returns the number of lines that belong to one: the lines indented below it, and the items of a
/// list at its own column.
fn block(lines: &[&str], at: usize) -> usize {
    let column = |line: &str| line.len() - line.trim_start().len();
    let (own, is_item) = (column(lines[at]), lines[at].trim_start().starts_with('-'));
    let is_below = |line: &&&str| {
        line.trim().is_empty()
            || column(line) > own
            || (!is_item && column(line) == own && line.trim_start().starts_with("- "))
    };
    1 + lines[at + 1..].iter().take_while(is_below).count()
}
