//! Wraps text into lines that fit.

/// Returns the columns that a text takes. Every character counts as one: close enough for names and
/// sentences.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns the lines of a text, none wider than `limit`: broken between words if possible, within a
/// word otherwise. Line breaks of the text itself stay. `None` adds no line breaks.
pub(crate) fn wrap(text: &str, limit: Option<usize>) -> Vec<String> {
    match limit {
        Some(limit) => wrap_words(text, limit, limit),
        None => text.split('\n').map(str::to_owned).collect(),
    }
}

/// Wraps a text like [`wrap`], but keeps words of up to `widest` columns whole. Such a word has a
/// line of its own if it is wider than `limit`.
pub(super) fn wrap_words(text: &str, limit: usize, widest: usize) -> Vec<String> {
    let limit = limit.max(1);
    text.split('\n').flat_map(|line| wrap_line(line, limit, widest.max(limit))).collect()
}

fn wrap_line(line: &str, limit: usize, widest: usize) -> Vec<String> {
    if width(line) <= limit {
        return vec![line.to_owned()];
    }
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in line.split_whitespace() {
        if !current.is_empty() && width(&current) + 1 + width(word) > limit {
            lines.push(std::mem::take(&mut current));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        if width(word) <= widest {
            current.push_str(word);
        } else {
            let mut parts = pieces(word, limit);
            current = parts.pop().unwrap_or_default();
            lines.append(&mut parts);
        }
    }
    lines.push(current);
    lines
}

/// Returns the parts of a text that is broken after every `limit` characters.
pub(super) fn pieces(text: &str, limit: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    match letters.is_empty() {
        true => vec![String::new()],
        false => letters.chunks(limit.max(1)).map(|piece| piece.iter().collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("the app is held", Some(8)), ["the app", "is held"]);
        assert_eq!(wrap("/etc/setpoint/token is", Some(8)), ["/etc/set", "point/to", "ken is"]);
    }

    #[test]
    fn a_word_that_fits_a_line_of_its_own_is_not_broken() {
        assert_eq!(wrap_words("read /etc/setpoint/token now", 8, 20), ["read", "/etc/setpoint/token", "now"]);
        assert_eq!(wrap_words("read /etc/setpoint/token", 8, 12), ["read", "/etc/set", "point/to", "ken"]);
    }

    #[test]
    fn the_lines_of_a_text_stay_its_lines() {
        assert_eq!(wrap("one\ntwo three", Some(5)), ["one", "two", "three"]);
        assert_eq!(wrap("one\ntwo three", None), ["one", "two three"]);
        assert_eq!(wrap("", Some(5)), [""]);
    }
}
