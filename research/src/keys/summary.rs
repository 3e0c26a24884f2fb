//! A summary of a key set, computed in one pass.

use crate::error::Result;

/// Figures of a sorted set.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<T> {
    /// Number of keys, repeats included.
    pub count: u64,
    /// Number of different keys.
    pub distinct: u64,
    /// Records of the key that comes most often.
    pub longest_repeat: u64,
    /// Least and greatest key; none of an empty set.
    pub ends: Option<(T, T)>,
}

/// Reads sorted keys to their end.
///
/// # Errors
/// Errors of the key stream.
pub fn summarise<T: PartialEq + Clone>(keys: impl Iterator<Item = Result<T>>) -> Result<Summary<T>> {
    let mut summary = Summary { count: 0, distinct: 0, longest_repeat: 0, ends: None };
    let mut repeat = 0;
    for key in keys {
        let key = key?;
        summary.count += 1;
        match &mut summary.ends {
            Some((_, last)) if *last == key => repeat += 1,
            Some((_, last)) => {
                *last = key;
                summary.distinct += 1;
                repeat = 1;
            }
            None => {
                summary.ends = Some((key.clone(), key));
                summary.distinct = 1;
                repeat = 1;
            }
        }
        summary.longest_repeat = summary.longest_repeat.max(repeat);
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_and_ends_are_counted() -> Result<()> {
        let of = |keys: &[u64]| summarise(keys.iter().map(|key| Ok(*key)));
        assert_eq!(of(&[])?, Summary { count: 0, distinct: 0, longest_repeat: 0, ends: None });
        assert_eq!(of(&[7])?, Summary { count: 1, distinct: 1, longest_repeat: 1, ends: Some((7, 7)) });
        let repeated = Summary { count: 6, distinct: 3, longest_repeat: 3, ends: Some((1, 9)) };
        assert_eq!(of(&[1, 1, 5, 5, 5, 9])?, repeated);
        Ok(())
    }
}
