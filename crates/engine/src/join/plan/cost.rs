//! The sum that each method's price is: reads, writes and waits, priced by a storage profile. It knows no method.

use super::device::Requests;
use super::rates;
use crate::io::Profile;
use crate::join::rows::plan::cost::JoinCost;

impl JoinCost {
    /// Adds reads.
    pub(super) fn read(&mut self, requests: Requests, profile: &Profile) {
        self.read_within(&[requests], requests.time_us(profile));
    }

    /// Adds streams of reads side by side, in flight ahead of the joining thread.
    pub(super) fn read_ahead(&mut self, streams: &[Requests], profile: &Profile) {
        let time_us = Requests::together_us(streams, profile);
        self.ahead_us += time_us;
        self.read_within(streams, time_us);
    }

    /// Adds time in which nothing else is read.
    pub(super) fn wait(&mut self, time_us: f64) {
        self.read_within(&[], time_us);
    }

    fn read_within(&mut self, streams: &[Requests], time_us: f64) {
        self.device_us += time_us;
        self.bytes_read += streams.iter().map(|stream| stream.bytes).sum::<f64>();
        self.requests += streams.iter().map(|stream| stream.count).sum::<f64>();
        self.add_up();
    }

    /// Adds the parsing of text of these rows, of each of which this number of fields is read.
    pub(super) fn parse(&mut self, bytes: f64, rows: f64, fields: f64) {
        self.work(bytes, rates::PARSE_BYTE_NS);
        self.work(rows, rates::PARSE_ROW_NS);
        self.work(rows * fields, rates::PARSE_FIELD_NS);
        self.bytes_parsed += bytes;
    }

    /// Adds the formatting of this number of fields of each of these rows.
    pub(super) fn format(&mut self, rows: f64, fields: f64) {
        self.work(rows, rates::FORMAT_ROW_NS);
        self.work(rows * fields, rates::FORMAT_FIELD_NS);
        self.rows_formatted += rows;
    }

    /// Adds writes, at the price of reads of their size, since profiles have no other.
    pub(super) fn write(&mut self, requests: Requests, profile: &Profile) {
        self.device_us += requests.time_us(profile);
        self.bytes_spilled += requests.bytes;
        self.add_up();
    }
}
