//! Wraps text into lines that fit.

/// Returns the columns that a text takes. Every character counts as one: close enough for names and
/// sentences.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns the lines of a text, none wider than `limit`: broken between words if possible, within a
/// word otherwise. Line breaks of the text itself stay. `None` adds no line breaks.
pub(crate) fn wrap(text: &str, limit: Option<usize>) -> Vec<String> {
    let Some(limit) = limit.map(|limit| limit.max(1)) else {
        return text.split('\n').map(str::to_owned).collect();
    };
    text.split('\n').flat_map(|line| wrap_line(line, limit)).collect()
}

fn wrap_line(line: &str, limit: usize) -> Vec<String> {
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
        for letter in word.chars() {
            if width(&current) == limit {
                lines.push(std::mem::take(&mut current));
            }
            current.push(letter);
        }
    }
    lines.push(current);
    lines
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
    fn the_lines_of_a_text_stay_its_lines() {
        assert_eq!(wrap("one\ntwo three", Some(5)), ["one", "two", "three"]);
        assert_eq!(wrap("one\ntwo three", None), ["one", "two three"]);
        assert_eq!(wrap("", Some(5)), [""]);
    }
}
