//! Groups comments on consecutive lines, and splits them as go-yaml does. Comments that end before
//! a blank line, or are further out than the open collection, are the foot of the node before; the
//! rest is the head of the node after.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Head,
    Line,
    Foot,
}

#[derive(Debug)]
pub(super) struct Comment {
    pub(super) place: Place,
    pub(super) text: String,
    /// The first token that it belongs to.
    pub(super) owner: usize,
    pub(super) at: usize,
    /// Counted from 1.
    pub(super) column: usize,
    pub(super) end: usize,
    /// The start of the blanks before it.
    pub(super) from: usize,
}

/// A position; lines and columns count from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The comments that were read and not split yet.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) text: String,
    /// The position of the first one; its column counts from 1.
    pub(super) start: Mark,
    pub(super) owner: usize,
    pub(super) from: usize,
    /// The indentation of the open collection.
    pub(super) indent: usize,
    /// The line below the node before, if that can have a foot comment.
    pub(super) foot_line: Option<usize>,
    /// The current position. go-yaml counts a comment below another one as on the line of that one.
    pub(super) line: usize,
    pub(super) column: usize,
    /// There was a blank line.
    pub(super) has_blank_line: bool,
    /// Only blanks since the last comment.
    pub(super) is_blank: bool,
}

impl Group {
    /// Adds a comment, up to the end of its line.
    pub(super) fn add(&mut self, at: usize, comment: &str) {
        if self.text.is_empty() {
            self.start = Mark { at, line: self.line, column: self.column };
        } else {
            self.text.push('\n');
        }
        self.text.push_str(comment);
        (self.column, self.is_blank) = (0, false);
    }

    /// Handles an empty line.
    pub(super) fn blank_line(&mut self, at: usize) -> Option<Comment> {
        let ended = self.end_of_text(at);
        if !self.is_blank && !self.text.is_empty() {
            self.text.push('\n');
        }
        (self.has_blank_line, self.is_blank, self.column) = (true, true, 0);
        self.line += 1;
        ended
    }

    pub(super) fn end_of_text(&mut self, at: usize) -> Option<Comment> {
        let is_foot = self.foot_line == Some(self.start.line) || self.is_further_out();
        if self.is_blank || self.has_blank_line || !is_foot { None } else { self.end(at) }
    }

    /// Ends the group as a foot comment.
    pub(super) fn end(&mut self, at: usize) -> Option<Comment> {
        if self.is_further_out() && !self.text.is_empty() {
            self.owner = self.start.at;
        }
        self.part(at)
    }

    /// Ends the group as a foot comment if the next token is further out, and in another column.
    pub(super) fn further_out(&mut self, at: usize) -> Option<Comment> {
        let is_further_out = self.column <= self.indent && self.column != self.start.column;
        if is_further_out { self.part(at) } else { None }
    }

    /// Ends the group as a head comment.
    pub(super) fn head(mut self, end: usize) -> Option<Comment> {
        self.comment(Place::Head, self.start.at, end)
    }

    fn is_further_out(&self) -> bool {
        self.start.column <= self.indent
    }

    fn part(&mut self, at: usize) -> Option<Comment> {
        let foot = self.comment(Place::Foot, self.owner, at)?;
        (self.from, self.owner) = (at, at);
        Some(foot)
    }

    fn comment(&mut self, place: Place, owner: usize, end: usize) -> Option<Comment> {
        let text = std::mem::take(&mut self.text);
        let Mark { at, column, .. } = self.start;
        (!text.is_empty()).then_some(Comment { place, text, owner, at, column, end, from: self.from })
    }
}
