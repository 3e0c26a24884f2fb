//! Designs for known lookups: objectives, looked-up keys and caches, against plain enumerations of all lookups.

use crate::named::{of_one_layer, weighed};
use crate::support::{Random, keys, look_up, probes, row_of};
use ogive::Result;
use ogive::io::{Profile, ProfilePoint, ReadQuantiles};
use ogive::tune::{
    Design, DesignCaching, DesignObjective, DesignProblem, DesignRequest, DesignSearchOptions, LayerBuilderKind,
    LevelInput, assess_for, replay, tune,
};

const SHAPES: [&str; 4] = ["uniform", "lognormal", "steps", "clusters"];

/// Lookups of few keys more often than others: a key's chance falls with the square of its rank.
fn skewed(keys: &[u64], count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let pick = |unit: f64| ((unit * unit * unit) * (keys.len() - 1) as f64) as usize;
    // The popular keys are spread over the key space.
    (0..count).map(|_| keys[pick(random.unit()).wrapping_mul(7919) % keys.len()]).collect()
}

/// Times in microseconds of all lookups after opening, by enumeration.
fn times_us(design: &Design, row: &LevelInput, keys: &[u64], profile: &Profile) -> Vec<f64> {
    let probes = probes(design);
    let time = |&key: &u64| look_up(design, row, &probes, key).iter().map(|&bytes| profile.time_us(bytes)).sum();
    keys.iter().map(time).collect()
}

/// The least of `times` that a share of at least `quantile` of them does not exceed.
fn quantile_of(mut times: Vec<f64>, quantile: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((quantile * times.len() as f64 - 1e-6).ceil() as usize).clamp(1, times.len()) - 1]
}

