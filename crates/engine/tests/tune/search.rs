//! Tests of the search: its stop rule, its pruning, and the cost of designs on storage that they were not tuned for.

use crate::support::{keys, row_of};
use ogive::Result;
use ogive::io::{Profile, ProfilePoint};
use ogive::tune::{
    DesignCaching, DesignProblem, DesignRequest, DesignSearchOptions, LayerBuilder, LayerBuilderKind, LevelInput,
    assess, tune,
};

#[test]
fn small_data_are_read_without_index_where_opening_takes_them_along() -> Result<()> {
    let profile = Profile::named("s3")?;
    let row = row_of(&keys("lognormal", 2_000, 1), 31, 512);
    let whole = tune(&row, &DesignProblem { opening_holds_data: true, ..DesignProblem::new(&profile) });
    assert!(whole.layers.is_empty(), "{:?}", whole.report());
    assert!((whole.cost.total_us - profile.time_us(row.size_bytes())).abs() < 1e-6);
    // If the data is a second read in any case, a small root avoids most of its bytes.
    let apart = tune(&row, &DesignProblem::new(&profile));
    let none_us = profile.time_us(0) + profile.time_us(row.size_bytes());
    assert!(!apart.layers.is_empty() && apart.cost.total_us < none_us, "{:?}", apart.report());
    let none = DesignRequest::None.build(&row, &DesignProblem::new(&profile));
    assert!((none.cost.total_us - none_us).abs() < 1e-6);
    Ok(())
}

#[test]
fn fast_storage_gets_more_layers_than_far_storage() -> Result<()> {
    let row = row_of(&keys("steps", 1_000_000, 1), 31, 512);
    let near = Profile::affine("near", 0.1, 100.0, 1)?;
    let far = Profile::affine("far", 100_000.0, 100.0, 1)?;
    let near = tune(&row, &DesignProblem::new(&near));
    let far = tune(&row, &DesignProblem::new(&far));
    assert!(near.layers.len() > far.layers.len(), "{:?} {:?}", near.report(), far.report());
    Ok(())
}

#[test]
fn a_design_for_other_storage_costs_more_than_one_for_this() -> Result<()> {
    let row = row_of(&keys("steps", 1_000_000, 1), 31, 512);
    let near = Profile::affine("near", 0.1, 100.0, 1);
    let profiles = std::iter::once(near).chain(Profile::names().map(Profile::named)).collect::<Result<Vec<_>>>()?;
    let designs: Vec<_> = profiles.iter().map(|profile| tune(&row, &DesignProblem::new(profile))).collect();
    for (own, profile) in designs.iter().zip(&profiles) {
        for design in &designs {
            let cost_us = design.cost_under(profile, &DesignProblem::new(profile)).total_us;
            assert!(own.cost.total_us <= cost_us * 1.005, "{}: {} us, {cost_us} us", profile.name(), own.cost.total_us);
        }
    }
    for (own, profile) in designs.iter().zip(&profiles).skip(1) {
        let mismatched_us = designs[0].cost_under(profile, &DesignProblem::new(profile)).total_us;
        assert!(mismatched_us > own.cost.total_us * 1.1, "{}: {:?}", profile.name(), designs[0].report());
    }
    Ok(())
}

#[test]
fn any_profile_that_never_falls_will_do() -> Result<()> {
    let point = |size_bytes, time_us| ProfilePoint { size_bytes, time_us };
    // Reads of up to 16 KiB cost the same, larger ones a hundred times as much.
    let stairs = vec![point(1, 10.0), point(16_384, 10.0), point(16_385, 1000.0), point(1 << 30, 1001.0)];
    let profile = Profile::from_points("stairs", stairs, 1)?;
    for shape in ["uniform", "steps", "clusters"] {
        let design = tune(&row_of(&keys(shape, 400_000, 1), 31, 512), &DesignProblem::new(&profile));
        assert!(design.cost.total_us < 60.0, "{shape}: {:?}", design.report());
        assert!(
            design.reads.iter().all(|reads| reads.quantile_bytes(0.95) <= 16_384),
            "{shape}: {:?}",
            design.report()
        );
    }
    Ok(())
}

