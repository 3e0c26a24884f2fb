//! Names that are close to a mistyped one.

/// Most names that are suggested.
const SUGGESTIONS_MAX: usize = 3;

/// A question for a wrong name: `did you mean "aulid/blocks"?`, or nothing if no name is close to it.
#[must_use]
pub fn did_you_mean<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let close: Vec<String> = closest(wrong, names).into_iter().map(|name| format!("{name:?}")).collect();
    (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")))
}

/// The names that a wrong one is closest to, at most three, if it is close to any.
#[must_use]
pub fn closest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut close: Vec<(usize, &str)> = names.filter_map(|name| Some((distance_of(wrong, name)?, name))).collect();
    close.sort_by_key(|(distance, _)| *distance);
    let best = close.first().map_or(0, |(distance, _)| *distance);
    close
        .into_iter()
        .take_while(|(distance, _)| *distance == best)
        .take(SUGGESTIONS_MAX)
        .map(|(_, name)| name)
        .collect()
}

/// The edits between a wrong name and a name, or its part behind a slash; `None` if they are too many.
fn distance_of(wrong: &str, name: &str) -> Option<usize> {
    let wrong = wrong.to_lowercase();
    if wrong.is_empty() {
        return None;
    }
    let part = name.rsplit('/').next().unwrap_or(name);
    let allowed = wrong.chars().count().div_ceil(4);
    let edits = edits(&wrong, name).min(edits(&wrong, part));
    let is_part = wrong.chars().count() > 2 && name.contains(&*wrong);
    if edits <= allowed { Some(edits) } else { is_part.then_some(allowed) }
}

/// The insertions, removals, replacements and swaps of neighbours that turn one word into another.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_lead_to_the_ones_that_were_meant() {
        let names = [
            "aulid/blocks",
            "disk/block-size",
            "join/fig2",
            "bourbon/fig3",
            "join/fig3",
            "lognormal",
            "normal",
            "step",
        ];
        let asked = |wrong: &str| did_you_mean(wrong, names.into_iter());
        assert_eq!(asked("aulid/block").as_deref(), Some("did you mean \"aulid/blocks\"?"));
        assert_eq!(asked("blocks").as_deref(), Some("did you mean \"aulid/blocks\"?"));
        assert_eq!(asked("fig3").as_deref(), Some("did you mean \"bourbon/fig3\" or \"join/fig3\"?"));
        assert_eq!(asked("lognomral").as_deref(), Some("did you mean \"lognormal\"?"));
        assert_eq!(asked("Step").as_deref(), Some("did you mean \"step\"?"));
        assert_eq!(asked("conjure"), None);
        assert_eq!(asked(""), None);
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, expected) in [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3)] {
            assert_eq!((edits(from, to), edits(to, from)), (expected, expected), "{from} {to}");
        }
    }
}
