//! Patterns, and what they match.

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
