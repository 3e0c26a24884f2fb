//! Collecting what a report shows, by means of the open table. Data blocks are read only for the ends of the curve, for
//! keys that are looked up, and for samples where the index has no exact separators.

use super::asked::AskedKey;
use super::axis::{KeyAxis, KeyWindow, word};
use super::held::{HeldLayer, HeldNodes, HeldPlaces, node_count, part_of_root};
use super::parts::count_lines;
use super::picture::{KeyCurve, NamedProfile, PictureOptions, TablePicture, bytes_text};
use super::scan::BottomScan;
use ogive::table::{FilePart, IndexNodes, IndexPageNodes, LayerKind, TableStructure};
use ogive::{Result, Table};
use std::collections::BTreeSet;
use std::ops::Range;

/// Points of the curve in a page; between them it is drawn from the nodes that the page holds.
const CURVE_POINTS_MAX: usize = 1500;
/// Keys that are looked up if none are asked for.
const DEFAULT_KEYS: u64 = 3;
/// Bytes of a place in JSON, about.
const PLACE_BYTES: usize = 5;

/// Told how much is done, of how much; may end the work with an error.
type Watch<'w> = dyn FnMut(u64, u64) -> Result<()> + 'w;

impl TablePicture {
    /// Collects what the report of a table shows. Open the table without a cache, so that every read of a lookup is
    /// seen. `watch` is told how many bytes of the index are read, of how many.
    ///
    /// # Errors
    /// Storage errors, damage, keys of a wrong length, and the errors of `watch`.
    pub fn of(table: &Table, name: &str, options: &PictureOptions, watch: &mut Watch<'_>) -> Result<Self> {
        let (report, structure) = (table.explain(), table.structure());
        let is_numeric = table.key_type().is_numeric();
        let (first, last) = match report.blocks {
            0 => (Vec::new(), Vec::new()),
            blocks => (table.block_keys(0)?.0, table.block_keys(blocks - 1)?.1),
        };
        let axis = KeyAxis::new(is_numeric, &first, &last);
        let mut scan = scan_bottom(table, &structure, axis.clone(), report.blocks, watch)?;
        let is_exact = structure.layers.first().is_some_and(|layer| layer.kind != LayerKind::Lines);
        let ends = (axis.at(&first), axis.at(&last));
        let mut curve = KeyCurve { is_exact, ..KeyCurve::default() };
        if !is_exact {
            sample_blocks(table, &axis, options.sampled_blocks, &mut scan, &mut curve)?;
        }
        if is_exact {
            let points: Vec<(u64, u64)> = scan.points.iter().map(|&(at, block)| (word(at), block)).collect();
            count_lines(&mut scan.parts, &points, report.blocks);
        }
        thin((table, &axis), &scan.points, ends, &mut curve)?;
        let keys = look_up(table, options, report.blocks)?;
        let (layers, places) =
            Holder { table, structure: &structure, keys: &keys }.hold(options.layers_bytes_max, watch)?;
        Ok(Self {
            name: name.to_owned(),
            is_numeric,
            prefix: bytes_text(axis.prefix()),
            profiles: NamedProfile::all(),
            parts: scan.parts,
            report,
            structure,
            curve,
            layers,
            places,
            keys,
        })
    }
}

/// Passes over the bottom layer.
fn scan_bottom(
    table: &Table,
    structure: &TableStructure,
    axis: KeyAxis,
    blocks: u64,
    watch: &mut Watch<'_>,
) -> Result<BottomScan> {
    let Some(bottom) = structure.layers.first() else { return Ok(BottomScan::new(axis, blocks, 1)) };
    let mut scan = BottomScan::new(axis, blocks, bottom.granule);
    if structure.layers.len() == 1 {
        if let Some(root) = table.root_nodes()? {
            scan.add(&root.nodes);
        }
        return Ok(scan);
    }
    let total = bottom.pages * bottom.page_bytes * 2;
    table.visit_index_pages(1, 0..bottom.pages, |page| {
        watch(page.page * bottom.page_bytes, total)?;
        scan.add(&page.nodes);
        Ok(())
    })?;
    Ok(scan)
}

