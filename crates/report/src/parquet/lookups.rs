//! Lookups as the engine made them: requests in rounds, and their modelled time.

use super::picture::{FileLookup, FileRequest, ParquetPicture};
use crate::data_table::DataTable;
use crate::escape;
use crate::figure::Figure;
use crate::format::{bytes, counted, grouped, time_us};
use crate::section::Section;
use crate::svg::{Axis, RangeChart, Unit};
use ogive::io::Profile;

/// Parts of a request that are named.
const PARTS_MAX: usize = 6;

impl ParquetPicture {
    /// The lookups, one after the other.
    pub(super) fn found(&self, section: Section) -> Section {
        let section = section.text(
            "Each lookup below was made by the engine for this page, with all columns, and these are its requests. \
            Requests of one round are under way at the same time; a round waits for the one before. Pages that lie \
            close are one request. Pages are counted from 0 in the row group. Name other keys with --key.",
        );
        self.lookups.iter().fold(section, |section, lookup| self.lookup(section, lookup))
    }

    fn lookup(&self, section: Section, lookup: &FileLookup) -> Section {
        let key = escape::text(&lookup.key);
        let pages: u64 = lookup.requests.iter().filter(|it| !it.is_index).map(|request| request.bytes).sum();
        let index: u64 = lookup.requests.iter().filter(|it| it.is_index).map(|request| request.bytes).sum();
        let rows = match lookup.rows {
            0 => "No row".to_owned(),
            rows => counted(rows, "row"),
        };
        section
            .markup(&format!("<h3>Key <bdi>{key}</bdi></h3>"))
            .text(&format!(
                "{rows} found with {} in {}: {} of the index, {} of Parquet files of {}.",
                counted(lookup.requests.len() as u64, "request"),
                counted(lookup.rounds().len() as u64, "round"),
                bytes(index as f64),
                bytes(pages as f64),
                bytes(self.data_bytes() as f64)
            ))
            .figure(Figure::of_svg(
                "Each file that is read, from its first byte to its last, and the requests. Very short ones are drawn \
                wider than they are.",
                &self.map(lookup),
            ))
            .table(&requests_table(lookup))
            .table(&times_table(lookup))
    }

    /// The files that a lookup reads, and where.
    fn map(&self, lookup: &FileLookup) -> RangeChart {
        let length = |request: &FileRequest| match request.is_index {
            true => self.index_bytes,
            false => {
                let of = |path: &str| path.rsplit('/').next() == Some(request.file.as_str());
                self.files.iter().find(|file| of(&file.path)).map_or(0, |file| file.bytes)
            }
        };
        let longest = lookup.requests.iter().map(length).max().unwrap_or(0);
        let chart = RangeChart::new("Requests", Axis::linear("place in the file", Unit::Bytes), longest as f64)
            .description("The ranges of the index and of Parquet files that the lookup reads");
        lookup.requests.iter().fold(chart, |chart, request| {
            let hover =
                format!("round {}: {} bytes at {}", request.round, grouped(request.bytes), grouped(request.offset));
            let range = (request.offset as f64, (request.offset + request.bytes) as f64);
            let file = if request.is_index { format!("{} (index)", request.file) } else { request.file.clone() };
            chart.range(&file, range, request.round.saturating_sub(1) as usize, &hover)
        })
    }
}

impl FileLookup {
    /// The requests of each round.
    fn rounds(&self) -> Vec<&[FileRequest]> {
        self.requests.chunk_by(|left, right| left.round == right.round).collect()
    }
}

fn requests_table(lookup: &FileLookup) -> DataTable {
    let mut table = DataTable::new(["round", "file", "what it brings", "offset", "bytes"]).caption("The requests");
    for request in &lookup.requests {
        let mut parts = request.parts.iter().take(PARTS_MAX).cloned().collect::<Vec<_>>().join(", ");
        if request.parts.len() > PARTS_MAX {
            parts.push_str(&format!(", and {} more", request.parts.len() - PARTS_MAX));
        }
        let places = [grouped(request.offset), grouped(request.bytes)];
        table.push([request.round.to_string(), request.file.clone(), parts].into_iter().chain(places));
    }
    table
}

/// The time of each round on the named storages: its requests side by side, as far as the storage takes them.
fn times_table(lookup: &FileLookup) -> DataTable {
    let profiles: Vec<Profile> =
        ["nvme", "ssd", "nfs", "s3"].into_iter().filter_map(|name| Profile::named(name).ok()).collect();
    let headers = ["round", "requests", "bytes"].map(str::to_owned);
    let headers = headers.into_iter().chain(profiles.iter().map(|profile| format!("on {}", profile.name())));
    let mut table = DataTable::new(headers).caption(
        "Modelled time: the requests of a round side by side, by latency, bandwidth and parallelism of each storage",
    );
    let mut totals = vec![(0.0, 0.0); profiles.len()];
    let rounds = lookup.rounds();
    for (number, round) in rounds.iter().enumerate() {
        let sizes: Vec<u64> = round.iter().map(|request| request.bytes).collect();
        let times: Vec<f64> = profiles.iter().map(|profile| profile.batch_us(&sizes)).collect();
        for (total, time) in totals.iter_mut().zip(&times) {
            total.0 += time;
            total.1 += if number > 0 { *time } else { 0.0 };
        }
        let what = if number == 0 { "1, opens the index".to_owned() } else { (number + 1).to_string() };
        let sum = sizes.iter().sum();
        let shown = times.into_iter().map(time_us);
        table.push([what, grouped(sizes.len() as u64), grouped(sum)].into_iter().chain(shown));
    }
    let all = |skipped: usize| {
        let requests = || rounds.iter().skip(skipped).flat_map(|round| round.iter());
        let sum = requests().map(|request| request.bytes).sum();
        [grouped(requests().count() as u64), grouped(sum)]
    };
    let cold = totals.iter().map(|total| time_us(total.0));
    table.push(std::iter::once("together, from nothing".to_owned()).chain(all(0)).chain(cold));
    let open = totals.iter().map(|total| time_us(total.1));
    table.push(std::iter::once("together, with the index open".to_owned()).chain(all(1)).chain(open));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_round_take_the_time_of_the_longest_where_the_storage_is_parallel() {
        let request = |round, bytes, is_index| FileRequest { round, bytes, is_index, ..FileRequest::default() };
        let requests = vec![request(1, 4_096, true), request(2, 1 << 20, false), request(2, 1 << 10, false)];
        let html = times_table(&FileLookup { requests, ..FileLookup::default() }).to_html();
        let s3 = Profile::named("s3").unwrap();
        let second = s3.batch_us(&[1 << 20, 1 << 10]);
        let cold = s3.time_us(4_096) + second;
        for expected in [time_us(second), time_us(cold)] {
            assert!(html.contains(&format!("<bdi>{expected}</bdi>")), "{expected}: {html}");
        }
        assert!(cold < s3.time_us(4_096) + s3.time_us(1 << 20) + s3.time_us(1 << 10));
    }
}
