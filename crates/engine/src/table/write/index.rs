//! The index of a table: designed after all blocks are written, then stored layer by layer.

use super::borders::WrittenSeparators;
use super::index_check::{self, SeparatorDigest};
use super::published_file::PublishedFile;
use crate::error::{Error, Result};
use crate::table::format::index_page::{INDEX_PAGE_TRAILER_BYTES, encode_index_page};
use crate::table::format::meta::{
    LayerMeta, NodeKind, TableMeta, opening_bytes, opening_with, storable_mean, tail_bytes,
};
use crate::table::format::options::TableWriteOptions;
use crate::table::format::stated_objective::{COMPARED_PROPERTY, OBJECTIVE_PROPERTY, StatedObjective};
use crate::table::read::reader::cache_bytes_of;
use crate::tune::{
    ComparedDesign, ComparedDesigns, Design, DesignCaching, DesignLayer, DesignObjective, DesignProblem, DesignRequest,
    LayerBuilder, LayerNodes, LevelInput, ReadSizes, compared, design_for_lookups,
};
use ogive_model::coded::{CodedLayer, StringLayer};
use ogive_model::{Fence, line, step};
use std::ops::Range;

/// Page size for byte-string separators in bytes: a front-coded group takes up to three quarters of it.
const STRING_PAGE_BYTES: usize = 4096;
/// Approximate largest page size for long separators in bytes; pages grow until they hold enough groups on average.
const LONG_STRING_PAGE_BYTES: usize = 256 << 10;
const PAGE_GROUPS_MIN: usize = 4;
/// Limit for the number of byte-string layers: with 4 KiB pages of 100 separators, four layers reach 10^8 blocks.
const STRING_LAYERS_MAX: usize = 8;

/// Whether the index design needs the borders of all blocks rather than the writer's coded separators.
pub(in crate::table) fn needs_fences(options: &TableWriteOptions) -> bool {
    let is_replayed = options.design == DesignRequest::Coded && options.tuning.caching.memory_bytes.is_some();
    is_replayed || !matches!(options.design, DesignRequest::Coded | DesignRequest::None)
}

#[derive(Debug)]
pub(in crate::table) struct IndexInput {
    pub(in crate::table) bottom: WrittenSeparators,
    pub(in crate::table) data_bytes: u64,
    /// Size of all blocks in bytes, without gaps between them.
    pub(in crate::table) stored_block_bytes: u64,
    pub(in crate::table) blocks: u64,
    pub(in crate::table) records: u64,
    pub(in crate::table) location_bytes: u64,
    pub(in crate::table) largest_block_bytes: u64,
}

/// An index in memory.
#[derive(Debug)]
pub(in crate::table) enum BuiltIndex {
    Numbers {
        design: Box<Design>,
        /// The borders between blocks.
        fences: Vec<Fence>,
        /// Largest data read of a lookup in bytes, if blocks differ in size.
        block_max_bytes: u64,
        /// The designs that the search compared.
        compared: Vec<ComparedDesign>,
        /// The cache hits that the design is priced with.
        caching: DesignCaching,
    },
    /// One layer over the blocks, coded while they were written.
    Coded { layer: CodedLayer, block_mean_bytes: u64, block_max_bytes: u64 },
    /// Bottom first.
    Strings {
        layers: Vec<StringLayer>,
        block_mean_bytes: f64,
        block_max_bytes: u64,
        /// The numbers of layers that were compared.
        compared: Vec<ComparedDesign>,
    },
    /// A table without records, or one that is read as a whole.
    None { data_bytes: u64 },
}

/// The parts of a written index that the tail contains.
#[derive(Debug)]
pub(in crate::table) struct WrittenIndex {
    pub(in crate::table) layers: Vec<LayerMeta>,
    pub(in crate::table) root: Vec<u8>,
    pub(in crate::table) mean_read_bytes: f64,
    pub(in crate::table) max_read_bytes: u64,
    /// The designs that were compared.
    pub(in crate::table) compared: Vec<ComparedDesign>,
    /// The sizes of reads of a lookup after opening: of data, and of each layer below the root, bottom first.
    reads: Vec<ReadSizes>,
    /// The cache hits that the design is priced with, if they are not the expected ones.
    caching: Option<DesignCaching>,
}

