//! Designs by name: what a user may ask for instead of a search.

use super::builder::Builder;
use super::design::Design;
use super::design::LINE_NODE_BYTES;
use super::layer::{Layer, UNIT_HEADER_BYTES};
use super::problem::{Options, Problem};
use super::reads::ReadSizes;
use super::row::Row;
use super::search::tune;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Page of the B-tree of the paper's comparison, in bytes.
const BTREE_PAGE_BYTES: u32 = 4096;
/// Its fanout.
const BTREE_FANOUT: u32 = 255;
/// More layers than any named design needs: 2^64 children shrink to one in 63 halvings.
const MOST_LAYERS: usize = 64;

/// The index that a table is to have.
///
/// As text: `tuned`, `btree`, `pgm:64`, `coded`, `none`, or a forced one such as `layers=2,builder=gband,lambda=4096`.
/// In a forced design each field takes one value for all layers, or one for each, bottom first, as in
/// `layers=2,builder=gband/gstep,lambda=4096/512`. Builders are `gstep`, `gband`, `eband` and `coded`, which take
/// `lambda` (a granularity in bytes), and `pla` and `plr`, which take `error` (in children); `-` stands where a builder
/// takes no such value.
///
/// Designs such as RMI, RadixSpline, PLEX or the Data Calculator's would be further variants.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum DesignRequest {
    /// The fastest that the search finds.
    #[default]
    Tuned,
    /// A B-tree: 4 KiB pages of up to 255 separators over data read 4 KiB at a time, up to a root of one page.
    Btree,
    /// A PGM-index: optimal piecewise linear layers of this error up to a root of one node, or of the nodes of one
    /// unit. The error is rounded up to whole children of each layer.
    Pgm {
        /// Error of each layer, in keys.
        error_keys: u64,
    },
    /// One layer of coded separators, one a block, all of it resident.
    Coded,
    /// No index: the data are read whole.
    None,
    /// These builders, bottom first. Layers that have nothing left to lead to are left out.
    Forced(Vec<Builder>),
}

impl DesignRequest {
    /// Builds the design over a row of data blocks.
    pub fn build(&self, row: &Row, problem: &Problem<'_>) -> Design {
        match self {
            Self::Tuned => tune(row, problem),
            Self::None => Design::without_index(row, problem),
            Self::Coded => {
                let builder = Builder::Coded { lambda_bytes: row.child_bytes };
                pile(row, problem, &problem.options, |layers| layers.is_empty().then_some(builder))
            }
            Self::Btree => {
                let lambda_bytes = u64::from(BTREE_PAGE_BYTES);
                let builder = Builder::GStep { pieces: BTREE_FANOUT, lambda_bytes };
                let options = Options { unit_bytes: BTREE_PAGE_BYTES, ..problem.options.clone() };
                let fits = |root: &Layer| root.node_count() <= u64::from(BTREE_FANOUT);
                pile(row, problem, &options, |layers| (!layers.last().is_some_and(fits)).then_some(builder))
            }
            Self::Pgm { error_keys } => pile(row, problem, &problem.options, |layers| {
                let room = u64::from(problem.options.unit_bytes).saturating_sub(UNIT_HEADER_BYTES);
                let keys = match layers {
                    [] => problem.keys_per_child.max(1.0),
                    _ => (room / LINE_NODE_BYTES).max(1) as f64,
                };
                let error_children = ((*error_keys as f64 / keys).ceil() as u64).max(1);
                let done = layers.last().is_some_and(|root| root.node_count() <= 1);
                (!done).then_some(Builder::Pla { error_children })
            }),
            Self::Forced(builders) => {
                pile(row, problem, &problem.options, |layers| builders.get(layers.len()).copied())
            }
        }
    }
}

