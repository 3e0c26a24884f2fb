//! Tests that the search finds designs as good as brute force over all designs of up to two layers, with a fraction of
//! the work.

use crate::named::rivals;
use crate::support::{keys, row_of};
use ogive::Result;
use ogive::io::Profile;
use ogive::tune::{DesignProblem, DesignRequest, DesignSearchOptions, LayerBuilder, tune};
use ogive_testkit::key_sets;

fn builders(child_bytes: u64) -> Vec<LayerBuilder> {
    let lambdas = (8..=20).map(|log2| 1_u64 << log2).filter(|&lambda| lambda >= child_bytes);
    let all = |lambda_bytes| {
        [
            LayerBuilder::GStep { pieces: u32::MAX, lambda_bytes },
            LayerBuilder::GBand { lambda_bytes },
            LayerBuilder::EBand { lambda_bytes },
            LayerBuilder::Coded { lambda_bytes },
        ]
    };
    lambdas.flat_map(all).collect()
}

#[test]
fn the_search_comes_within_two_percent_of_brute_force() -> Result<()> {
    let profiles =
        ["ssd", "nfs", "s3", "nvme", "optane"].map(Profile::named).into_iter().collect::<Result<Vec<_>>>()?;
    for shape in ["lognormal", "uniform", "steps", "clusters"] {
        let row = row_of(&keys(shape, 100_000, 11), 63, 512);
        let free = DesignProblem::new(&profiles[0]);
        let mut designs = vec![DesignRequest::None.build(&row, &free)];
        for below in builders(512) {
            designs.push(DesignRequest::Forced(vec![below]).build(&row, &free));
            designs.extend(
                builders(512).into_iter().map(|root| DesignRequest::Forced(vec![below, root]).build(&row, &free)),
            );
        }
        for profile in &profiles {
            let problem = DesignProblem::new(profile);
            let cost = |design: &ogive::tune::Design| design.cost_under(profile, &problem).total_us;
            let best = designs.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(&designs[0]);
            let found = tune(&row, &problem);
            assert!(
                found.cost.total_us <= 1.02 * cost(best),
                "{shape}, {}: found {} us {:?}, brute force {} us {:?}",
                profile.name(),
                found.cost.total_us,
                found.report(),
                cost(best),
                best.report()
            );
        }
    }
    Ok(())
}

#[test]
fn judging_by_samples_loses_little() -> Result<()> {
    for name in ["ssd", "nvme", "s3"] {
        let profile = Profile::named(name)?;
        for shape in ["lognormal", "uniform", "steps", "clusters"] {
            let row = row_of(&keys(shape, 1_000_000, 4), 31, 512);
            let judged = tune(&row, &DesignProblem::new(&profile));
            let options = DesignSearchOptions::default().exact_children(usize::MAX);
            let exact = tune(&row, &DesignProblem { options, ..DesignProblem::new(&profile) });
            assert!(
                judged.cost.total_us <= 1.01 * exact.cost.total_us,
                "{shape}, {name}: {} us {:?}, with every builder built whole {} us {:?}",
                judged.cost.total_us,
                judged.report(),
                exact.cost.total_us,
                exact.report()
            );
        }
    }
    Ok(())
}

#[test]
fn no_named_design_beats_the_tuned_one() -> Result<()> {
    let mut rows: Vec<_> = ["lognormal", "uniform", "steps", "clusters"]
        .into_iter()
        .map(|shape| (shape, 31.0, row_of(&keys(shape, 200_000, 5), 31, 512)))
        .collect();
    // Over this many blocks, the search judges a coded layer by samples, and would take a band for it.
    let shape = "staircase_of_width_129";
    let sets = key_sets::nasty(300_000).into_iter().filter(|(name, _)| *name == shape);
    rows.extend(sets.map(|(_, keys)| (shape, 1.0, row_of(&keys, 1, 512))));
    assert_eq!(rows.len(), 5);
    for (shape, keys_per_child, row) in rows {
        for name in Profile::names() {
            let profile = Profile::named(name)?;
            let problem = DesignProblem { keys_per_child, ..DesignProblem::new(&profile) };
            let tuned = DesignRequest::Tuned.build(&row, &problem);
            for request in rivals() {
                let rival = request.parse::<DesignRequest>()?.build(&row, &problem);
                assert!(
                    tuned.cost.total_us <= rival.cost.total_us * (1.0 + 1e-9),
                    "{shape}, {name}: {request} {} us {:?}, tuned {} us {:?}",
                    rival.cost.total_us,
                    rival.report(),
                    tuned.cost.total_us,
                    tuned.report()
                );
            }
        }
    }
    Ok(())
}