impl WrittenIndex {
    /// States the objective of the design in the properties of a table, unless it is the expected time of a cold lookup
    /// of any key; removes what an older build stated.
    pub(in crate::table) fn add_objective(
        &self,
        properties: &mut Vec<(String, Vec<u8>)>,
        options: &TableWriteOptions,
        location_bytes: u64,
    ) {
        properties.retain(|(name, _)| name != COMPARED_PROPERTY && name != OBJECTIVE_PROPERTY);
        let caching = self.caching.as_ref().unwrap_or(&options.tuning.caching);
        let is_usual = options.tuning.objective == DesignObjective::MeanLatency
            && options.tuning.caching == DesignCaching::default()
            && options.tuning.looked_up.is_empty();
        if !is_usual {
            let open_bytes = |root: u64| opening_with(root, location_bytes);
            let problem = DesignProblem {
                objective: options.tuning.objective,
                caching: caching.clone(),
                open_bytes: &open_bytes,
                ..DesignProblem::new(&options.profile)
            };
            let stated = StatedObjective {
                objective: options.tuning.objective.to_string(),
                opening_hit_rate: caching.opening_hit_rate,
                modelled_us: problem.lookup_us(self.root.len() as u64, &self.reads),
            };
            properties.push((OBJECTIVE_PROPERTY.to_owned(), stated.encode()));
        }
    }

    /// States the compared designs in complete metadata, as far as they fit the opening read that is made anyway: what
    /// only informs must not make a lookup slower.
    pub(in crate::table) fn add_compared(&self, meta: &mut TableMeta, locations: &[u8]) {
        let tail_bytes = |meta: &TableMeta| tail_bytes(&self.root, locations, meta);
        let read_bytes = opening_bytes(tail_bytes(meta));
        for stored in compared::encodings(&self.compared) {
            meta.properties.push((COMPARED_PROPERTY.to_owned(), stored));
            if tail_bytes(meta) <= read_bytes {
                return;
            }
            meta.properties.pop();
        }
    }
}

/// Rejects designs that tables of byte strings cannot have, and those of a feature that is left out.
pub(in crate::table) fn check_design(options: &TableWriteOptions) -> Result<()> {
    if cfg!(not(feature = "tune")) && options.design.is_searched() {
        return Err(Error::input(format!(
            "design {} is found by a search, and this program was built without the feature `tune` of ogive, which \
             has it; give the design coded",
            options.design
        )));
    }
    let known = matches!(options.design, DesignRequest::Tuned | DesignRequest::Coded | DesignRequest::None);
    if options.key_type.is_numeric() || known {
        return Ok(());
    }
    Err(Error::input(format!(
        "design {} models keys of eight bytes as numbers; keys of type {} take tuned, coded or none",
        options.design, options.key_type
    )))
}

