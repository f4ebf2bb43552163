//! Splits arriving bytes into whole values: the lines of a stream, and the items of a list. Neither
//! is ever held whole.

use futures_util::StreamExt;
use setpoint_core::time::Span;

use crate::requests::Failure;
use crate::wire::{Body, Wire, within};

/// The limit for an event: an object with its metadata, and room to spare.
const LONGEST: usize = 4 << 20;
/// The limit for the part of a list outside its items.
const LONGEST_REST: usize = 1 << 20;

/// The lines of a body.
pub(super) struct Lines {
    body: Body,
    held: Vec<u8>,
    /// The number of held bytes that are known to contain no newline.
    searched: usize,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self { body, held: Vec::new(), searched: 0 }
    }

    /// Returns the next line; `None` at the end of the body.
    pub(super) async fn next(&mut self, wire: &dyn Wire, patience: Span) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(end) = self.held[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.held.split_off(self.searched + end + 1);
                let mut line = std::mem::replace(&mut self.held, rest);
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.held.len();
            if self.searched > LONGEST {
                return Err(Failure::Malformed { detail: format!("an event is longer than {LONGEST} bytes") });
            }
            let Some(chunk) = within(wire, patience, self.body.next()).await else {
                return Err(Failure::Unanswered { detail: format!("no data for {patience}") });
            };
            match chunk {
                Some(chunk) => self.held.extend_from_slice(&chunk?),
                None => return Ok(None),
            }
        }
    }
}

/// Splits a list into its items as its bytes arrive, and keeps the rest.
#[derive(Debug, Default)]
pub(super) struct ListCutter {
    /// Everything except the items.
    rest: Vec<u8>,
    item: Vec<u8>,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The last string at the top level, which is the name of the next value.
    name: Vec<u8>,
    in_items: bool,
}

impl ListCutter {
    /// Takes bytes, and returns the items that end in them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
        let mut items = Vec::new();
        for &byte in bytes {
            if self.step(byte) {
                items.push(std::mem::take(&mut self.item));
            }
        }
        if self.item.len() > LONGEST || self.rest.len() > LONGEST_REST {
            return Err(Failure::Malformed { detail: "a list contains a value that is too long".to_owned() });
        }
        Ok(items)
    }

    /// Returns the list without its items, once it has arrived completely.
    pub(super) fn rest(self) -> Vec<u8> {
        self.rest
    }

    /// Takes a byte. Returns whether an item ends with it.
    fn step(&mut self, byte: u8) -> bool {
        let was_inside = self.in_items && self.depth >= 3;
        let opens = !self.in_text && matches!(byte, b'{' | b'[');
        let closes = !self.in_text && matches!(byte, b'}' | b']');
        self.read_text(byte);
        if opens {
            self.depth += 1;
            if self.depth == 2 && byte == b'[' && self.name == b"items" {
                self.in_items = true;
            }
        }
        if closes {
            self.depth = self.depth.saturating_sub(1);
            if self.depth == 1 {
                self.in_items = false;
            }
        }
        let inside = self.in_items && self.depth >= 3;
        let between = self.in_items && self.depth == 2 && !was_inside;
        if was_inside || inside {
            self.item.push(byte);
        } else if !(between && (byte == b',' || byte.is_ascii_whitespace())) {
            self.rest.push(byte);
        }
        was_inside && !inside
    }

    fn read_text(&mut self, byte: u8) {
        if !self.in_text {
            if byte == b'"' {
                self.in_text = true;
                if self.depth == 1 {
                    self.name.clear();
                }
            }
            return;
        }
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_text = false,
            _ if self.depth == 1 && self.name.len() < 64 => self.name.push(byte),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"kind":"List","metadata":{"continue":"a]\"}","items":[1]},"items":[{"a":"]}\\"}, {"b":[{"items":[]}]}],"x":{}}"#;

    #[test]
    fn a_list_is_cut_into_its_items_wherever_its_pieces_end() {
        for size in [1, 2, 3, 7, 1_000] {
            let mut cutter = ListCutter::default();
            let mut items = Vec::new();
            for piece in LIST.as_bytes().chunks(size) {
                items.extend(cutter.take(piece).unwrap());
            }
            let items: Vec<String> = items.into_iter().map(|item| String::from_utf8(item).unwrap()).collect();
            assert_eq!(items, [r#"{"a":"]}\\"}"#, r#"{"b":[{"items":[]}]}"#]);
            let rest = String::from_utf8(cutter.rest()).unwrap();
            assert_eq!(rest, r#"{"kind":"List","metadata":{"continue":"a]\"}","items":[1]},"items":[],"x":{}}"#);
        }
    }

    #[test]
    fn an_item_that_never_ends_is_given_up() {
        let mut cutter = ListCutter::default();
        cutter.take(br#"{"items":[{"a":""#).unwrap();
        let more = vec![b'x'; 1 << 20];
        let taken: Vec<_> = (0..6).map(|_| cutter.take(&more).is_ok()).collect();
        assert!(taken[0] && !taken[5], "{taken:?}");
    }
}