#[test]
fn a_quantile_is_that_of_all_lookups_where_one_read_varies() -> Result<()> {
    let profile = Profile::affine("bare", 1e-3, 100.0, 1)?;
    for shape in SHAPES {
        let keys = keys(shape, 30_000, 4);
        let row = row_of(&keys, 31, 512);
        for quantile in [0.5, 0.9, 0.99] {
            let problem =
                DesignProblem { objective: DesignObjective::Quantile(quantile), ..DesignProblem::new(&profile) };
            for request in of_one_layer() {
                let design = request.parse::<DesignRequest>()?.build(&row, &problem);
                if design.layers.len() > 1 {
                    continue;
                }
                let stated_us = design.objective_us(&problem) - profile.time_us(design.root_bytes());
                // Blocks of one quantile differ by the keys in the last one, so the shares differ by a block.
                let (low, high) = (quantile - 0.002, quantile + 0.002);
                let [low, high] = [low, high].map(|at| quantile_of(times_us(&design, &row, &keys, &profile), at));
                let is_between = low - 1e-6 <= stated_us && stated_us <= high + 1e-6;
                assert!(is_between, "{shape}, {request}, {quantile}: {stated_us}, found {low} to {high}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_design_for_known_lookups_never_costs_them_more_than_one_for_all_keys() -> Result<()> {
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        let keys = keys(shape, 100_000, seed as u64);
        let even = row_of(&keys, 31, 512);
        for (asked, count) in [(200, 1_000), (keys.len(), 5_000)] {
            let lookups = skewed(&keys[..asked], count, 9);
            let mut row = even.clone();
            row.weigh_by(&lookups);
            for name in ["optane", "ssd", "s3"] {
                let profile = Profile::named(name)?;
                for objective in [DesignObjective::MeanLatency, DesignObjective::Quantile(0.99)] {
                    for resident_bytes in [None, Some(400)] {
                        let problem = DesignProblem { objective, resident_bytes, ..DesignProblem::new(&profile) };
                        let tuned = tune(&row, &problem);
                        let untuned = tune(&even, &problem).repriced(&row, &problem);
                        let (tuned_us, untuned_us) = (tuned.objective_us(&problem), untuned.objective_us(&problem));
                        assert!(
                            tuned_us <= untuned_us * (1.0 + 1e-12),
                            "{shape}, {asked}, {name}, {objective}: {tuned_us} us, untuned {untuned_us} us"
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_repriced_design_has_the_reads_of_one_that_is_built_for_the_lookups() -> Result<()> {
    let profile = Profile::named("optane")?;
    let keys = keys("clusters", 50_000, 3);
    let even = row_of(&keys, 31, 512);
    let mut row = even.clone();
    row.weigh_by(&skewed(&keys, 3_000, 1));
    let problem = DesignProblem::new(&profile);
    for request in weighed() {
        let request = request.parse::<DesignRequest>()?;
        assert_eq!(request.build(&even, &problem).repriced(&row, &problem), request.build(&row, &problem), "{request}");
    }
    Ok(())
}

#[test]
fn replayed_lookups_make_the_reads_of_simulated_ones() -> Result<()> {
    let profile = Profile::named("ssd")?;
    for shape in SHAPES {
        let keys = keys(shape, 20_000, 2);
        let row = row_of(&keys, 31, 512);
        let asked = skewed(&keys, 500, 5);
        for request in weighed() {
            let design = request.parse::<DesignRequest>()?.build(&row, &DesignProblem::new(&profile));
            let found = replay(&design, &row, &asked, 0);
            for objective in [DesignObjective::MeanLatency, DesignObjective::Quantile(0.9)] {
                let problem = DesignProblem { objective, ..DesignProblem::new(&profile) };
                let times = times_us(&design, &row, &asked, &profile);
                let expected_us = match objective {
                    DesignObjective::Quantile(quantile) => quantile_of(times, quantile),
                    _ => times.iter().sum::<f64>() / times.len() as f64,
                };
                let found_us = found.objective_us(0, &problem) - profile.time_us(0);
                assert!((found_us - expected_us).abs() < 1e-6, "{shape}, {request}: {found_us}, {expected_us}");
            }
            assert!(found.hit_rates.iter().all(|&rate| rate == 0.0));
        }
    }
    Ok(())
}

#[test]
fn hit_rates_are_those_of_a_list_with_the_last_used_block_in_front() -> Result<()> {
    let keys = keys("lognormal", 50_000, 8);
    let row = row_of(&keys, 31, 512);
    let asked = skewed(&keys, 4_000, 6);
    let profile = Profile::named("nvme")?;
    let design = DesignRequest::Coded.build(&row, &DesignProblem::new(&profile));
    for blocks in [1_usize, 20, 300, 5_000] {
        let mut list: Vec<usize> = Vec::new();
        let mut hits = 0;
        for (number, &key) in asked.iter().chain(&asked).enumerate() {
            let block = row.child_of(key);
            let found = list.iter().position(|&held| held == block);
            hits += usize::from(found.is_some() && number >= asked.len());
            if let Some(place) = found {
                list.remove(place);
            }
            list.insert(0, block);
            list.truncate(blocks);
        }
        // A block, and what a cache keeps of it.
        let found = replay(&design, &row, &asked, (512 + 112) * blocks as u64);
        assert_eq!(found.hit_rates, [hits as f64 / asked.len() as f64], "{blocks}");
        assert!((found.requests - (1.0 - found.hit_rates[0])).abs() < 1e-9);
        assert!((found.bytes - 512.0 * found.requests).abs() < 1e-6);
    }
    Ok(())
}

#[test]
fn a_shared_opening_counts_its_part_in_the_mean_and_nothing_in_a_quantile_below_it() -> Result<()> {
    let profile = Profile::named("ssd")?;
    let row = row_of(&keys("lognormal", 50_000, 2), 31, 512);
    for (objective, parts) in
        [(DesignObjective::MeanLatency, [1.0, 0.01, 0.0]), (DesignObjective::Quantile(0.95), [1.0, 0.0, 0.0])]
    {
        for (lookups, part) in [1, 100, 0].into_iter().zip(parts) {
            let caching = DesignCaching::opened_once_in(lookups);
            let problem = DesignProblem { caching, objective, ..DesignProblem::new(&profile) };
            let design = DesignRequest::Coded.build(&row, &problem);
            let expected_us = part * profile.time_us(design.root_bytes()) + profile.time_us(512);
            let found_us = design.objective_us(&problem);
            assert!((found_us - expected_us).abs() < 1e-6, "{objective}, {lookups}: {found_us}, {expected_us}");
        }
    }
    Ok(())
}

#[test]
fn no_search_gains_more_than_the_assessment_allows() -> Result<()> {
    for shape in SHAPES {
        let row = row_of(&keys(shape, 100_000, 3), 31, 512);
        for name in Profile::names() {
            let profile = Profile::named(name)?;
            for lookups in [0, 1, 50] {
                let problem =
                    DesignProblem { caching: DesignCaching::opened_once_in(lookups), ..DesignProblem::new(&profile) };
                let btree_us = DesignRequest::Btree.build(&row, &problem).objective_us(&problem);
                let tuned_us = tune(&row, &problem).objective_us(&problem);
                let assessment = assess_for(row.size_bytes(), btree_us, &problem);
                let gain = 1.0 - tuned_us / btree_us;
                assert!(gain <= assessment.gain_max() + 1e-9, "{shape}, {name}: {gain}, {assessment:?}");
                assert!(assessment.step_complexity_us >= assessment.least_us);
            }
        }
    }
    Ok(())
}

/// A profile whose long reads are steady, and whose short ones often are not.
fn spread_profile() -> Result<Profile> {
    let points = [(512, 100.0), (4096, 105.0), (65_536, 600.0), (1 << 20, 2_000.0)];
    let points = points.map(|(size_bytes, time_us)| ProfilePoint { size_bytes, time_us });
    let spread = [(140.0, 600.0, 900.0), (150.0, 600.0, 950.0), (650.0, 700.0, 960.0), (2_100.0, 2_200.0, 2_300.0)];
    let spread = spread.map(|(p90_us, p99_us, p999_us)| ReadQuantiles { p90_us, p99_us, p999_us });
    Profile::from_points("spread", points.to_vec(), 1)?.with_spread(&spread)
}

#[test]
fn the_spread_of_the_storage_is_part_of_a_quantile() -> Result<()> {
    let profile = spread_profile()?;
    // Equally likely outcomes of one read.
    const OUTCOMES: usize = 2_000;
    for shape in ["lognormal", "clusters"] {
        let keys = keys(shape, 10_000, 4);
        let row = row_of(&keys, 31, 512);
        for quantile in [0.5, 0.9, 0.99] {
            let problem =
                DesignProblem { objective: DesignObjective::Quantile(quantile), ..DesignProblem::new(&profile) };
            for request in of_one_layer() {
                let design = request.parse::<DesignRequest>()?.build(&row, &problem);
                if design.layers.len() > 1 {
                    continue;
                }
                let stated_us = design.objective_us(&problem) - profile.time_quantile_us(design.root_bytes(), quantile);
                let times = |size: u64| {
                    (0..OUTCOMES).map(move |at| (at as f64 + 0.5) / OUTCOMES as f64).map(move |at| (size, at))
                };
                let outcomes = keys.iter().step_by(20).flat_map(|&key| {
                    look_up(&design, &row, &probes(&design), key).into_iter().flat_map(times).collect::<Vec<_>>()
                });
                let outcomes: Vec<f64> = outcomes.map(|(size, at)| profile.time_quantile_us(size, at)).collect();
                let [low, high] = [quantile - 0.004, quantile + 0.004].map(|at| quantile_of(outcomes.clone(), at));
                let is_between = low - 1e-6 <= stated_us && stated_us <= high + 1e-6;
                assert!(is_between, "{shape}, {request}, {quantile}: {stated_us}, found {low} to {high}");
            }
        }
    }
    Ok(())
}

#[test]
fn storage_with_a_long_tail_gets_another_design_for_it() -> Result<()> {
    // By T(n), a read of 64 KiB costs as much as six short ones; by its 99th percentile, hardly more than one.
    let profile = spread_profile()?;
    let row = row_of(&keys("clusters", 300_000, 1), 3, 512);
    let mean = DesignProblem {
        options: DesignSearchOptions::default().builders(vec![LayerBuilderKind::GStep]),
        ..DesignProblem::new(&profile)
    };
    let tail = DesignProblem { objective: DesignObjective::Quantile(0.99), ..mean.clone() };
    let (for_mean, for_tail) = (tune(&row, &mean), tune(&row, &tail));
    let (mean_us, tail_us) = (for_mean.objective_us(&tail), for_tail.objective_us(&tail));
    assert!(tail_us < mean_us * 0.9, "{tail_us} us, {mean_us} us; {:?} {:?}", for_tail.report(), for_mean.report());
    Ok(())
}
