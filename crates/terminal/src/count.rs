//! Counts as text for people.

/// A count with thousands separators: 1,234,567.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 block`, `2 blocks`, `2 entries`.
#[must_use]
pub fn counted(count: u64, what: &str) -> String {
    let count_shown = grouped(count);
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if count == 1 => format!("{count_shown} {what}"),
        Some(stem) => format!("{count_shown} {stem}ies"),
        None => format!("{count_shown} {what}s"),
    }
}

/// The first records of many, and the verb that goes with them: `the first 2 rows are`, `the first row is`.
#[must_use]
pub fn the_first(count: u64, what: &str) -> String {
    match count {
        1 => format!("the first {what} is"),
        count => format!("the first {} are", counted(count, what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_no_plural() {
        assert_eq!([0, 1, 2000].map(|count| counted(count, "block")), ["0 blocks", "1 block", "2,000 blocks"]);
        assert_eq!([1, 2].map(|count| counted(count, "entry")), ["1 entry", "2 entries"]);
        assert_eq!([1, 2].map(|count| counted(count, "more key")), ["1 more key", "2 more keys"]);
        assert_eq!([1, 2].map(|count| the_first(count, "row")), ["the first row is", "the first 2 rows are"]);
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1_234_567].map(grouped), ["0", "999", "1,234,567"]);
    }
}
