//! Upper and lower case as in Go: each letter maps to one letter, independent of context. Rust uses
//! the full Unicode mapping, in which `ß` becomes `SS`.

pub(super) fn upper(c: char) -> char {
    alone(c.to_uppercase()).unwrap_or(match c {
        // Greek letters with an iota below: their capitals have it at the side.
        '\u{1f80}'..='\u{1faf}' => char::from_u32(u32::from(c) | 8).unwrap_or(c),
        '\u{1fb3}' => '\u{1fbc}',
        '\u{1fc3}' => '\u{1fcc}',
        '\u{1ff3}' => '\u{1ffc}',
        c => c,
    })
}

pub(super) fn lower(c: char) -> char {
    // Only one letter maps to two: the Turkish capital I with a dot.
    alone(c.to_lowercase()).unwrap_or('i')
}

fn alone(mut letters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if letters.len() == 1 { letters.next() } else { None }
}
