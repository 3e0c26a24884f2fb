//! Tests that every design that the search returns is valid: simulated lookups find each key's block within the stated
//! reads, and their mean cost is the cost that the design states.

use crate::named::requests;
use crate::support::{keys, look_up, probes, row_of};
use ogive::Result;
use ogive::io::Profile;
use ogive::tune::{
    Design, DesignCaching, DesignObjective, DesignProblem, DesignRequest, DesignSearchOptions, LevelInput, tune,
};
use ogive_model::Fence;

const SHAPES: [&str; 4] = ["uniform", "lognormal", "steps", "clusters"];
/// Mean cost after opening of simulated lookups of `keys`, in microseconds.
fn simulated_us(design: &Design, row: &LevelInput, keys: &[u64], profile: &Profile) -> f64 {
    let probes = probes(design);
    let cost = |&key: &u64| look_up(design, row, &probes, key).iter().map(|&bytes| profile.time_us(bytes)).sum::<f64>();
    keys.iter().map(cost).sum::<f64>() / keys.len() as f64
}

#[test]
fn every_design_leads_every_key_to_its_block_at_the_stated_cost() -> Result<()> {
    // No latency, which could hide an error in the sizes of reads.
    let bare = Profile::affine("bare", 1e-3, 100.0, 1)?;
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        let keys = keys(shape, 50_000, seed as u64);
        let row = row_of(&keys, 31, 512);
        for profile in [Profile::named("optane")?, Profile::named("s3")?, bare.clone()] {
            let problem = DesignProblem { keys_per_child: 31.0, ..DesignProblem::new(&profile) };
            for request in requests() {
                let design = request.parse::<DesignRequest>()?.build(&row, &problem);
                let stated_us: f64 = design.cost.reads_us.iter().sum();
                let found_us = simulated_us(&design, &row, &keys, &profile);
                let report = design.report();
                assert!(
                    (found_us - stated_us).abs() <= 0.01 * stated_us,
                    "{shape}, {}, {request}: {found_us} us, stated {stated_us} us; {report:?}",
                    profile.name()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn absent_keys_are_led_to_a_block_that_proves_them_absent() -> Result<()> {
    let profile = Profile::named("nvme")?;
    for shape in SHAPES {
        let keys = keys(shape, 20_000, 7);
        let row = row_of(&keys, 31, 512);
        for request in requests() {
            let design = request.parse::<DesignRequest>()?.build(&row, &DesignProblem::new(&profile));
            let probes = probes(&design);
            for fence in &row.fences {
                for x in [fence.low, fence.first_right(), fence.low.midpoint(fence.high), fence.last_left(), fence.high]
                {
                    look_up(&design, &row, &probes, x);
                }
            }
            for x in [0, keys[0].saturating_sub(1), u64::MAX] {
                look_up(&design, &row, &probes, x);
            }
        }
    }
    Ok(())
}

fn nasty_rows() -> Vec<(&'static str, LevelInput)> {
    let row = |first: u64, fences: Vec<(u64, u64)>| LevelInput {
        first,
        fences: fences.into_iter().map(|(low, high)| Fence { low, high }).collect(),
        child_bytes: 4096,
        weights: None,
    };
    let far = (0..1000).map(|i| (10 * i + 9, 10 * i + 10)).chain([(10_009, 1 << 63)]);
    let far = far.chain((1..1000).map(|i| ((1 << 63) + 10 * i - 1, (1 << 63) + 10 * i)));
    vec![
        ("one child", row(5, vec![])),
        ("two children", row(5, vec![(7, 9)])),
        ("two children of one key", row(7, vec![(7, 7)])),
        ("all keys equal", row(7, vec![(7, 7); 5000])),
        ("all keys zero", row(0, vec![(0, 0); 300])),
        ("all keys at the top", row(u64::MAX, vec![(u64::MAX, u64::MAX); 300])),
        ("a run up to the top", row(0, (0..300).map(|i| (i, i + 1)).chain([(u64::MAX, u64::MAX); 300]).collect())),
        ("two runs 2^63 apart", row(0, far.collect())),
        ("neighbouring keys", row(0, (0..3000).map(|i| (i, i + 1)).collect())),
        ("powers of two", row(0, (0..63).map(|i| ((1 << i) - 1, 1 << i)).collect())),
    ]
}

#[test]
fn nasty_rows_get_valid_designs() -> Result<()> {
    for (name, row) in nasty_rows() {
        for profile in Profile::names() {
            let profile = Profile::named(profile)?;
            for request in requests() {
                let design = request.parse::<DesignRequest>()?.build(&row, &DesignProblem::new(&profile));
                let probes = probes(&design);
                assert!(design.cost.total_us.is_finite(), "{name}, {request}");
                let borders =
                    row.fences.iter().flat_map(|fence| [fence.low, fence.first_right(), fence.last_left(), fence.high]);
                for x in borders.chain([0, row.first, u64::MAX]) {
                    look_up(&design, &row, &probes, x);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn weighted_look_ups_decide_the_expected_cost() -> Result<()> {
    let profile = Profile::affine("bare", 1e-3, 100.0, 1)?;
    let all = keys("clusters", 50_000, 3);
    let hot: Vec<u64> = all.iter().copied().filter(|key| key % 7 == 0).take(2_000).collect();
    let mut row = row_of(&all, 31, 512);
    row.weigh_by(&hot);
    let problem = DesignProblem { keys_per_child: 31.0, ..DesignProblem::new(&profile) };
    for request in requests() {
        let design = request.parse::<DesignRequest>()?.build(&row, &problem);
        let stated_us: f64 = design.cost.reads_us.iter().sum();
        let found_us = simulated_us(&design, &row, &hot, &profile);
        assert!((found_us - stated_us).abs() <= 0.01 * stated_us, "{request}: {found_us} us, stated {stated_us} us");
    }
    Ok(())
}

#[test]
fn the_memory_budget_is_kept_whatever_it_costs() -> Result<()> {
    let row = row_of(&keys("lognormal", 100_000, 1), 31, 512);
    for profile in Profile::names() {
        let profile = Profile::named(profile)?;
        let free = tune(&row, &DesignProblem::new(&profile));
        for budget in [0, 50, 200, 1_000, 4_000] {
            let problem = DesignProblem { resident_bytes: Some(budget), ..DesignProblem::new(&profile) };
            let design = tune(&row, &problem);
            assert!(design.root_bytes() <= budget, "{} of {budget} bytes", design.root_bytes());
            assert!(design.cost.total_us >= free.cost.total_us * (1.0 - 1e-9), "{budget}: {:?}", design.report());
        }
    }
    Ok(())
}

#[test]
fn the_smallest_root_within_a_latency_limit_is_smaller_than_the_fastest() -> Result<()> {
    let row = row_of(&keys("clusters", 100_000, 1), 31, 512);
    let profile = Profile::named("ssd")?;
    let fastest = tune(&row, &DesignProblem::new(&profile));
    let limit_us = fastest.cost.total_us * 1.8;
    let problem =
        DesignProblem { objective: DesignObjective::ResidentBytes { limit_us }, ..DesignProblem::new(&profile) };
    let smallest = tune(&row, &problem);
    assert!(smallest.root_bytes() < fastest.root_bytes(), "{:?} {:?}", smallest.report(), fastest.report());
    assert!(smallest.cost.total_us <= limit_us);
    let impossible =
        DesignProblem { objective: DesignObjective::ResidentBytes { limit_us: 1.0 }, ..DesignProblem::new(&profile) };
    assert!((tune(&row, &impossible).cost.total_us - fastest.cost.total_us).abs() < 1e-6);
    Ok(())
}

#[test]
fn a_root_that_is_always_cached_may_grow() -> Result<()> {
    let row = row_of(&keys("lognormal", 100_000, 2), 31, 512);
    let profile = Profile::named("ssd")?;
    let cold = tune(&row, &DesignProblem::new(&profile));
    let caching = DesignCaching { opening_hit_rate: 1.0, cache_us: 0.1, ..DesignCaching::default() };
    let open = tune(&row, &DesignProblem { caching, ..DesignProblem::new(&profile) });
    assert!(open.reads[0].mean_bytes() < cold.reads[0].mean_bytes(), "{:?} {:?}", open.report(), cold.report());
    assert!((open.cost.opening_us - 0.1).abs() < 1e-9);
    Ok(())
}

#[test]
fn a_quantile_looks_at_the_long_reads() -> Result<()> {
    let profile = Profile::named("nvme")?;
    for shape in SHAPES {
        let row = row_of(&keys(shape, 100_000, 2), 31, 512);
        let mean = tune(&row, &DesignProblem::new(&profile));
        let tail =
            tune(&row, &DesignProblem { objective: DesignObjective::Quantile(0.999), ..DesignProblem::new(&profile) });
        let tail_us = |design: &Design| {
            let reads = design.reads.iter().map(|reads| profile.time_us(reads.quantile_bytes(0.999))).sum::<f64>();
            profile.time_us(design.root_bytes()) + reads
        };
        assert!(tail_us(&tail) <= tail_us(&mean) * (1.0 + 1e-9), "{shape}: {} > {}", tail_us(&tail), tail_us(&mean));
    }
    Ok(())
}

#[test]
fn threads_and_partitions_do_not_change_what_is_found() -> Result<()> {
    let row = row_of(&keys("clusters", 100_000, 5), 31, 512);
    let profile = Profile::named("optane")?;
    let one = tune(&row, &DesignProblem::new(&profile));
    let options = DesignSearchOptions::default().threads(3);
    assert_eq!(tune(&row, &DesignProblem { options, ..DesignProblem::new(&profile) }), one);
    Ok(())
}

#[test]
fn layers_built_in_partitions_are_valid_and_hardly_larger() -> Result<()> {
    let keys = keys("clusters", 100_000, 5);
    let row = row_of(&keys, 31, 512);
    let profile = Profile::named("optane")?;
    let options = DesignSearchOptions::default().threads(2).partition_children(700);
    let parts = DesignProblem { options, ..DesignProblem::new(&profile) };
    for request in
        requests().iter().chain(&["layers=1,builder=coded,lambda=1536", "layers=1,builder=gband,lambda=2048"])
    {
        let request = request.parse::<DesignRequest>()?;
        let (design, whole) = (request.build(&row, &parts), request.build(&row, &DesignProblem::new(&profile)));
        let probes = probes(&design);
        for key in &keys {
            look_up(&design, &row, &probes, *key);
        }
        let (parts_us, whole_us) = (design.cost.total_us, whole.cost.total_us);
        assert!(parts_us <= whole_us * 1.03, "{request}: {parts_us} us in parts, {whole_us} us whole");
    }
    Ok(())
}