#[test]
fn only_the_builders_that_are_asked_for_are_used() -> Result<()> {
    let row = row_of(&keys("clusters", 400_000, 1), 31, 512);
    let profile = Profile::named("nvme")?;
    let mut costs_us = Vec::new();
    for kind in LayerBuilderKind::ALL {
        let options = DesignSearchOptions::default().builders(vec![kind]);
        let design = tune(&row, &DesignProblem { options, ..DesignProblem::new(&profile) });
        for layer in &design.layers {
            let used = match layer.builder {
                LayerBuilder::GStep { .. } => Some(LayerBuilderKind::GStep),
                LayerBuilder::GBand { .. } => Some(LayerBuilderKind::GBand),
                LayerBuilder::EBand { .. } => Some(LayerBuilderKind::EBand),
                LayerBuilder::Coded { .. } => Some(LayerBuilderKind::Coded),
                _ => None,
            };
            assert_eq!(used, Some(kind), "{}", layer.builder);
        }
        costs_us.push(design.cost.total_us);
    }
    let all_us = tune(&row, &DesignProblem::new(&profile)).cost.total_us;
    assert!(costs_us.iter().all(|&cost_us| all_us <= cost_us * (1.0 + 1e-9)), "{all_us} {costs_us:?}");
    Ok(())
}

#[test]
fn following_more_candidates_never_loses() -> Result<()> {
    let row = row_of(&keys("steps", 300_000, 3), 31, 512);
    let profile = Profile::affine("near", 2.0, 500.0, 1)?;
    let cost_us = |top_k| {
        let options = DesignSearchOptions::default().top_k(top_k);
        tune(&row, &DesignProblem { options, ..DesignProblem::new(&profile) }).cost.total_us
    };
    let costs_us = [1, 2, 5, 20].map(cost_us);
    assert!(costs_us.is_sorted_by(|few, many| many <= few), "{costs_us:?}");
    Ok(())
}

#[test]
fn a_b_tree_has_pages_of_255_and_a_root_of_one_page() -> Result<()> {
    let row = row_of(&keys("uniform", 300_000, 3), 8, 512);
    let profile = Profile::named("ssd")?;
    let design = DesignRequest::Btree.build(&row, &DesignProblem::new(&profile));
    let nodes: Vec<u64> = design.report().iter().map(|layer| layer.nodes).collect();
    assert_eq!(nodes, [4_688, 19], "37,500 blocks of 512 B, read 8 at a time; 19 pages of up to 255");
    assert_eq!(design.layers[0].pages().len(), 19);
    assert_eq!((design.reads[0].max_bytes(), design.reads[1].max_bytes()), (4_096, 4_096));
    Ok(())
}

#[test]
fn the_coded_design_reads_one_block() -> Result<()> {
    let profile = Profile::named("ssd")?;
    for shape in ["uniform", "lognormal", "steps", "clusters"] {
        let row = row_of(&keys(shape, 300_000, 3), 31, 512);
        let design = DesignRequest::Coded.build(&row, &DesignProblem::new(&profile));
        assert_eq!((design.layers.len(), design.reads[0].max_bytes()), (1, 512), "{shape}");
        assert!(design.index_bytes() < 3 * row.children(), "{shape}: {:?}", design.report());
    }
    Ok(())
}

#[test]
fn the_assessment_is_an_upper_bound_for_what_tuning_finds() -> Result<()> {
    for shape in ["uniform", "lognormal", "steps", "clusters"] {
        let row: LevelInput = row_of(&keys(shape, 300_000, 3), 31, 512);
        for name in Profile::names() {
            let profile = Profile::named(name)?;
            let tuned = tune(&row, &DesignProblem::new(&profile));
            let assessment = assess(row.size_bytes(), 13.0, &profile, tuned.cost.total_us);
            assert!(!assessment.worth_tuning(0.01), "{shape}, {name}: {assessment:?}");
        }
    }
    Ok(())
}

#[test]
fn a_long_row_is_indexed_where_short_reads_cost_alike_and_opening_is_free() -> Result<()> {
    let points = [(512, 72.4), (4096, 72.4), (1 << 20, 1200.0)];
    let points = points.map(|(size_bytes, time_us)| ProfilePoint { size_bytes, time_us }).to_vec();
    let profile = Profile::from_points("flat below 4 KiB", points, 4)?;
    for shape in ["steps", "uniform", "clusters"] {
        let row = row_of(&keys(shape, 900_000, 3), 31, 512);
        let caching = DesignCaching { opening_hit_rate: 1.0, ..DesignCaching::default() };
        let design = tune(&row, &DesignProblem { caching, ..DesignProblem::new(&profile) });
        assert!(design.reads[0].max_bytes() <= 1 << 14, "{shape}: {:?}", design.report());
    }
    Ok(())
}
