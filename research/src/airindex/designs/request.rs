//! Design requests: the papers' designs by name, for tables and the command line.

use super::builders::{BUILDERS, spline};
use super::{rmi, splines, trees};
use ogive::tune::extend::{DesignFamily, GivenDesign, ParsedDesign, above_zero, lines_by_error, register};
use ogive::tune::{Design, DesignProblem, DesignRequest, LayerBuilder, LevelInput};
use std::sync::Arc;

/// A design of a paper.
///
/// As text: `pgm:64`, `radix-spline`, `radix-spline:64`, `plex`, `plex:64`, `rmi`, `data-calculator`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PaperDesign {
    /// A PGM-index: optimal piecewise linear layers with this error, up to a root of one node or of the nodes of one
    /// page. The error is rounded up to whole children of each layer.
    Pgm {
        /// Error of each layer, in keys.
        error_keys: u64,
    },
    /// A RadixSpline: layers of greedy splines, up to a root of one node or of the nodes of one page. Further splines
    /// replace the radix table of the in-memory structure.
    RadixSpline {
        /// Error of each layer, in keys, as in [`PaperDesign::Pgm`]; if `None`, the error of least cost.
        error_keys: Option<u64>,
    },
    /// A PLEX: a greedy spline over the data blocks, and over its index pages a table of bins: a radix table or a
    /// compact hist-tree, whichever costs least.
    Plex {
        /// Error of the spline in keys, as in [`PaperDesign::Pgm`]; if `None`, the error of least cost.
        error_keys: Option<u64>,
    },
    /// An RMI: regression lines between borders determined by a root model, with a line over them if reading them in
    /// parts is faster; the best of a grid of root models and numbers of leaves.
    Rmi,
    /// The fastest design of the space that AirIndex completes with the Data Calculator: trees whose nodes all have the
    /// same fanout.
    DataCalculator,
}

impl PaperDesign {
    /// The design as a request for a table.
    #[must_use]
    pub fn request(self) -> DesignRequest {
        DesignRequest::Given(Arc::new(self))
    }
}

impl GivenDesign for PaperDesign {
    fn name(&self) -> String {
        match self {
            Self::Pgm { error_keys } => format!("pgm:{error_keys}"),
            Self::RadixSpline { error_keys: None } => "radix-spline".to_owned(),
            Self::RadixSpline { error_keys: Some(error_keys) } => format!("radix-spline:{error_keys}"),
            Self::Plex { error_keys: None } => "plex".to_owned(),
            Self::Plex { error_keys: Some(error_keys) } => format!("plex:{error_keys}"),
            Self::Rmi => "rmi".to_owned(),
            Self::DataCalculator => "data-calculator".to_owned(),
        }
    }

    fn build(&self, row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
        match *self {
            Self::Pgm { error_keys } => {
                lines_by_error(row, problem, error_keys, |error_children| LayerBuilder::Pla { error_children })
            }
            Self::RadixSpline { error_keys: None } => splines::radix_spline(row, problem),
            Self::RadixSpline { error_keys: Some(error_keys) } => lines_by_error(row, problem, error_keys, spline),
            Self::Plex { error_keys } => splines::plex(row, problem, error_keys),
            Self::Rmi => rmi::rmi(row, problem),
            Self::DataCalculator => trees::data_calculator(row, problem),
        }
    }
}

/// The designs of this crate.
static FAMILY: DesignFamily = DesignFamily {
    forms: &["pgm:EPS", "radix-spline", "radix-spline:EPS", "plex", "plex:EPS", "rmi", "data-calculator"],
    compared: &["pgm:64", "radix-spline", "rmi"],
    parse,
    builders: &BUILDERS,
    fields: &["leaves", "bins"],
};

/// Registers the designs of this crate.
pub(crate) fn register_designs() {
    register(&FAMILY);
}

fn parse(text: &str) -> ParsedDesign {
    let design = match text.split_once(':') {
        None => Ok(match text {
            "radix-spline" => PaperDesign::RadixSpline { error_keys: None },
            "plex" => PaperDesign::Plex { error_keys: None },
            "rmi" => PaperDesign::Rmi,
            "data-calculator" => PaperDesign::DataCalculator,
            _ => return None,
        }),
        Some(("pgm", error)) => above_zero("the error of pgm", error).map(|error_keys| PaperDesign::Pgm { error_keys }),
        Some(("radix-spline", error)) => above_zero("the error of radix-spline", error)
            .map(|error_keys| PaperDesign::RadixSpline { error_keys: Some(error_keys) }),
        Some(("plex", error)) => {
            above_zero("the error of plex", error).map(|error_keys| PaperDesign::Plex { error_keys: Some(error_keys) })
        }
        Some(_) => return None,
    };
    Some(design.map(|design| Arc::new(design) as Arc<dyn GivenDesign>))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_read_as_it_is_written() -> ogive::Result<()> {
        register_designs();
        let texts = [
            "pgm:64",
            "layers=3,builder=pla/coded/plr,lambda=-/512/-,error=8/-/1",
            "radix-spline",
            "radix-spline:128",
            "plex",
            "plex:2048",
            "data-calculator",
            "layers=2,builder=spline/radix,error=4/-,bins=-/256",
            "layers=2,builder=spline/hist-tree,lambda=-/4096,error=4/-,bins=-/16",
            "rmi",
            "layers=2,builder=rmi-cubic/spline,error=-/4,leaves=64/-",
            "layers=2,builder=rmi-linear/rmi-radix,leaves=1000/1",
        ];
        for text in texts {
            assert_eq!(text.parse::<DesignRequest>()?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn a_request_that_cannot_be_understood_says_why() {
        register_designs();
        let cases = [
            ("fast", "none of tuned, coded, btree, pgm:EPS"),
            ("pgm:0", "above 0"),
            ("pgm:many", "above 0"),
            ("radix-spline:", "above 0"),
            ("rmi:4", "none of tuned"),
            ("plex:", "above 0"),
            ("plex:0", "above 0"),
            ("layers=1,builder=radix,leaves=4", "needs bins"),
            ("layers=1,builder=hist-tree,bins=4", "needs lambda"),
            ("layers=1,builder=rmi-linear,lambda=4", "needs leaves"),
            ("layers=1,builder=rmi,leaves=4", "unknown builder"),
        ];
        for (text, part) in cases {
            let message = text.parse::<DesignRequest>().map_or_else(|error| error.to_string(), |made| made.to_string());
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