/// Designs the index that the options request.
pub(in crate::table) fn build(input: IndexInput, options: &TableWriteOptions) -> BuiltIndex {
    let none = BuiltIndex::None { data_bytes: input.data_bytes };
    if input.blocks == 0 || options.design == DesignRequest::None {
        return none;
    }
    let mean_block = input.stored_block_bytes as f64 / input.blocks as f64;
    match input.bottom {
        WrittenSeparators::Numbers { coded, .. }
            if options.design == DesignRequest::Coded
                && coded.groups() > 0
                && options.tuning.caching.memory_bytes.is_none() =>
        {
            BuiltIndex::Coded {
                layer: coded,
                block_mean_bytes: mean_block.ceil() as u64,
                block_max_bytes: input.largest_block_bytes.min(input.data_bytes),
            }
        }
        WrittenSeparators::Numbers { first, fences, coded } => {
            let mut row = LevelInput { first, fences, child_bytes: mean_block.ceil() as u64, weights: None };
            let looked_up: Vec<u64> =
                options.tuning.looked_up.iter().map(|key| crate::table::block::key::key_as_u64(key)).collect();
            row.weigh_by(&looked_up);
            let compared = ComparedDesigns::default();
            let reader_bytes = options.tuning.caching.memory_bytes.map(cache_bytes_of);
            let open_bytes = move |root: u64| opening_with(root, input.location_bytes);
            let problem = DesignProblem {
                objective: options.tuning.objective,
                // A reader of this memory must be able to open the table.
                resident_bytes: options.tuning.resident_bytes.into_iter().chain(reader_bytes).min(),
                caching: DesignCaching { memory_bytes: reader_bytes, ..options.tuning.caching.clone() },
                open_bytes: &open_bytes,
                keys_per_child: input.records as f64 / input.blocks as f64,
                options: options.tuning.search.clone(),
                prepared: (coded.groups() > 0).then_some(&coded),
                compared: (options.design == DesignRequest::Tuned).then_some(&compared),
                ..DesignProblem::new(&options.profile)
            };
            let (design, caching) = design_for_lookups(&options.design, &row, &problem, &looked_up);
            if design.layers.is_empty() {
                return none;
            }
            // The design assumes blocks of one size. A window may hold the largest ones.
            let most_blocks = most_read_bytes(&design, 0, row.child_bytes).div_ceil(row.child_bytes.max(1));
            let block_max_bytes = most_blocks.saturating_mul(input.largest_block_bytes).min(input.data_bytes);
            let compared = compared.finish();
            BuiltIndex::Numbers { design: Box::new(design), fences: row.fences, block_max_bytes, compared, caching }
        }
        WrittenSeparators::Strings(bottom) => {
            let (block_mean_bytes, block_max_bytes) = (mean_block, input.largest_block_bytes);
            let open_bytes = move |root: u64| opening_with(root, input.location_bytes);
            let problem = DesignProblem {
                objective: options.tuning.objective,
                resident_bytes: options.tuning.resident_bytes,
                caching: options.tuning.caching.clone(),
                open_bytes: &open_bytes,
                ..DesignProblem::new(&options.profile)
            };
            let (layers, compared) = stack_string_layers(bottom, options, &problem, mean_block.ceil() as u64);
            BuiltIndex::Strings { layers, block_mean_bytes, block_max_bytes, compared }
        }
    }
}

/// Page size for a layer of strings in bytes: enough for its largest group and, if separators are long, for several
/// groups; otherwise the layer above would be as large.
fn string_page_bytes(layer: &StringLayer) -> usize {
    let least = (layer.largest_group_len() + INDEX_PAGE_TRAILER_BYTES).next_multiple_of(512).max(STRING_PAGE_BYTES);
    let mut bytes = least;
    while least > STRING_PAGE_BYTES
        && bytes < LONG_STRING_PAGE_BYTES
        && layer.pack(bytes - INDEX_PAGE_TRAILER_BYTES).len() > layer.groups().div_ceil(PAGE_GROUPS_MIN)
    {
        bytes *= 2;
    }
    bytes
}

