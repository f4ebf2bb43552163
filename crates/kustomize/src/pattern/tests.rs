//! Patterns, and the texts they match.

use super::*;

#[track_caller]
fn finds(pattern: &str, texts: &[&str], others: &[&str]) {
    let pattern = Pattern::new(pattern).unwrap();
    for text in texts {
        assert!(pattern.is_match(text, &Budget::default()), "{text}");
    }
    for text in others {
        assert!(!pattern.is_match(text, &Budget::default()), "{text}");
    }
}

#[test]
fn a_pattern_matches_anywhere_unless_it_says_where() {
    finds("b+", &["abc", "b"], &["", "ac"]);
    finds("^(web|api)-[0-9]{1,2}$", &["web-1", "api-42"], &["web-", "web-123", "x-web-1"]);
    finds("a.c", &["abc", "a-c"], &["a\nc"]);
    finds("(?s)a.c", &["a\nc"], &[]);
    finds("(?i)web", &["WEB", "wEb"], &["wab"]);
    finds("(?i)[^a-c]", &["d"], &["A", "b"]);
    finds(r"\bx\b", &["a x b", "x"], &["ax", "xb"]);
    finds(r"[[:alpha:]\d]+\.\Q*\E", &["a1.*"], &["a1.a"]);
    finds(r"^\x41\x{42}\101$", &["ABA"], &["ABB"]);
    finds(r"^\p{Lu}\PL$", &["A1"], &["a1", "AB"]);
    finds("(a*)*$", &["", "aaa", "b"], &[]);
}

#[test]
fn a_whole_pattern_is_put_together_as_text() {
    assert!(Pattern::whole("a|b").unwrap().is_match("b", &Budget::default()));
    assert!(!Pattern::whole("a|b").unwrap().is_match("ab", &Budget::default()));
    assert!(Pattern::new("a)(b").is_err());
    assert!(Pattern::whole("a)(b").unwrap().is_match("ab", &Budget::default()));
}

#[test]
fn what_could_take_forever_does_not() {
    let text = "a".repeat(20_000);
    assert!(!Pattern::new("(a+)+(a+)+b").unwrap().is_match(&text, &Budget::default()));
    assert_eq!(Pattern::new("(((a{1,100}){1,100}){1,100})").unwrap_err().problem, "invalid repeat count");
    assert_eq!(Pattern::new(&"(".repeat(100_000)).unwrap_err().problem, "expression nests too deeply");
}

#[test]
fn mistakes_are_told_in_the_words_of_go() {
    let told = Pattern::new("(a").unwrap_err().to_string();
    assert_eq!(told, "error parsing regexp: missing closing ): `(a`: write a regular expression of RE2");
}

#[track_caller]
fn spent(pattern: &str, text: &str) -> u64 {
    let budget = Budget::default();
    Pattern::new(pattern).unwrap().is_match(text, &budget);
    budget.spent().steps
}

#[test]
fn a_class_is_held_once_however_often_it_is_written_or_repeated() {
    let size = |pattern: &str| Pattern::new(pattern).unwrap().size();
    let distinct: String = ('\u{4e00}'..'\u{9e00}').step_by(2).collect();
    let once = size(&format!("[{distinct}]"));
    assert!(once > 8 * distinct.chars().count(), "{once}");
    assert!(size(&format!("[{distinct}]{{1000}}")) < once + 50_000);
    let (same, written) = ("ab".repeat(50_000), 100_000);
    assert!(size(&format!("[{same}]{{1000}}")) < 2 * written + 50_000);
}

#[test]
fn what_it_costs_to_ask_a_class_is_counted() {
    let text = "x".repeat(1_000);
    let distinct: String = ('\u{4e00}'..'\u{9e00}').step_by(2).collect();
    let one = spent("[a]c", &text);
    assert!(spent(&format!("[{distinct}]c"), &text) > one + 4_000);
    assert!(spent(r"[\p{Lu}\p{Greek}\p{Han}\PL]c", &text) > one + 7_000);
    assert!(spent(r"(?i)[\p{Lu}]c", &text) > spent(r"[\p{Lu}]c", &text));
}

#[test]
fn a_pattern_is_too_large_before_all_of_it_is_read() {
    for pattern in
        ["a.".repeat(60_000), "()".repeat(110_000), "|".repeat(110_000), format!(r"\Q{}\E.", "a".repeat(110_000))]
    {
        assert_eq!(Pattern::new(&pattern).unwrap_err().problem, "expression too large");
    }
    assert_eq!(Pattern::new(&format!("({}){{1000}}", "()".repeat(500))).unwrap_err().problem, "expression too large");
    assert!(Pattern::new(&format!("[{}x]a{}", "[:".repeat(50_000), "{1".repeat(40_000))).is_ok());
}