/// Reads some blocks, evenly apart and where lines of the index end, for the curve and its deviations from the lines.
fn sample_blocks(table: &Table, axis: &KeyAxis, most: u64, scan: &mut BottomScan, curve: &mut KeyCurve) -> Result<()> {
    let blocks = table.explain().blocks;
    let count = most.min(blocks);
    let even = (0..count).map(|number| (u128::from(number) * u128::from(blocks) / u128::from(count)) as u64);
    // A line ends where the keys turn or jump: at the last block before the next one, and its first.
    let turns = scan.lines.iter().skip(1).flat_map(|line| [line.first_child.saturating_sub(1), line.first_child]);
    let chosen: BTreeSet<u64> = even.chain(turns.take(count as usize)).filter(|&block| block < blocks).collect();
    curve.sampled_blocks = chosen.len() as u64;
    for block in chosen {
        let at = axis.at(&table.block_keys(block)?.0);
        scan.points.push((at, block));
        let x = word(at);
        let next = scan.lines.partition_point(|line| line.start <= x);
        let Some(line) = scan.lines.get(next.saturating_sub(1)) else { continue };
        let last_child = scan.lines.get(next).map_or(blocks - 1, |next| next.first_child);
        let window = line.window(x, last_child);
        let middle = (*window.start() as f64 + *window.end() as f64) / 2.0;
        curve.deviations.push((block, block as f64 - middle));
    }
    scan.points.sort_unstable_by_key(|&(at, block)| (block, at));
    // A line may begin a little before the first key of its block.
    let mut highest = KeyWindow::default();
    for point in &mut scan.points {
        highest = point.0.max(highest);
        point.0 = highest;
    }
    Ok(())
}

/// Sets the points of the curve in the page: few, with both ends.
fn thin(
    (table, axis): (&Table, &KeyAxis),
    points: &[(KeyWindow, u64)],
    ends: (KeyWindow, KeyWindow),
    curve: &mut KeyCurve,
) -> Result<()> {
    let blocks = table.explain().blocks;
    if blocks == 0 {
        return Ok(());
    }
    let stride = points.len().div_ceil(CURVE_POINTS_MAX).max(1);
    let inner =
        points.iter().step_by(stride).copied().filter(|&(at, block)| block > 0 && block < blocks && at <= ends.1);
    for (at, block) in std::iter::once((ends.0, 0)).chain(inner) {
        curve.keys.push(axis.text(at.max(ends.0)));
        curve.blocks.push(block);
        curve.records.push(table.records_before(block)?);
    }
    curve.keys.push(axis.text(ends.1));
    curve.blocks.push(blocks);
    curve.records.push(table.len());
    Ok(())
}

/// Looks up the keys that were asked for, or the first keys of some blocks.
fn look_up(table: &Table, options: &PictureOptions, blocks: u64) -> Result<Vec<AskedKey>> {
    if !options.keys.is_empty() {
        return options.keys.iter().map(|key| AskedKey::look_up(table, key)).collect();
    }
    let count = DEFAULT_KEYS.min(blocks);
    let block = |number: u64| (u128::from(blocks) * u128::from(2 * number + 1) / u128::from(2 * count)) as u64;
    let keys = (0..count).map(|number| Ok(table.block_keys(block(number))?.1));
    keys.map(|key: Result<Vec<u8>>| AskedKey::look_up(table, &key?)).collect()
}

/// Chooses the nodes that a page holds: all of them, or those around the keys that were looked up.
struct Holder<'a> {
    table: &'a Table,
    structure: &'a TableStructure,
    keys: &'a [AskedKey],
}