/// Stacks layers on the bottom layer as long as reading one more page costs less than a larger root, or the root
/// exceeds its budget. A coded index has one layer unless the budget requires more. Returns the numbers of layers that
/// were compared as well.
fn stack_string_layers(
    bottom: StringLayer,
    options: &TableWriteOptions,
    problem: &DesignProblem<'_>,
    block_bytes: u64,
) -> (Vec<StringLayer>, Vec<ComparedDesign>) {
    let compared = ComparedDesigns::default();
    let (mut below_us, mut below_bytes) = (problem.read_us(0, &ReadSizes::constant(block_bytes)), 0);
    let opening_us = |layer: &StringLayer| problem.open_us(layer.total_len() as u64);
    let over_budget = |layer: &StringLayer| !problem.fits_budget(layer.total_len() as u64);
    let note = |layers: usize, below_us: f64, bytes: u64, opening_us: f64| {
        let name = vec!["coded"; layers].join("/");
        compared.note(ComparedDesign { name, modelled_us: below_us + opening_us, index_bytes: bytes });
    };
    note(1, below_us, bottom.total_len() as u64, opening_us(&bottom));
    let mut layers = vec![bottom];
    while let Some(top) = layers.last().filter(|_| layers.len() < STRING_LAYERS_MAX) {
        if options.design == DesignRequest::Coded && !over_budget(top) {
            break;
        }
        let page_bytes = string_page_bytes(top);
        let pages = top.pack(page_bytes - INDEX_PAGE_TRAILER_BYTES);
        // If memory is short, even a single page is read on demand; but a layer over one page over one page is as
        // large.
        if pages.len() < 2 && (!over_budget(top) || top.children() < 2) {
            break;
        }
        let separators: Vec<Vec<u8>> = pages.iter().map(|page| top.start(page.start).to_vec()).collect();
        let above = StringLayer::from_separators(&separators);
        let page_us = problem.read_us(layers.len(), &ReadSizes::constant(page_bytes as u64));
        below_us += page_us;
        below_bytes += (pages.len() * page_bytes) as u64;
        let index_bytes = below_bytes + above.total_len() as u64;
        note(layers.len() + 1, below_us, index_bytes, opening_us(&above));
        let saved = opening_us(top) - opening_us(&above);
        if saved <= page_us && !over_budget(top) {
            break;
        }
        layers.push(above);
    }
    let is_tuned = options.design == DesignRequest::Tuned;
    (layers, if is_tuned { compared.finish() } else { Vec::new() })
}

impl BuiltIndex {
    /// Describes why the index does not lead to `blocks` blocks whose separators have this digest; `None` if it does.
    pub(in crate::table) fn defect(&self, blocks: u64, digest: SeparatorDigest) -> Option<String> {
        let defect = |layer: usize| format!("layer {layer} of the index does not lead to the layer below it");
        match self {
            Self::None { .. } => None,
            Self::Numbers { design, fences, .. } => {
                let mut pages: Vec<Fence>;
                let mut fences = fences;
                for (i, layer) in design.layers.iter().enumerate() {
                    if !separates_children(layer, fences) {
                        return Some(defect(i + 1));
                    }
                    pages = layer.fences_above();
                    fences = &pages;
                }
                None
            }
            Self::Coded { layer, .. } => {
                let mut stored = Vec::new();
                layer.encode(0..layer.groups(), &mut stored);
                (index_check::digest_numbers(&stored, layer.groups()) != Some(digest)).then(|| defect(1))
            }
            Self::Strings { layers, .. } => {
                let stored = |layer: &StringLayer| {
                    let mut stored = Vec::new();
                    layer.encode(0..layer.groups(), &mut stored);
                    stored
                };
                let bottom = layers.first()?;
                let found = index_check::digest_strings(&stored(bottom), bottom.groups());
                if bottom.children() != blocks || found != Some(digest) {
                    return Some(defect(1));
                }
                let is_wrong = |pair: &[StringLayer]| {
                    let pages = pair[0].pack(string_page_bytes(&pair[0]) - INDEX_PAGE_TRAILER_BYTES);
                    let starts = pages.iter().map(|page| pair[0].start(page.start));
                    !index_check::strings_are(&stored(&pair[1]), pair[1].groups(), starts)
                };
                layers.windows(2).position(is_wrong).map(|below| defect(below + 2))
            }
        }
    }