/// Piles layers on a row for as long as `next` names a builder and there is something to lead to.
fn pile(row: &Row, problem: &Problem<'_>, options: &Options, next: impl Fn(&[Layer]) -> Option<Builder>) -> Design {
    let mut layers: Vec<Layer> = Vec::new();
    let mut reads: Vec<ReadSizes> = Vec::new();
    let mut top = Cow::Borrowed(row);
    while let Some(builder) = next(&layers).filter(|_| layers.len() < MOST_LAYERS) {
        let shares = match layers.len() {
            0 => row.shares(),
            _ => {
                let below = layers.pop().map(Layer::fit_into_units);
                let Some(below) = below else { break };
                let units = below.row_above(&top.shares());
                layers.push(below);
                // A layer that takes no fewer units than it leads to children would be piled up for ever.
                if units.children() < 2 || units.children() >= top.children() {
                    break;
                }
                top = Cow::Owned(units);
                top.shares()
            }
        };
        let layer = problem.build(builder, &top, layers.len(), options);
        reads.push(layer.windows(&top, &shares).sizes(top.child_bytes));
        layers.push(layer);
    }
    if layers.is_empty() {
        return Design::without_index(row, problem);
    }
    Design::assemble(row, layers, reads, problem)
}

impl fmt::Display for DesignRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tuned => f.write_str("tuned"),
            Self::Btree => f.write_str("btree"),
            Self::Pgm { error_keys } => write!(f, "pgm:{error_keys}"),
            Self::Coded => f.write_str("coded"),
            Self::None => f.write_str("none"),
            Self::Forced(builders) => {
                write!(f, "layers={}", builders.len())?;
                let mut field = |name: &str, values: Vec<String>| match values.as_slice() {
                    [] => Ok(()),
                    all if all.iter().all(|value| value == "-") => Ok(()),
                    all if all.iter().all(|value| value == &all[0]) => write!(f, ",{name}={}", all[0]),
                    all => write!(f, ",{name}={}", all.join("/")),
                };
                let parts: Vec<Spelling> = builders.iter().map(Spelling::of).collect();
                field("builder", parts.iter().map(|part| part.name.to_owned()).collect())?;
                let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
                field("lambda", parts.iter().map(|part| number(part.lambda_bytes)).collect())?;
                field("error", parts.iter().map(|part| number(part.error_children)).collect())
            }
        }
    }
}

/// A builder as text spells it.
struct Spelling {
    name: &'static str,
    lambda_bytes: Option<u64>,
    error_children: Option<u64>,
}

impl Spelling {
    fn of(builder: &Builder) -> Self {
        let lambda = |name, lambda_bytes| Self { name, lambda_bytes: Some(lambda_bytes), error_children: None };
        let error = |name, error_children| Self { name, lambda_bytes: None, error_children: Some(error_children) };
        match *builder {
            Builder::GStep { lambda_bytes, .. } => lambda("gstep", lambda_bytes),
            Builder::GBand { lambda_bytes } => lambda("gband", lambda_bytes),
            Builder::EBand { lambda_bytes } => lambda("eband", lambda_bytes),
            Builder::Coded { lambda_bytes } => lambda("coded", lambda_bytes),
            Builder::Pla { error_children } => error("pla", error_children),
            Builder::Plr { error_children } => error("plr", error_children),
        }
    }
}

impl FromStr for DesignRequest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "tuned" => Ok(Self::Tuned),
            "btree" => Ok(Self::Btree),
            "coded" => Ok(Self::Coded),
            "none" => Ok(Self::None),
            _ => match text.strip_prefix("pgm:") {
                Some(error) => Ok(Self::Pgm { error_keys: positive(text, "the error of pgm", error)? }),
                None if text.starts_with("layers=") => forced(text),
                None => Err(invalid(
                    text,
                    "it is none of tuned, btree, pgm:EPS, coded, none, layers=N,builder=NAME,lambda=BYTES",
                )),
            },
        }
    }
}

fn invalid(text: &str, detail: impl fmt::Display) -> Error {
    Error::InvalidArgument(format!("cannot understand the design {text:?}: {detail}"))
}

fn positive(text: &str, what: &str, number: &str) -> Result<u64> {
    match number.parse() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(invalid(text, format_args!("{what} is {number:?}; give a whole number above 0"))),
    }
}

