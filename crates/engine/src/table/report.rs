//! Table reports: sizes, index layers, and the modelled cost of lookups.

use super::format::{LayerMeta, Meta, Source, opening_bytes_of_file};
use crate::io::Profile;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sizes, layers, and what look-ups cost; the figures of `ogive explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableReport {
    /// Number of records.
    pub records: u64,
    /// Type of the keys.
    pub key_type: String,
    /// Blocks of data.
    pub blocks: u64,
    /// Size of a block before compression, in bytes.
    pub block_size_bytes: u64,
    /// Bytes of the data, long values included.
    pub data_bytes: u64,
    /// Bytes of the index: layers with their headers, directories and checksums.
    pub index_bytes: u64,
    /// Bytes of metadata and footer.
    pub metadata_bytes: u64,
    /// Bytes of the filter for absent keys.
    pub filter_bytes: u64,
    /// Bytes that tell where blocks lie; 0 when they have one size.
    pub location_bytes: u64,
    /// Bytes that tell how many records lie before a block; 0 when blocks have one count.
    pub count_bytes: u64,
    /// Bytes that stay in memory while the table is open, without cached blocks.
    pub resident_bytes: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Name of the compression.
    pub compression: String,
    /// For which storage the index was made.
    pub tuned_for: String,
    /// The layers, bottom first; the last is the root.
    pub layers: Vec<LayerSummary>,
    /// Mean bytes of data that a look-up reads.
    pub data_mean_read_bytes: f64,
    /// Most bytes of data that a look-up reads.
    pub data_max_read_bytes: u64,
    /// Requests that a look-up makes.
    pub reads_per_get: ReadsPerGet,
    /// Expected time of a cold look-up, opening included, for each named profile, in microseconds (AirIndex, Equation 6).
    pub modelled_us: BTreeMap<String, f64>,
}

/// One layer of the index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// Kind of the nodes and how they were chosen.
    pub kind: String,
    /// Nodes: step pieces, lines, or coded groups.
    pub nodes: u64,
    /// Stored bytes.
    pub size_bytes: u64,
    /// Mean bytes that a look-up reads from the layer.
    pub mean_read_bytes: f64,
    /// Most bytes that a look-up reads from the layer.
    pub max_read_bytes: u64,
}

/// Requests that a look-up makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReadsPerGet {
    /// Opening included.
    pub cold: u64,
    /// With the table open.
    pub open: u64,
}

fn layer_bytes(layer: &LayerMeta) -> u64 {
    layer.unit_bytes * layer.units
}

impl TableReport {
    pub(super) fn new(meta: &Meta, file_bytes: u64) -> Self {
        let root = meta.layers.last().map_or(0, layer_bytes);
        let data_reads = u64::from(meta.blocks > 0);
        let open = meta.layers.len().saturating_sub(1) as u64 + data_reads;
        let mut report = Self {
            records: meta.records,
            key_type: meta.key_type.to_string(),
            blocks: meta.blocks,
            block_size_bytes: meta.block_bytes,
            data_bytes: meta.data_bytes,
            index_bytes: meta.layers.iter().map(layer_bytes).sum(),
            metadata_bytes: (meta.encode().len() + super::format::FOOTER_BYTES) as u64,
            filter_bytes: meta.filter.map_or(0, |filter| filter.section.bytes),
            location_bytes: meta.location_bytes,
            count_bytes: meta.counts.bytes,
            resident_bytes: root + meta.location_bytes + meta.encode().len() as u64,
            file_bytes,
            compression: meta.compression.clone(),
            tuned_for: meta.tuned_for.clone(),
            layers: meta.layers.iter().map(LayerSummary::new).collect(),
            data_mean_read_bytes: meta.mean_read_bytes,
            data_max_read_bytes: meta.max_read_bytes,
            reads_per_get: ReadsPerGet { cold: open + 1, open },
            modelled_us: BTreeMap::new(),
        };
        if let Source::Foreign { checksums, .. } = &meta.source {
            report.metadata_bytes += checksums.bytes;
        }
        for profile in Profile::names().filter_map(|name| Profile::named(name).ok()) {
            report.modelled_us.insert(profile.name().to_owned(), report.modelled_us(&profile));
        }
        report
    }

    /// Bytes of the read that opens the table.
    #[must_use]
    pub fn opening_bytes(&self) -> u64 {
        opening_bytes_of_file(self.file_bytes)
    }

    /// Expected time of a cold look-up on storage of this profile, opening included, in microseconds (AirIndex, Equation 6). Where
    /// the size of a layer's reads varies, they are priced at their mean, which is exact for affine profiles.
    #[must_use]
    pub fn modelled_us(&self, profile: &Profile) -> f64 {
        let below = self.layers.split_last().map_or(&[][..], |(_, below)| below);
        let mean_us = |mean: f64| {
            let (floor, share) = (mean.floor() as u64, mean.fract());
            profile.time_us(floor) * (1.0 - share) + profile.time_us(floor + 1) * share
        };
        let layers: f64 = below.iter().map(|layer| mean_us(layer.mean_read_bytes)).sum();
        let data = if self.blocks > 0 { mean_us(self.data_mean_read_bytes) } else { 0.0 };
        profile.time_us(self.opening_bytes()) + layers + data
    }
}

impl LayerSummary {
    fn new(layer: &LayerMeta) -> Self {
        Self {
            kind: layer.builder.clone(),
            nodes: layer.nodes,
            size_bytes: layer_bytes(layer),
            mean_read_bytes: layer.mean_read_bytes,
            max_read_bytes: layer.max_read_bytes,
        }
    }
}
