//! Suggestions for misspelled names.

/// Returns the most similar name of `known`, if it is similar enough for a typing error.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let tolerated = (name.chars().count() / 3).clamp(1, 3);
    let ranked =
        known.into_iter().map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate));
    ranked
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= tolerated)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(64).collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut row = vec![i + 1; to.len() + 1];
        for (j, &b) in to.iter().enumerate() {
            row[j + 1] = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == to[j - 1] && from[i - 1] == b {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_recognised_and_other_names_are_not() {
        let known = ["interval", "branch", "url", "credentialsFrom"];
        assert_eq!(nearest("intervall", known), Some("interval"));
        assert_eq!(nearest("Interval", known), Some("interval"));
        assert_eq!(nearest("ulr", known), Some("url"));
        assert_eq!(nearest("credentialFrom", known), Some("credentialsFrom"));
        assert_eq!(nearest("replicas", known), None);
    }
}
