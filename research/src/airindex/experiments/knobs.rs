//! Figures 11 and 12: the best setting of each knob of fixed designs, compared with the tuned design.

use crate::airindex::designs::{PaperDesign, rmi_builder};
use crate::models::rmi::RootKind;
use anyhow::Result;
use ogive::io::Profile;
use ogive::tune::{Design, DesignRequest, LayerBuilder};

use super::keys::Keys;
use super::rows::{Blocks, IntegerRecords, with_design};
use super::settings::{KEY_SETS, Progress, profiles, search};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;

pub(crate) const KNOBS: Experiment = Experiment {
    name: "airindex/knobs",
    about: "page size, error, leaves, layers, lambda of fixed designs beside the tuned one (AirIndex, Figures 11, 12)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
/// Range of the pages and granularities of fixed designs, as powers of two.
const BYTES_LOG2: std::ops::RangeInclusive<u32> = 9..=20;
const ERRORS_LOG2: std::ops::RangeInclusive<u32> = 3..=12;
/// RMIs: root models, and numbers of leaves as powers of four. The leaves are read when the table is opened, or in part
/// by a line over them.
const RMI_ROOTS: [RootKind; 2] = [RootKind::Linear, RootKind::Cubic];
const RMI_LEAVES_LOG2: std::ops::RangeInclusive<u32> = 6..=16;
const MOST_LAYERS: usize = 4;
/// Maximum number of layers, more than a tree of the smallest pages needs.
const TREE_LAYERS: usize = 32;
const BLOCK_BYTES: u32 = 4096;
const BUILDERS: [&str; 4] = ["gstep", "gband", "eband", "coded"];

/// A setting of a knob.
struct Setting {
    design: String,
    knob: &'static str,
    value: u64,
    block_bytes: u32,
    unit_bytes: Option<u32>,
    request: DesignRequest,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let settings = settings();
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, KNOBS.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let records = IntegerRecords::new(Keys::load(&set)?, context.payload_bytes)?;
        for profile in &profiles {
            let progress = Progress::new(settings.len() + 1)?;
            progress.on("tuned");
            let (blocks, tuned) = records.tuned(profile, &search())?;
            let tuned_us = tuned.cost.total_us;
            output.report(record(set.name(), profile, "tuned", &blocks, &tuned, tuned_us))?;
            for setting in &settings {
                progress.step();
                progress.on(&setting.design);
                let options = search().page_bytes(setting.unit_bytes.unwrap_or(search().page_bytes));
                let blocks = records.blocks(setting.block_bytes);
                let design = blocks.design(&setting.request, profile, &options);
                let record = record(set.name(), profile, &setting.design, &blocks, &design, tuned_us);
                output.report(record.figure("knob", setting.knob).figure("value", setting.value))?;
            }
        }
        Ok(())
    })
}

fn record(keys: &str, profile: &Profile, name: &str, blocks: &Blocks, design: &Design, tuned_us: f64) -> Record {
    let record = Record::new(KNOBS.name)
        .keys(keys)
        .profile(profile.name())
        .design(name)
        .figure("modelled_us", design.cost.total_us)
        .figure("ratio_to_tuned", design.cost.total_us / tuned_us);
    with_design(record, blocks, design)
}

fn settings() -> Vec<Setting> {
    let sizes = || BYTES_LOG2.map(|log2| 1_u32 << log2);
    let trees = sizes().map(|page_bytes| Setting {
        design: format!("btree of {page_bytes} B"),
        knob: "page_bytes",
        value: u64::from(page_bytes),
        block_bytes: page_bytes,
        unit_bytes: Some(page_bytes),
        request: tree(page_bytes),
    });
    let errors = || ERRORS_LOG2.map(|log2| 1_u64 << log2);
    let learned = |knob, value, request: DesignRequest| Setting {
        design: request.to_string(),
        knob,
        value,
        block_bytes: BLOCK_BYTES,
        unit_bytes: None,
        request,
    };
    let approximations =
        errors().map(|error_keys| learned("error_keys", error_keys, PaperDesign::Pgm { error_keys }.request()));
    let plex = errors().map(|error_keys| {
        learned("plex_error_keys", error_keys, PaperDesign::Plex { error_keys: Some(error_keys) }.request())
    });
    let rmi = RMI_ROOTS.into_iter().flat_map(|root| {
        RMI_LEAVES_LOG2.step_by(2).flat_map(move |log2| {
            let leaves = 1_u64 << log2;
            let lines = rmi_builder(root, leaves);
            // Alone, or under one line over all of their pages.
            let designs = [vec![lines], vec![lines, rmi_builder(RootKind::Linear, 1)]];
            designs.map(|builders| learned("rmi_leaves", leaves, DesignRequest::Forced(builders)))
        })
    });
    let by_layers = (1..=MOST_LAYERS)
        .flat_map(|layers| BUILDERS.map(|builder| stack("layers", layers as u64, layers, builder, 2 * BLOCK_BYTES)));
    let by_granularity = sizes().flat_map(|lambda_bytes| {
        BUILDERS.map(|builder| stack("lambda_bytes", u64::from(lambda_bytes), 2, builder, lambda_bytes))
    });
    trees.chain(approximations).chain(plex).chain(rmi).chain(by_layers).chain(by_granularity).collect()
}

/// A tree whose nodes and data blocks are pages of this size, up to a root of one page.
fn tree(page_bytes: u32) -> DesignRequest {
    let builder = LayerBuilder::GStep { pieces: u32::MAX, lambda_bytes: u64::from(page_bytes) };
    DesignRequest::Forced(vec![builder; TREE_LAYERS])
}

/// Layers of one builder and granularity over data blocks no larger than that.
fn stack(knob: &'static str, value: u64, layers: usize, builder: &str, lambda_bytes: u32) -> Setting {
    let lambda = u64::from(lambda_bytes);
    let one = match builder {
        "gstep" => LayerBuilder::GStep { pieces: u32::MAX, lambda_bytes: lambda },
        "gband" => LayerBuilder::GBand { lambda_bytes: lambda },
        "eband" => LayerBuilder::EBand { lambda_bytes: lambda },
        _ => LayerBuilder::Coded { lambda_bytes: lambda },
    };
    Setting {
        design: format!("layers={layers},builder={builder},lambda={lambda}"),
        knob,
        value,
        block_bytes: BLOCK_BYTES.min(lambda_bytes),
        unit_bytes: None,
        request: DesignRequest::Forced(vec![one; layers]),
    }
}
