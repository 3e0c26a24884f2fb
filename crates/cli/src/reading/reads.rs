//! Read traces as text and JSON: the reads of one operation, one by one.

use crate::values::size::{counted, grouped, human_us};
use ogive::io::Profile;
use ogive::table::TracedRead;
use serde_json::{Value, json};

/// One line per read, then a line with the sums.
///
/// ```text
/// open          12,288 B at  160,000,000
/// data           4,096 B at       81,920
/// 2 reads, 16,384 B; modelled 137 us on nvme, 80.2 ms on s3
/// ```
pub(crate) fn lines(reads: &[TracedRead]) -> Vec<String> {
    let sizes: Vec<String> = reads.iter().map(|read| grouped(read.bytes)).collect();
    let offsets: Vec<String> = reads.iter().map(|read| grouped(read.offset)).collect();
    let width = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (size_width, offset_width) = (width(&sizes), width(&offsets));
    let mut lines: Vec<String> = reads
        .iter()
        .zip(sizes.iter().zip(&offsets))
        .map(|(read, (size, offset))| {
            format!("  {:<8} {size:>size_width$} B at {offset:>offset_width$}", read.purpose.to_string())
        })
        .collect();
    lines.push(format!("  {}", sums(reads)));
    lines
}

/// Number and bytes of the reads, and their modelled time, one after the other, on two well-known storages.
pub(crate) fn sums(reads: &[TracedRead]) -> String {
    let total: u64 = reads.iter().map(|read| read.bytes).sum();
    let modelled: Vec<String> = ["nvme", "s3"]
        .into_iter()
        .filter_map(|name| Profile::named(name).ok())
        .map(|profile| format!("{} on {}", human_us(modelled_us(reads, &profile)), profile.name()))
        .collect();
    format!("{}, {} B; modelled {}", counted(reads.len() as u64, "read"), grouped(total), modelled.join(", "))
}

/// Modelled time of the reads, one after the other, in microseconds.
pub(crate) fn modelled_us(reads: &[TracedRead], profile: &Profile) -> f64 {
    reads.iter().map(|read| profile.time_us(read.bytes)).sum()
}

/// The reads as JSON.
pub(crate) fn to_json(reads: &[TracedRead]) -> Value {
    reads
        .iter()
        .map(|read| json!({ "purpose": read.purpose.to_string(), "offset": read.offset, "size_bytes": read.bytes }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::io::Purpose;

    #[test]
    fn every_read_has_a_line_and_the_last_line_sums_up() {
        let read = |purpose, offset, bytes| TracedRead { purpose, offset, bytes };
        let reads = [
            read(Purpose::Open, 160_000_000, 12_288),
            read(Purpose::Layer(1), 159_900_000, 512),
            read(Purpose::Data, 4_096, 4_096),
        ];
        assert_eq!(
            lines(&reads),
            [
                "  open     12,288 B at 160,000,000",
                "  layer 1     512 B at 159,900,000",
                "  data      4,096 B at       4,096",
                "  3 reads, 16,896 B; modelled 194 us on nvme, 120.2 ms on s3",
            ]
        );
        assert_eq!(to_json(&reads)[1], json!({ "purpose": "layer 1", "offset": 159_900_000, "size_bytes": 512 }));
        assert_eq!(lines(&[]).len(), 1);
    }
}
