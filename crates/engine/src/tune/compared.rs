//! The designs that a search compared: the chosen one, and those that lost.

use crate::io::local::sync::Mutex;
use serde::Serialize;

/// Largest number of designs that are kept.
pub(crate) const COMPARED_MAX: usize = 16;
/// Largest size of their stored form in bytes: the opening read of a table includes it, where it fits.
const STORED_BYTES_MAX: usize = 512;

/// A design that a search compared with others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedDesign {
    /// The builders of its layers, root first, with a slash between them; `none` without an index.
    pub name: String,
    /// Time of a lookup by the objective of the search, opening included, in microseconds.
    pub modelled_us: f64,
    /// Size of its layers in bytes.
    pub index_bytes: u64,
}

/// Collects the designs that a search compares.
#[derive(Debug, Default)]
pub struct ComparedDesigns {
    found: Mutex<Vec<ComparedDesign>>,
}

impl ComparedDesigns {
    /// Adds a design; of two with one name, the faster is kept.
    pub(crate) fn note(&self, design: ComparedDesign) {
        let mut found = self.found.lock();
        match found.iter_mut().find(|known| known.name == design.name) {
            Some(known) if known.modelled_us <= design.modelled_us => {}
            Some(known) => *known = design,
            None => found.push(design),
        }
    }

    /// The designs, fastest first, at most 16.
    pub fn finish(self) -> Vec<ComparedDesign> {
        let mut found = std::mem::take(&mut *self.found.lock());
        found.sort_by(|a, b| a.modelled_us.total_cmp(&b.modelled_us).then_with(|| a.name.cmp(&b.name)));
        found.truncate(COMPARED_MAX);
        found
    }
}

/// The stored forms, longest first: each has a line for each of the fastest designs, `name <tab> microseconds <tab>
/// bytes`, and at least two.
pub(crate) fn encodings(designs: &[ComparedDesign]) -> impl Iterator<Item = Vec<u8>> {
    let mut text = String::new();
    let mut ends = Vec::new();
    for design in designs {
        let line = format!("{}\t{:.1}\t{}\n", design.name, design.modelled_us, design.index_bytes);
        if text.len() + line.len() > STORED_BYTES_MAX {
            break;
        }
        text.push_str(&line);
        ends.push(text.len());
    }
    ends.into_iter().skip(1).rev().map(move |end| text.as_bytes()[..end].to_vec())
}

/// Decodes a stored form. Lines that are malformed are left out: they inform, and nothing depends on them.
pub(crate) fn decode(stored: &[u8]) -> Vec<ComparedDesign> {
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let (name, modelled_us, index_bytes) = (fields.next()?, fields.next()?, fields.next()?);
        let modelled_us: f64 = modelled_us.parse().ok().filter(|us: &f64| us.is_finite())?;
        Some(ComparedDesign { name: name.to_owned(), modelled_us, index_bytes: index_bytes.parse().ok()? })
    };
    let text = std::str::from_utf8(stored).unwrap_or_default();
    text.lines().filter_map(parse).take(COMPARED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(name: &str, modelled_us: f64) -> ComparedDesign {
        ComparedDesign { name: name.to_owned(), modelled_us, index_bytes: 10 }
    }

    #[test]
    fn the_fastest_designs_are_kept_once_each_and_survive_storage() {
        let compared = ComparedDesigns::default();
        for number in 0..40 {
            compared.note(design(&format!("gband({})", number % 20), 200.0 - f64::from(number)));
        }
        let found = compared.finish();
        assert_eq!(found.len(), COMPARED_MAX);
        assert!(found[0] == design("gband(19)", 161.0) && found.is_sorted_by(|a, b| a.modelled_us <= b.modelled_us));
        let forms = |designs: &[ComparedDesign]| encodings(designs).map(|stored| decode(&stored)).collect::<Vec<_>>();
        assert_eq!(forms(&found)[0], found);
        assert_eq!(forms(&found)[14], found[..2]);
        assert_eq!(forms(&found).len(), 15);
        let long: Vec<_> = (0..16).map(|number| design(&"coded(4096)/".repeat(5), f64::from(number))).collect();
        assert!(encodings(&long).all(|stored| stored.len() <= STORED_BYTES_MAX));
        assert!(forms(&long)[0].len() > 3 && forms(&found[..1]).is_empty());
    }

    #[test]
    fn malformed_lines_are_left_out() {
        let stored = b"a\t1.5\t7\nb\tNaN\t1\nc\t1\n\n\t2\t3\t4\nd\tx\ty";
        assert_eq!(decode(stored).iter().map(|design| design.name.as_str()).collect::<Vec<_>>(), ["a", ""]);
        assert!(decode(b"\xff\xfe\t1\t1").is_empty());
    }
}
