//! Table reports: sizes, index layers, and the modelled cost of lookups.

use crate::io::Profile;
use crate::table::format::meta::{DataSource, LayerMeta, TableMeta, opening_bytes_of_file};
use crate::table::format::stated_objective::{COMPARED_PROPERTY, OBJECTIVE_PROPERTY, StatedObjective};
use crate::tune::{ComparedDesign, DesignCost, compared};
use serde::Serialize;
use std::collections::BTreeMap;

/// The structure of a table and the cost of its lookups: the figures of `ogive explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableReport {
    /// Number of records.
    pub records: u64,
    /// Type of the keys.
    pub key_type: String,
    /// Type of the values: `{}` of keys alone.
    pub value_type: String,
    /// Number of data blocks.
    pub blocks: u64,
    /// Size of a block before compression, in bytes.
    pub block_size_bytes: u64,
    /// Size of the data in bytes, long values included.
    pub data_bytes: u64,
    /// Size of the index in bytes: layers with their headers, directories and checksums.
    pub index_bytes: u64,
    /// Size of metadata and footer in bytes.
    pub metadata_bytes: u64,
    /// Size of the filter for absent keys in bytes.
    pub filter_bytes: u64,
    /// Size of the block locations in bytes; 0 if all blocks have the same size.
    pub location_bytes: u64,
    /// Size of the cumulative record counts in bytes; 0 if all blocks have the same number of records.
    pub count_bytes: u64,
    /// Memory of the open table in bytes, without cached blocks.
    pub resident_bytes: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Name of the compression.
    pub compression: String,
    /// Name of the storage profile that the index was tuned for.
    pub tuned_for: String,
    /// The index layers, bottom first; the last is the root.
    pub layers: Vec<LayerSummary>,
    /// Mean size of a lookup's data read in bytes.
    pub data_mean_read_bytes: f64,
    /// Largest size of a lookup's data read in bytes.
    pub data_max_read_bytes: u64,
    /// Number of read requests of a lookup.
    pub reads_per_get: ReadsPerGet,
    /// The objective that the index was designed by, if it is not the expected time of a cold lookup of any key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<StatedObjective>,
    /// The designs that the build compared, fastest first, with their times on the storage that it was tuned for; empty
    /// if it compared none.
    pub designs: Vec<ComparedDesign>,
    /// Expected time of a cold lookup, opening included, for each named profile, in microseconds (AirIndex, Equation
    /// 6).
    pub modelled_us: BTreeMap<String, f64>,
}

/// One index layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// Kind of the nodes, and the builder that chose them.
    pub kind: String,
    /// Number of nodes: step pieces, lines, or coded groups.
    pub nodes: u64,
    /// Stored size in bytes.
    pub size_bytes: u64,
    /// Mean size of a lookup's read from this layer in bytes.
    pub mean_read_bytes: f64,
    /// Largest size of a lookup's read from this layer in bytes.
    pub max_read_bytes: u64,
}

/// Number of read requests of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReadsPerGet {
    /// With the opening read.
    pub cold: u64,
    /// With the table open.
    pub open: u64,
}

fn layer_bytes(layer: &LayerMeta) -> u64 {
    layer.page_bytes * layer.pages
}

/// The designs that the build compared.
fn designs_of(meta: &TableMeta) -> Vec<ComparedDesign> {
    let stored = meta.properties.iter().find(|(name, _)| name == COMPARED_PROPERTY);
    stored.map_or_else(Vec::new, |(_, stored)| compared::decode(stored))
}

/// The objective that the build states.
fn objective_of(meta: &TableMeta) -> Option<StatedObjective> {
    let stored = meta.properties.iter().find(|(name, _)| name == OBJECTIVE_PROPERTY);
    stored.and_then(|(_, stored)| StatedObjective::decode(stored))
}

impl TableReport {
    pub(in crate::table) fn new(meta: &TableMeta, file_bytes: u64) -> Self {
        let root = meta.layers.last().map_or(0, layer_bytes);
        let data_reads = u64::from(meta.blocks > 0);
        let open = meta.layers.len().saturating_sub(1) as u64 + data_reads;
        let mut report = Self {
            records: meta.records,
            key_type: meta.record_type.keys.to_string(),
            value_type: meta.record_type.value_name(),
            blocks: meta.blocks,
            block_size_bytes: meta.block_bytes,
            data_bytes: meta.data_bytes,
            index_bytes: meta.layers.iter().map(layer_bytes).sum(),
            metadata_bytes: (meta.encode().len() + crate::table::format::meta::FOOTER_BYTES) as u64,
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
            objective: objective_of(meta),
            designs: designs_of(meta),
            reads_per_get: ReadsPerGet { cold: open + 1, open },
            modelled_us: BTreeMap::new(),
        };
        if let DataSource::Foreign { checksums, .. } = &meta.source {
            report.metadata_bytes += checksums.bytes;
        }
        for profile in Profile::names().filter_map(|name| Profile::named(name).ok()) {
            report.modelled_us.insert(profile.name().to_owned(), report.modelled_us(&profile));
        }
        report
    }

    /// Size of the opening read in bytes.
    #[must_use]
    pub fn opening_bytes(&self) -> u64 {
        opening_bytes_of_file(self.file_bytes)
    }

    /// Expected time of a cold lookup on storage of this profile, opening included, in microseconds (AirIndex, Equation
    /// 6). Reads of varying size are priced at their mean, which is exact for affine profiles.
    #[must_use]
    pub fn modelled_us(&self, profile: &Profile) -> f64 {
        self.modelled_cost(profile).total_us
    }

    /// As [`Self::modelled_us`], by read.
    #[must_use]
    pub fn modelled_cost(&self, profile: &Profile) -> DesignCost {
        let below = self.layers.split_last().map_or(&[][..], |(_, below)| below);
        let mean_us = |mean: f64| {
            let (floor, share) = (mean.floor() as u64, mean.fract());
            profile.time_us(floor) * (1.0 - share) + profile.time_us(floor + 1) * share
        };
        let layers = below.iter().map(|layer| mean_us(layer.mean_read_bytes));
        let data = if self.blocks > 0 { mean_us(self.data_mean_read_bytes) } else { 0.0 };
        let reads_us: Vec<f64> = std::iter::once(data).chain(layers).collect();
        let opening_us = profile.time_us(self.opening_bytes());
        let total_us = opening_us + reads_us[1..].iter().sum::<f64>() + data;
        DesignCost { opening_us, reads_us, total_us }
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