    /// Writes the layers below the root.
    pub(in crate::table) fn write(self, out: &mut PublishedFile) -> Result<WrittenIndex> {
        match self {
            Self::None { data_bytes } => Ok(WrittenIndex {
                layers: Vec::new(),
                root: Vec::new(),
                mean_read_bytes: data_bytes as f64,
                max_read_bytes: data_bytes,
                compared: Vec::new(),
                reads: vec![ReadSizes::constant(data_bytes)],
                caching: None,
            }),
            Self::Numbers { design, block_max_bytes, compared, caching, .. } => {
                let written = write_numbers(&design, out)?;
                let caching = Some(caching);
                Ok(WrittenIndex { max_read_bytes: block_max_bytes, compared, caching, ..written })
            }
            Self::Coded { layer, block_mean_bytes, block_max_bytes } => {
                let mut root = Vec::new();
                layer.encode(0..layer.groups(), &mut root);
                let bytes = root.len() as u64;
                let meta = LayerMeta {
                    kind: NodeKind::Coded,
                    granule: 1,
                    nodes: layer.groups() as u64,
                    builder: LayerBuilder::Coded { lambda_bytes: block_mean_bytes }.to_string(),
                    page_bytes: bytes,
                    pages: 1,
                    offset: 0,
                    mean_read_bytes: storable_mean(bytes as f64),
                    max_read_bytes: bytes,
                };
                Ok(WrittenIndex {
                    layers: vec![meta],
                    root,
                    mean_read_bytes: storable_mean(block_mean_bytes as f64),
                    max_read_bytes: block_max_bytes,
                    compared: Vec::new(),
                    reads: vec![ReadSizes::constant(block_mean_bytes)],
                    caching: None,
                })
            }
            Self::Strings { layers, block_mean_bytes, block_max_bytes, compared } => {
                let (root, metas) = write_strings(&layers, out)?;
                let below = metas.split_last().map_or(&[][..], |(_, below)| below);
                let pages = below.iter().map(|layer| ReadSizes::constant(layer.page_bytes));
                let block = ReadSizes::constant(block_mean_bytes.ceil() as u64);
                Ok(WrittenIndex {
                    reads: std::iter::once(block).chain(pages).collect(),
                    caching: None,
                    layers: metas,
                    root,
                    mean_read_bytes: storable_mean(block_mean_bytes),
                    max_read_bytes: block_max_bytes,
                    compared,
                })
            }
        }
    }
}

/// Whether a layer, as it is stored, leads to the children with these fences. Lines are approximate and checked by
/// readers.
fn separates_children(layer: &DesignLayer, fences: &[Fence]) -> bool {
    layer.children == fences.len() as u64 + 1
        && match &layer.nodes {
            LayerNodes::Step(pieces) => index_check::steps_lead(pieces, fences),
            LayerNodes::Coded { layer, granule } => {
                let mut stored = Vec::new();
                layer.encode(0..layer.groups(), &mut stored);
                index_check::coded_lead(&stored, layer.groups(), *granule, fences)
            }
            LayerNodes::Line(_) => true,
        }
}

fn kind_of(nodes: &LayerNodes) -> (NodeKind, u64) {
    match nodes {
        LayerNodes::Line(_) => (NodeKind::Line, 1),
        LayerNodes::Coded { granule, .. } => (NodeKind::Coded, *granule),
        _ => (NodeKind::Step, 1),
    }
}

fn encode_nodes(nodes: &LayerNodes, range: Range<usize>) -> Vec<u8> {
    let mut payload = Vec::new();
    match nodes {
        LayerNodes::Step(pieces) => step::encode(&pieces[range], &mut payload),
        LayerNodes::Line(lines) => line::encode(&lines[range], &mut payload),
        LayerNodes::Coded { layer, .. } => layer.encode(range, &mut payload),
    }
    payload
}