fn forced(text: &str) -> Result<DesignRequest> {
    let (mut layers, mut builders, mut lambdas, mut errors) = (0, Vec::new(), Vec::new(), Vec::new());
    for field in text.split(',') {
        let Some((name, value)) = field.split_once('=') else {
            return Err(invalid(text, format_args!("{field:?} has no value; write NAME=VALUE")));
        };
        let values = value.split('/').collect();
        match name {
            "layers" => layers = positive(text, "the number of layers", value)? as usize,
            "builder" => builders = values,
            "lambda" => lambdas = values,
            "error" => errors = values,
            _ => {
                return Err(invalid(
                    text,
                    format_args!("there is no field {name:?}; use layers, builder, lambda, error"),
                ));
            }
        }
    }
    if layers > MOST_LAYERS {
        return Err(invalid(text, format_args!("{layers} layers are too many; give at most {MOST_LAYERS}")));
    }
    let builder = |layer| {
        let name = nth(text, "builder", &builders, layer, layers)?.unwrap_or("");
        let lambda = || number(text, "lambda", &lambdas, layer, layers, name);
        let error = || number(text, "error", &errors, layer, layers, name);
        Ok(match name {
            "gstep" => Builder::GStep { pieces: u32::MAX, lambda_bytes: lambda()? },
            "gband" => Builder::GBand { lambda_bytes: lambda()? },
            "eband" => Builder::EBand { lambda_bytes: lambda()? },
            "coded" => Builder::Coded { lambda_bytes: lambda()? },
            "pla" => Builder::Pla { error_children: error()? },
            "plr" => Builder::Plr { error_children: error()? },
            _ => {
                return Err(invalid(
                    text,
                    format_args!("{name:?} is no builder; use gstep, gband, eband, coded, pla or plr"),
                ));
            }
        })
    };
    Ok(DesignRequest::Forced((0..layers).map(builder).collect::<Result<_>>()?))
}

/// The value of a field for one layer: the only one, or the one in its place.
fn nth<'t>(text: &str, name: &str, values: &[&'t str], layer: usize, layers: usize) -> Result<Option<&'t str>> {
    match values {
        [] => Ok(None),
        [all] => Ok(Some(all)),
        each if each.len() == layers => Ok(Some(each[layer])),
        each => {
            let detail =
                format_args!("{name} has {} values for {layers} layers; give one, or one for each", each.len())
                    .to_string();
            Err(invalid(text, detail))
        }
    }
}

fn number(text: &str, field: &str, values: &[&str], layer: usize, layers: usize, builder: &str) -> Result<u64> {
    match nth(text, field, values, layer, layers)? {
        Some(value) if value != "-" => positive(text, field, value),
        _ => Err(invalid(text, format_args!("the builder {builder} needs {field}=NUMBER"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_read_as_it_is_written() -> Result<()> {
        let texts = [
            "tuned",
            "btree",
            "pgm:64",
            "coded",
            "none",
            "layers=2,builder=gband,lambda=4096",
            "layers=2,builder=gband/gstep,lambda=4096/512",
            "layers=3,builder=pla/coded/plr,lambda=-/512/-,error=8/-/1",
            "layers=1,builder=eband,lambda=1024",
        ];
        for text in texts {
            assert_eq!(text.parse::<DesignRequest>()?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn a_request_that_cannot_be_understood_says_why() {
        let cases = [
            ("fast", "none of tuned"),
            ("pgm:0", "above 0"),
            ("pgm:many", "above 0"),
            ("layers=2", "no builder"),
            ("layers=2,builder=gband", "needs lambda"),
            ("layers=2,builder=pla,lambda=4", "needs error"),
            ("layers=3,builder=gband/gstep,lambda=4096", "2 values for 3 layers"),
            ("layers=65,builder=gband,lambda=4096", "too many"),
            ("layers=1,builder", "no value"),
            ("layers=1,shape=round", "no field"),
            ("layers=0,builder=gband,lambda=1", "above 0"),
        ];
        for (text, part) in cases {
            let message = text.parse::<DesignRequest>().map_or_else(|error| error.to_string(), |made| made.to_string());
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
