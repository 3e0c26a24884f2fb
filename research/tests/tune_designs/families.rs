//! Tests of the families: errors are kept, and the parameters that a family chooses cost no more than stated ones.

use crate::support::{keys, row_of};
use ogive::Result;
use ogive::io::Profile;
use ogive::tune::extend::GivenDesign;
use ogive::tune::{DesignProblem, DesignRequest, DesignSearchOptions, LayerBuilder};
use ogive_research::airindex::designs::PaperDesign;

#[test]
fn a_pgm_index_has_one_node_or_one_unit_of_them_on_top() -> Result<()> {
    let row = row_of(&keys("clusters", 300_000, 3), 8, 512);
    let profile = Profile::named("ssd")?;
    for error_keys in [1, 16, 64, 4096] {
        let problem = DesignProblem { keys_per_child: 8.0, ..DesignProblem::new(&profile) };
        let design = PaperDesign::Pgm { error_keys }.build(&row, &problem);
        let root = design.layers.last().map(|root| (root.node_count(), root.pages().len()));
        assert!(root.is_some_and(|(_, pages)| pages == 1), "{error_keys}: {:?}", design.report());
        let window = 2 * error_keys.div_ceil(8) + 2;
        assert!(design.reads[0].mean_bytes() <= (window * 512) as f64, "{error_keys}: {:?}", design.report());
    }
    Ok(())
}

#[test]
fn a_spline_keeps_its_error_and_an_rmi_or_spline_of_its_own_choice_costs_no_more_than_a_stated_one() -> Result<()> {
    ogive_research::register();
    for shape in ["uniform", "lognormal", "clusters"] {
        let row = row_of(&keys(shape, 300_000, 3), 8, 512);
        for name in ["optane", "ssd", "s3"] {
            let profile = Profile::named(name)?;
            let problem = DesignProblem { keys_per_child: 8.0, ..DesignProblem::new(&profile) };
            let cost_us = |request: DesignRequest| request.build(&row, &problem).cost.total_us;
            let least_us = cost_us(PaperDesign::RadixSpline { error_keys: None }.request());
            for error_keys in [8, 64, 512] {
                let design = PaperDesign::RadixSpline { error_keys: Some(error_keys) }.build(&row, &problem);
                let window = 2 * error_keys.div_ceil(8) + 3;
                assert!(design.reads[0].mean_bytes() <= (window * 512) as f64, "{error_keys}: {:?}", design.report());
                assert!(least_us <= design.cost.total_us, "{shape}, {name}, {error_keys}");
            }
            let least_us = cost_us(PaperDesign::Rmi.request());
            for leaves in [64, 1024] {
                let stated = format!("layers=1,builder=rmi-linear,leaves={leaves}").parse::<DesignRequest>()?;
                assert!(least_us <= cost_us(stated), "{shape}, {name}, {leaves} leaves");
            }
        }
    }
    Ok(())
}

#[test]
fn a_plex_lays_a_table_over_its_spline_and_keeps_its_error() -> Result<()> {
    ogive_research::register();
    for shape in ["uniform", "lognormal", "clusters"] {
        let row = row_of(&keys(shape, 300_000, 3), 8, 512);
        for name in ["optane", "ssd", "s3"] {
            let profile = Profile::named(name)?;
            let problem = DesignProblem { keys_per_child: 8.0, ..DesignProblem::new(&profile) };
            let least_us = PaperDesign::Plex { error_keys: None }.build(&row, &problem).cost.total_us;
            for error_keys in [8, 64, 512] {
                let design = PaperDesign::Plex { error_keys: Some(error_keys) }.build(&row, &problem);
                let window = 2 * error_keys.div_ceil(8) + 3;
                assert!(design.reads[0].mean_bytes() <= (window * 512) as f64, "{error_keys}: {:?}", design.report());
                assert!(least_us <= design.cost.total_us, "{shape}, {name}, {error_keys}");
                // Three reads, also where the spline has one page.
                assert_eq!((design.layers.len(), design.reads.len()), (2, 2), "{shape}, {name}, {error_keys}");
                let stated = "layers=2,builder=spline/radix,error=1/-,bins=-/8".parse::<DesignRequest>()?;
                let stated = stated.build(&row, &problem);
                if error_keys == 8 && stated.layers.len() == 2 {
                    assert!(design.cost.total_us <= stated.cost.total_us, "{shape}, {name}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_data_calculator_finds_a_tree_that_costs_no_more_than_any_of_its_space() -> Result<()> {
    for shape in ["uniform", "lognormal", "clusters"] {
        let row = row_of(&keys(shape, 300_000, 3), 31, 512);
        for name in ["optane", "ssd", "s3"] {
            let profile = Profile::named(name)?;
            let problem = DesignProblem { keys_per_child: 31.0, ..DesignProblem::new(&profile) };
            let found = PaperDesign::DataCalculator.build(&row, &problem);
            for (layers, fanout) in [(1, 16), (1, 1024), (2, 16), (2, 128), (3, 32)] {
                let leaf_bytes = row.children().div_ceil(u64::pow(fanout, layers)) * 512;
                let node_bytes = (24 + 13 * fanout).next_multiple_of(512);
                let options = DesignSearchOptions::default().page_bytes(node_bytes as u32);
                let step = |lambda_bytes| LayerBuilder::GStep { pieces: fanout as u32, lambda_bytes };
                let builders = (0..layers).map(|layer| step(if layer == 0 { leaf_bytes } else { node_bytes }));
                let stated = DesignRequest::Forced(builders.collect());
                let stated = stated.build(&row, &DesignProblem { options, ..problem.clone() });
                assert!(
                    found.cost.total_us <= stated.cost.total_us * (1.0 + 1e-9),
                    "{shape}, {name}, {layers} layers of {fanout}: {:?} {} us, {:?} {} us",
                    found.report(),
                    found.cost.total_us,
                    stated.report(),
                    stated.cost.total_us
                );
            }
        }
    }
    Ok(())
}
