//! Extracts the texts that people read from sources and pages: by lines and quotes, without a
//! parser.

/// Returns the comments of a source, each run of comment lines as one text, without blocks of code.
pub(super) fn comments(source: &str) -> Vec<String> {
    runs(source, |line| line.strip_prefix("//").map(|text| text.trim_start_matches(['/', '!'])))
}

/// Returns the help texts of a source with clap arguments: doc comments, and the strings of
/// attributes.
pub(super) fn help(source: &str) -> Vec<String> {
    let mut texts = runs(source, |line| line.strip_prefix("///"));
    texts.extend(["command", "arg"].into_iter().flat_map(|name| attribute_strings(source, name)));
    texts
}

/// Returns the text of a page without blocks of code.
pub(super) fn prose(page: &str) -> String {
    runs(page, |line| Some(line)).join("\n")
}

/// Returns the text of each run of lines for which `comment` returns a text, without blocks of
/// code.
fn runs(text: &str, comment: fn(&str) -> Option<&str>) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for line in text.lines() {
        let Some(text) = comment(line.trim_start()) else {
            (is_open, is_code) = (false, false);
            continue;
        };
        if text.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            match runs.last_mut().filter(|_| is_open) {
                Some(run) => *run = format!("{run}\n{}", text.trim()),
                None => runs.push(text.trim().to_owned()),
            }
            is_open = true;
        }
    }
    runs
}

/// Returns the string literals in the attributes of this name, such as `#[error("…")]`.
pub(super) fn attribute_strings(source: &str, name: &str) -> Vec<String> {
    let mut strings = Vec::new();
    for attribute in source.split(&format!("#[{name}(")).skip(1) {
        let mut depth = 1_u32;
        let mut rest = attribute.chars();
        while depth > 0 {
            match rest.next() {
                Some('"') => strings.push(literal(&mut rest)),
                Some('(') => depth += 1,
                Some(')') => depth -= 1,
                Some(_) => {}
                None => break,
            }
        }
    }
    strings
}

/// Returns the content of a string literal whose quote has been read. An escape counts as a space.
fn literal(rest: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            '"' => break,
            '\\' => text.push(if rest.next() == Some('"') { '"' } else { ' ' }),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_comment_lines_is_one_comment_without_code() {
        let source = "//! One\n//! two.\n//! ```\n//! code\n//! ```\n\nfn f() {} // no\n    /// Three.\n";
        assert_eq!(comments(source), ["One\ntwo.", "Three."]);
    }

    #[test]
    fn strings_of_attributes_end_with_the_attribute() {
        let source = "#[error(\"a \\\"b\\\" ) {}\", c(\"d\"))]\nlet e = \"f\";\n#[error(transparent)]\n";
        assert_eq!(attribute_strings(source, "error"), ["a \"b\" ) {}", "d"]);
    }

    #[test]
    fn help_is_doc_comments_and_strings_of_attributes() {
        let source = "// private\n/// Prints.\n#[command(after_help = \"\\\nExamples:\")]\n";
        assert_eq!(help(source), ["Prints.", " Examples:"]);
    }

    #[test]
    fn blocks_of_code_are_no_prose() {
        assert_eq!(prose("# A\n```\ncode\n```\nb"), "# A\nb");
    }
}
