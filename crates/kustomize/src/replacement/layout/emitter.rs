//! Writes the lines of a text, with new lines where go-yaml begins them. Comments wait until their
//! node is written.

use super::attach::Comments;

/// Comments that wait to be written. One that is not written at its node remains for a later one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting<'n> {
    pub(super) head: &'n str,
    pub(super) line: &'n str,
    pub(super) foot: &'n str,
    /// The foot comment of the entry before, which is written before the head.
    pub(super) tail: &'n str,
    /// The comment after a key.
    pub(super) key_line: &'n str,
}

#[derive(Debug)]
pub(super) struct Emitter<'n> {
    pub(super) out: String,
    pub(super) column: usize,
    /// `None` before the first collection.
    pub(super) indent: Option<usize>,
    /// The number of open brackets.
    pub(super) flow: usize,
    /// The last character was a blank or a line break.
    pub(super) is_blank: bool,
    /// The line has only blanks and dashes so far.
    pub(super) is_indention: bool,
    /// The indentation of the foot comment that was written last: a blank line separates it from a
    /// node at the same indentation.
    pub(super) foot_indent: Option<usize>,
    /// A tag was written.
    pub(super) has_tags: bool,
    pub(super) comments: Waiting<'n>,
}

fn set<'n>(waiting: &mut &'n str, text: &'n str) {
    if !text.is_empty() {
        *waiting = text;
    }
}

impl<'n> Emitter<'n> {
    pub(super) fn new() -> Self {
        Self {
            out: String::new(),
            column: 0,
            indent: None,
            flow: 0,
            is_blank: true,
            is_indention: true,
            foot_indent: None,
            has_tags: false,
            comments: Waiting::default(),
        }
    }

    /// Sets the comments of a node that begins: all comments of a scalar, only the head of a
    /// collection.
    pub(super) fn announce(&mut self, comments: &'n Comments, is_collection: bool) {
        set(&mut self.comments.head, &comments.head);
        if !is_collection {
            self.announce_end(comments);
        }
    }

    pub(super) fn announce_end(&mut self, comments: &'n Comments) {
        set(&mut self.comments.line, &comments.line);
        set(&mut self.comments.foot, &comments.foot);
    }

    /// Sets the comments of a key. Its foot comment comes with the next key.
    pub(super) fn announce_key(&mut self, comments: &'n Comments, tail: &'n str) {
        set(&mut self.comments.head, &comments.head);
        set(&mut self.comments.line, &comments.line);
        set(&mut self.comments.tail, tail);
    }

    pub(super) fn has_comment_behind(&self) -> bool {
        !(self.comments.line.is_empty() && self.comments.foot.is_empty() && self.comments.tail.is_empty())
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    pub(super) fn break_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.is_indention = true;
    }

    /// Writes a token that does not begin a line.
    pub(super) fn sign(&mut self, text: &str, needs_blank: bool) {
        if needs_blank && !self.is_blank {
            self.put(" ");
        }
        self.put(text);
        (self.is_blank, self.is_indention) = (false, false);
    }

    pub(super) fn dash(&mut self) {
        let is_indention = self.is_indention;
        self.sign("-", true);
        self.is_indention = is_indention;
    }

    pub(super) fn bracket(&mut self, text: &str) {
        self.sign(text, true);
        self.is_blank = true;
    }

    /// Moves to the beginning of a line, on a new one if this one is not empty.
    pub(super) fn indent(&mut self) {
        let indent = self.indent.unwrap_or_default();
        if !self.is_indention || self.column > indent || self.column == indent && !self.is_blank {
            self.break_line();
        }
        if self.foot_indent.take() == Some(indent) {
            self.break_line();
        }
        let missing = indent.saturating_sub(self.column);
        self.out.extend(std::iter::repeat_n(' ', missing));
        self.column += missing;
        self.is_blank = true;
    }

    /// Writes content one level further in.
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = self.indent;
        self.indent = Some(outer.unwrap_or_default() + 2);
        write(self);
        self.indent = outer;
    }

    pub(super) fn head_comment(&mut self) {
        let tail = std::mem::take(&mut self.comments.tail);
        if !tail.is_empty() {
            self.indent();
            self.comment(tail);
            self.foot_indent = Some(self.indent.unwrap_or_default());
        }
        let head = std::mem::take(&mut self.comments.head);
        if !head.is_empty() {
            self.indent();
            self.comment(head);
        }
    }

    pub(super) fn line_comment(&mut self) {
        let line = std::mem::take(&mut self.comments.line);
        if !line.is_empty() {
            if !self.is_blank {
                self.put(" ");
            }
            self.comment(line);
        }
    }

    pub(super) fn foot_comment(&mut self) {
        let foot = std::mem::take(&mut self.comments.foot);
        if !foot.is_empty() {
            self.indent();
            self.comment(foot);
            self.foot_indent = Some(self.indent.unwrap_or_default());
        }
    }

    fn comment(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.break_line();
            }
            if !line.is_empty() {
                if at > 0 {
                    self.indent();
                }
                self.put(line);
                self.is_indention = false;
            }
        }
        if !text.ends_with('\n') {
            self.break_line();
        }
        self.is_blank = true;
    }
}