fn write_numbers(design: &Design, out: &mut PublishedFile) -> Result<WrittenIndex> {
    let top = design.layers.len() - 1;
    let mut metas = Vec::new();
    for (i, layer) in design.layers[..top].iter().enumerate() {
        let offset = out.offset();
        let pages = layer.pages();
        for (j, page) in pages.iter().enumerate() {
            let end = pages.get(j + 1).map_or((layer.children, u64::MAX), |next| (next.first_child, next.separator));
            let payload = encode_nodes(&layer.nodes, page.nodes.clone());
            let place = (out.file_id, out.offset());
            out.put(&encode_index_page(place, layer.page_bytes as usize, payload, page.nodes.len(), end)?)?;
        }
        let page_bytes = u64::from(layer.page_bytes);
        let meta = layer_meta(layer, pages.len() as u64, page_bytes, offset, &design.reads[i + 1]);
        metas.push(LayerMeta { max_read_bytes: most_read_bytes(design, i + 1, page_bytes), ..meta });
    }
    let root = &design.layers[top];
    let payload = encode_nodes(&root.nodes, 0..root.node_count() as usize);
    let bytes = payload.len() as u64;
    metas.push(layer_meta(root, 1, bytes, 0, &ReadSizes::constant(bytes)));
    Ok(WrittenIndex {
        layers: metas,
        root: payload,
        mean_read_bytes: storable_mean(design.reads[0].mean_bytes()),
        max_read_bytes: design.reads[0].max_bytes(),
        compared: Vec::new(),
        reads: design.reads.clone(),
        caching: None,
    })
}

/// Largest read of the children of `level` in a lookup. The tuner's sizes are for keys within a child; an approximate
/// node leads an absent key in a gap to both neighbours.
fn most_read_bytes(design: &Design, level: usize, child_bytes: u64) -> u64 {
    let known = design.reads[level].max_bytes();
    let layer = &design.layers[level];
    let LayerNodes::Line(lines) = &layer.nodes else { return known };
    let children = lines.iter().map(|line| u64::from(line.window).max(2)).max().unwrap_or(1).min(layer.children);
    known.max(children.saturating_mul(child_bytes))
}

fn layer_meta(layer: &DesignLayer, pages: u64, page_bytes: u64, offset: u64, reads: &ReadSizes) -> LayerMeta {
    let (kind, granule) = kind_of(&layer.nodes);
    LayerMeta {
        kind,
        granule,
        nodes: layer.node_count(),
        builder: layer.builder.to_string(),
        page_bytes,
        pages,
        offset,
        mean_read_bytes: storable_mean(reads.mean_bytes()),
        max_read_bytes: reads.max_bytes(),
    }
}

fn write_strings(layers: &[StringLayer], out: &mut PublishedFile) -> Result<(Vec<u8>, Vec<LayerMeta>)> {
    let top = layers.len() - 1;
    let meta = |layer: &StringLayer, pages: usize, page_bytes: usize, offset: u64| LayerMeta {
        kind: NodeKind::CodedStrings,
        granule: 1,
        nodes: layer.groups() as u64,
        builder: "coded".to_owned(),
        page_bytes: page_bytes as u64,
        pages: pages as u64,
        offset,
        mean_read_bytes: page_bytes as f64,
        max_read_bytes: page_bytes as u64,
    };
    let mut metas = Vec::new();
    for layer in &layers[..top] {
        let (offset, page_bytes) = (out.offset(), string_page_bytes(layer));
        let pages = layer.pack(page_bytes - INDEX_PAGE_TRAILER_BYTES);
        for page in &pages {
            let mut payload = Vec::new();
            layer.encode(page.clone(), &mut payload);
            let end_child = layer.first_child_after(page.end);
            let place = (out.file_id, out.offset());
            out.put(&encode_index_page(place, page_bytes, payload, page.len(), (end_child, u64::MAX))?)?;
        }
        metas.push(meta(layer, pages.len(), page_bytes, offset));
    }
    let mut root = Vec::new();
    layers[top].encode(0..layers[top].groups(), &mut root);
    metas.push(meta(&layers[top], 1, root.len(), 0));
    Ok((root, metas))
}
