//! Figures of a table for documents: one SVG file each.

use super::asked::AskedKey;
use super::picture::TablePicture;
use crate::notebook::{Layers, ReadTrace, TracedRead};
use crate::svg::{Axis, Drawing, LineChart, Mark, Place, Series, Unit};

/// Points of a drawn curve: more cannot be told apart in a document.
const CURVE_POINTS_MAX: usize = 600;

impl TablePicture {
    /// The key curve: keys, or their first bytes after the prefix that all share, and the number of records before
    /// them.
    #[must_use]
    pub fn curve_svg(&self) -> String {
        let curve = &self.curve;
        let step = curve.keys.len().div_ceil(CURVE_POINTS_MAX).max(1);
        let places = curve.keys.iter().zip(&curve.records).step_by(step);
        let mut points: Vec<(f64, f64)> = places.map(|(key, records)| (place(key), *records as f64)).collect();
        if let (Some(key), Some(records)) = (curve.keys.last(), curve.records.last()) {
            points.push((place(key), *records as f64));
        }
        let label = if self.is_numeric { "key" } else { "first bytes of the key, as a number" };
        let name = format!("{} separators of {} blocks", points.len(), self.report.blocks);
        LineChart::new(&self.name, Axis::linear(label, Unit::Count), Axis::linear("records before it", Unit::Count))
            .description("The key curve of the table: keys in order, and their positions")
            .series(Series::new(&name, if points.len() > 1 { Mark::Line } else { Mark::Points }, points))
            .to_svg(Place::File)
    }

    /// The layers of the index, from the root to the data.
    #[must_use]
    pub fn layers_svg(&self) -> String {
        Layers(&self.report).to_svg()
    }

    /// The reads of the lookup of a key that the picture was asked for, the one that opens the table included.
    #[must_use]
    pub fn lookup_svg(&self, key: &AskedKey) -> String {
        let opening = self.report.opening_bytes().min(self.report.file_bytes);
        let opened = TracedRead { what: "open".to_owned(), offset: self.report.file_bytes - opening, length: opening };
        let reads = key.reads.iter().map(|read| TracedRead {
            what: read.purpose.clone(),
            offset: read.offset,
            length: read.bytes,
        });
        ReadTrace {
            title: format!("key {}", key.text),
            file_bytes: self.report.file_bytes,
            reads: std::iter::once(opened).chain(reads).collect(),
        }
        .to_svg()
    }
}

/// The first eight bytes of a place in hexadecimal digits, as a number.
fn place(hex: &str) -> f64 {
    let digits = hex.get(..hex.len().min(16)).unwrap_or_default();
    let number = u64::from_str_radix(&format!("{digits:0<16}"), 16).unwrap_or(0);
    number as f64
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_keep_the_order_of_their_bytes() {
        let places: Vec<f64> = ["", "00", "0000000000000100", "01", "01ff", "ffffffffffffffffff"].map(place).into();
        assert!(places.is_sorted() && places[2] == 256.0, "{places:?}");
    }
}
