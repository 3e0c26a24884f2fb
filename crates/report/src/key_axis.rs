//! Keys on an axis from 0 to 1, by the eight bytes after the prefix that all share; and labels of keys that differ.

/// Letters of a label, about.
const LABEL_LETTERS: usize = 12;
/// Letters of a label at most, where shorter ones would be equal.
const LABEL_LETTERS_MAX: usize = 24;
/// Least distance of two labels, as a share of the axis.
const LABEL_DISTANCE: f64 = 0.24;

/// Keys on a line from 0 to 1.
#[derive(Debug)]
pub(crate) struct KeyPlaces {
    prefix: usize,
    low: f64,
    high: f64,
}

impl KeyPlaces {
    /// How keys are placed, for captions.
    pub(crate) const CAPTION: &'static str = "Keys stand at the number that their first eight bytes make, after the \
        prefix that all share: numbers and times by their value, text by its letters.";

    /// The line of these keys.
    pub(crate) fn of<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(first) = keys.next() else { return Self { prefix: 0, low: 0.0, high: 1.0 } };
        let mut prefix = first.len();
        let (mut least, mut most) = (first, first);
        for key in keys {
            prefix = prefix.min(first.iter().zip(key).take_while(|(one, other)| one == other).count());
            (least, most) = (least.min(key), most.max(key));
        }
        let (low, high) = (number(least, prefix), number(most, prefix));
        Self { prefix, low, high: if high > low { high } else { low + 1.0 } }
    }

    /// The place of a key.
    pub(crate) fn at(&self, key: &[u8]) -> f64 {
        ((number(key, self.prefix) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The eight bytes after the prefix, as a number.
fn number(key: &[u8], prefix: usize) -> f64 {
    let mut bytes = [0; 8];
    let rest = key.get(prefix..).unwrap_or_default();
    bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(bytes) as f64
}

/// A few of the keys of an axis, far enough apart to be labels of it; no two have the same text.
pub(crate) fn labels(keys: &[(f64, &str)]) -> Vec<(f64, String)> {
    let mut chosen: Vec<(f64, &str)> = Vec::new();
    for &(at, text) in keys {
        if chosen.last().is_none_or(|&(before, _)| at - before >= LABEL_DISTANCE) {
            chosen.push((at, text));
        }
    }
    if let Some(&last) = keys.last() {
        // The last key names the end of the axis, in place of the label that is too close to it.
        if chosen.len() > 1 && chosen.last().is_some_and(|&(at, _)| last.0 - at < LABEL_DISTANCE && at < last.0) {
            chosen.pop();
        }
        if chosen.last().is_some_and(|&(at, _)| at < last.0) {
            chosen.push(last);
        }
    }
    let texts = shortened(&chosen.iter().map(|label| label.1).collect::<Vec<_>>());
    let mut labels: Vec<(f64, String)> = Vec::new();
    for ((at, _), text) in chosen.into_iter().zip(texts) {
        if labels.iter().all(|(_, known)| *known != text) {
            labels.push((at, text));
        }
    }
    labels
}

/// Texts without the prefix that all share, with as many letters as tell them apart.
fn shortened(texts: &[&str]) -> Vec<String> {
    let letters: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
    if letters.iter().all(|text| text.len() <= LABEL_LETTERS) {
        return texts.iter().map(|text| (*text).to_owned()).collect();
    }
    let Some(first) = letters.first() else { return Vec::new() };
    let is_shared = |at: usize| letters.iter().all(|text| text.get(at) == first.get(at));
    let shared = (0..first.len()).take_while(|&at| is_shared(at)).count();
    let begin = if shared > 3 && letters.len() > 1 { shared - 2 } else { 0 };
    let cut = |length: usize| -> Vec<String> {
        let one = |text: &Vec<char>| {
            let body: String = text.iter().skip(begin).take(length).collect();
            let (head, tail) = (if begin > 0 { "…" } else { "" }, if text.len() > begin + length { "…" } else { "" });
            format!("{head}{body}{tail}")
        };
        letters.iter().map(one).collect()
    };
    let differ = |texts: &Vec<String>| {
        let mut sorted: Vec<&String> = texts.iter().collect();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    (LABEL_LETTERS..=LABEL_LETTERS_MAX).map(cut).find(differ).unwrap_or_else(|| cut(LABEL_LETTERS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_order_after_their_prefix() {
        let keys: [&[u8]; 4] = [b"user-a", b"user-g", b"user-m", b"user-n"];
        let axis = KeyPlaces::of(keys.into_iter());
        let places = keys.map(|key| axis.at(key));
        assert!(places.is_sorted() && places[0] == 0.0 && places[3] == 1.0, "{places:?}");
        assert!(places[1] > 0.3 && places[1] < 0.7, "{places:?}");
    }

    #[test]
    fn labels_are_apart_differ_and_leave_out_what_all_share() {
        let keys = [(0.0, "a"), (0.1, "b"), (0.5, "m"), (0.9, "y"), (1.0, "z")];
        assert_eq!(labels(&keys), [(0.0, "a".to_owned()), (0.5, "m".to_owned()), (1.0, "z".to_owned())]);
        let long = ["/usr/share/doc/aaaaaaaaaaaaaaaa1", "/usr/share/doc/aaaaaaaaaaaaaaaa2", "/usr/share/doc/b"];
        let labelled = labels(&[(0.0, long[0]), (0.5, long[1]), (1.0, long[2])]);
        let texts: Vec<&str> = labelled.iter().map(|label| label.1.as_str()).collect();
        assert_eq!(texts, ["…c/aaaaaaaaaaaaaaaa1", "…c/aaaaaaaaaaaaaaaa2", "…c/b"]);
        // Equal texts stand once.
        let same = format!("{}1", "x".repeat(60));
        assert_eq!(labels(&[(0.0, &same), (0.5, &same), (1.0, "z")]).len(), 2);
        assert!(labels(&[]).is_empty() && labels(&[(0.3, "k")]).len() == 1);
    }
}