impl Holder<'_> {
    fn hold(&self, budget: usize, watch: &mut Watch<'_>) -> Result<(Vec<HeldLayer>, Vec<HeldPlaces>)> {
        if self.structure.layers.is_empty() {
            return Ok((Vec::new(), self.places(0..self.blocks(), budget / PLACE_BYTES)?));
        }
        match self.whole(budget, watch)? {
            Some(layers) => Ok((layers, self.places(0..self.blocks(), usize::MAX)?)),
            None => self.part(budget, watch),
        }
    }

    fn blocks(&self) -> u64 {
        self.structure.layers.first().map_or_else(|| self.table.explain().blocks, |bottom| bottom.children)
    }

    /// Bytes that the places of this many blocks take.
    fn place_bytes(&self, blocks: u64) -> usize {
        if self.structure.even_blocks.is_some() { 0 } else { blocks as usize * PLACE_BYTES }
    }

    /// All nodes, unless they exceed the budget.
    fn whole(&self, budget: usize, watch: &mut Watch<'_>) -> Result<Option<Vec<HeldLayer>>> {
        let layers = &self.structure.layers;
        let stored: u64 = layers.iter().map(|layer| layer.pages.saturating_mul(layer.page_bytes)).sum();
        let mut left = (budget as i64).saturating_sub(self.place_bytes(self.blocks()) as i64);
        if stored as i64 > left {
            return Ok(None);
        }
        let mut held = Vec::new();
        for (below, layer) in layers.iter().enumerate().take(layers.len() - 1) {
            let mut runs = Vec::new();
            self.table.visit_index_pages(below + 1, 0..layer.pages, |page| {
                watch(stored + page.page * layer.page_bytes, stored * 2)?;
                if left > 0 {
                    let is_last = page.page + 1 == layer.pages;
                    let run = HeldNodes::of_page(page, is_last);
                    left -= run.json_bytes() as i64;
                    runs.push(run);
                }
                Ok(())
            })?;
            held.push(HeldLayer { is_complete: true, runs });
        }
        if let Some(root) = self.table.root_nodes()? {
            let run = HeldNodes::of_page(root, true);
            left -= run.json_bytes() as i64;
            held.push(HeldLayer { is_complete: true, runs: vec![run] });
        }
        Ok((left > 0).then_some(held))
    }

    /// The nodes around the keys: half of the budget for the root, the rest for the layers below in equal parts.
    fn part(&self, budget: usize, watch: &mut Watch<'_>) -> Result<(Vec<HeldLayer>, Vec<HeldPlaces>)> {
        let top = self.structure.layers.len() - 1;
        let mut held = Vec::new();
        let root_budget = if top == 0 { budget } else { budget / 2 };
        let each = budget / 2 / top.max(1);
        for below in 0..top {
            watch(1, 2)?;
            held.push(self.pages_around(below, each)?);
        }
        if let Some(root) = self.table.root_nodes()? {
            held.push(self.root_around(&root, root_budget));
        }
        let mut places = Vec::new();
        if self.structure.even_blocks.is_none() {
            for step in self.keys.iter().filter_map(|key| key.route.last()) {
                places
                    .extend(self.places(step.first..step.last + 1, budget / 8 / PLACE_BYTES / self.keys.len().max(1))?);
            }
        }
        Ok((held, places))
    }

    /// Pages of a layer around those that the keys need.
    fn pages_around(&self, below: usize, budget: usize) -> Result<HeldLayer> {
        let layer = &self.structure.layers[below];
        let steps = self.keys.iter().flat_map(|key| &key.route).filter(|step| step.level == below + 1);
        let mut wanted: Vec<Range<u64>> = steps.map(|step| step.first..step.last + 1).collect();
        wanted.sort_unstable_by_key(|range| range.start);
        let page_json = layer.page_bytes * if layer.kind == LayerKind::Lines { 3 } else { 2 } + 120;
        let reach = budget as u64 / page_json / wanted.len().max(1) as u64 / 2;
        let mut runs: Vec<HeldNodes> = Vec::new();
        let mut end = 0;
        for range in wanted {
            let pages = range.start.saturating_sub(reach).max(end)..(range.end + reach).min(layer.pages);
            end = end.max(pages.end);
            self.table.visit_index_pages(below + 1, pages, |page| {
                let is_last = page.page + 1 == layer.pages;
                runs.push(HeldNodes::of_page(page, is_last));
                Ok(())
            })?;
        }
        Ok(HeldLayer { is_complete: runs.len() as u64 == layer.pages, runs })
    }

    /// The root, or its nodes around the keys.
    fn root_around(&self, root: &IndexPageNodes, budget: usize) -> HeldLayer {
        let top = self.structure.layers.len() - 1;
        let whole = HeldNodes::of_page(root.clone(), true);
        if whole.json_bytes() <= budget {
            return HeldLayer { is_complete: true, runs: vec![whole] };
        }
        let granule = self.structure.layers[top].granule;
        let children = self.keys.iter().flat_map(|key| &key.route).filter(|step| step.level == top);
        let mut wanted: Vec<usize> = children.map(|step| node_of(&root.nodes, step.first / granule)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let runs = part_of_root(root, &wanted, budget);
        HeldLayer { is_complete: runs.len() == 1 && runs[0].is_first && runs[0].end_key.is_empty(), runs }
    }

    /// The places of blocks around a range, at most `most` of them; none if all have one size.
    fn places(&self, blocks: Range<u64>, most: usize) -> Result<Vec<HeldPlaces>> {
        if self.structure.even_blocks.is_some() || blocks.is_empty() {
            return Ok(Vec::new());
        }
        let spare = (most as u64).saturating_sub(blocks.end - blocks.start) / 2;
        let (from, to) = (blocks.start.saturating_sub(spare), blocks.end.saturating_add(spare).min(self.blocks()));
        let to = to.min(from.saturating_add(most as u64));
        let parts: Vec<FilePart> = (from..to).map(|block| self.table.block_part(block)).collect::<Result<_>>()?;
        Ok(vec![HeldPlaces::of(from, &parts)])
    }
}

/// The position of the node that leads to a child: of coded separators, in granules.
fn node_of(nodes: &IndexNodes, child: u64) -> usize {
    let next = match nodes {
        IndexNodes::Steps(pieces) => pieces.partition_point(|piece| piece.first_child <= child),
        IndexNodes::Lines(lines) => lines.partition_point(|line| line.first_child <= child),
        IndexNodes::Coded(groups) => groups.partition_point(|group| group.first_child <= child),
        IndexNodes::Strings(separators) => separators.partition_point(|separator| separator.0 <= child),
    };
    next.min(node_count(nodes)).saturating_sub(1)
}
