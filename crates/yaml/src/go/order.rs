//! The order in which go-yaml writes the keys of a mapping: numbers within names by value, letters
//! after all other characters.

use std::cmp::Ordering;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Compares two keys.
pub fn natural(one: &str, other: &str) -> Ordering {
    let shared = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let shared = floor_char_boundary(one, shared);
    let (before, left, right) = (&one[..shared], &one[shared..], &other[shared..]);
    let (Some(a), Some(b)) = (left.chars().next(), right.chars().next()) else {
        return left.len().cmp(&right.len());
    };
    match (is_letter(a), is_letter(b)) {
        (true, true) => return a.cmp(&b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero that follows other digits of a number is part of it.
    let continues = (a == '0' || b == '0') && before.chars().rev().take_while(|c| is_digit(*c)).any(|c| c != '0');
    let (left, right) = (Run::at(left, continues), Run::at(right, continues));
    left.value.cmp(&right.value).then(left.length.cmp(&right.length)).then(a.cmp(&b))
}

/// A run of consecutive digits.
struct Run {
    value: i64,
    length: usize,
}

impl Run {
    fn at(text: &str, continues: bool) -> Self {
        let digits = text.chars().take_while(|c| is_digit(*c));
        digits.fold(Self { value: i64::from(continues), length: 0 }, |Self { value, length }, c| {
            // Long numbers wrap around, as in Go.
            let digit = i64::from(u32::from(c)) - i64::from(u32::from('0'));
            Self { value: value.wrapping_mul(10).wrapping_add(digit), length: length + 1 }
        })
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

fn is_letter(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphabetic(),
        false => c.general_category_group() == GeneralCategoryGroup::Letter,
    }
}

fn is_digit(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_digit(),
        false => c.general_category() == GeneralCategory::DecimalNumber,
    }
}

/// Sorts by [`natural`], which is not a total order: `110-`, `01010B` and `0B` form a cycle. With
/// such keys Go's output is left to chance, while ours is always the same. A sort of the standard
/// library might panic.
pub(super) fn sort<T>(entries: Vec<T>, key: &impl Fn(&T) -> &str) -> Vec<T> {
    if entries.is_sorted_by(|one, other| natural(key(one), key(other)) != Ordering::Greater) {
        return entries;
    }
    let mut left = entries;
    let right = left.split_off(left.len() / 2);
    merge(sort(left, key), sort(right, key), key)
}

fn merge<T>(left: Vec<T>, right: Vec<T>, key: &impl Fn(&T) -> &str) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let first = match natural(key(one), key(other)) {
            Ordering::Greater => &mut right,
            _ => &mut left,
        };
        merged.extend(first.next());
    }
    merged.extend(left.chain(right));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_as_go_has_them() {
        // Each key sorts before all that follow it.
        let ordered = [
            "", "-", "1", "1-", "2", "9", "10", "10a", "12", "A", "A-", "A.b", "A1", "A2", "A10", "AB", "a", "a-b",
            "a.b", "a/b", "a0", "a00", "a1", "a01", "a2", "a10", "aB", "aa", "b", "é",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                assert_eq!(natural(one, other), at.cmp(&other_at), "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn keys_that_are_in_no_order_are_sorted_somehow() {
        let circle = ["110-", "01010B", "0B"].map(ToOwned::to_owned);
        let wrapped = (0..500).map(|n| format!("{}{n}", "9".repeat(n % 40)));
        let keys: Vec<String> = wrapped.chain(circle).collect();
        let sorted = sort(keys.clone(), &|key| key);
        let (mut one, mut other) = (keys, sorted);
        one.sort();
        other.sort();
        assert_eq!(one, other);
    }
}
