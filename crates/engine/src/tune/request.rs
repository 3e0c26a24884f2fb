//! Design requests: the named index designs that a user may choose instead of the search.

use super::builder::LayerBuilder;
use super::design::Design;
use super::design::LINE_NODE_BYTES;
#[cfg(feature = "tune")]
use super::families;
use super::layer::{DesignLayer, INDEX_PAGE_HEADER_BYTES};
use super::level_input::LevelInput;
use super::problem::{DesignProblem, DesignSearchOptions};
use super::reads::ReadSizes;
#[cfg(feature = "tune")]
use super::search::tune;
use crate::error::{Error, Result};
use ogive_model::rmi::RootKind;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Page size of the B-tree in the paper's comparison, in bytes.
const BTREE_PAGE_BYTES: u32 = 4096;
/// Its fanout.
const BTREE_FANOUT: u32 = 255;
/// More layers than any named design needs: 2^64 children shrink to one in 63 halvings.
const LAYERS_MAX: usize = 64;

/// A requested index design.
///
/// As text: `tuned`, `btree`, `pgm:64`, `radix-spline`, `radix-spline:64`, `plex`, `plex:64`, `rmi`, `data-calculator`,
/// `coded`, `none`, or a forced design such as `layers=2,builder=gband,lambda=4096`. In a forced design each field has
/// one value for all layers, or one for each, bottom first, as in `layers=2,builder=gband/gstep,lambda=4096/512`.
/// Builders are `gstep`, `gband`, `eband` and `coded`, which take `lambda` (a granularity in bytes), `pla`, `plr` and
/// `spline`, which take `error` (in children), `rmi-linear`, `rmi-cubic` and `rmi-radix`, which take `leaves`, `radix`,
/// which takes `bins`, and `hist-tree`, which takes `bins` and `lambda`; `-` stands for a value that a builder does not
/// take.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum DesignRequest {
    /// The fastest design that the search finds.
    #[default]
    Tuned,
    /// A B-tree: 4 KiB pages of up to 255 separators over data read 4 KiB at a time, up to a root of one page.
    Btree,
    /// A PGM-index: optimal piecewise linear layers with this error, up to a root of one node or of the nodes of one
    /// page. The error is rounded up to whole children of each layer.
    Pgm {
        /// Error of each layer, in keys.
        error_keys: u64,
    },
    /// A RadixSpline: layers of greedy splines, up to a root of one node or of the nodes of one page. Further splines
    /// replace the radix table of the in-memory structure.
    RadixSpline {
        /// Error of each layer, in keys, as in [`DesignRequest::Pgm`]; if `None`, the error of least cost.
        error_keys: Option<u64>,
    },
    /// A PLEX: a greedy spline over the data blocks, and over its index pages a table of bins: a radix table or a
    /// compact hist-tree, whichever costs least.
    Plex {
        /// Error of the spline in keys, as in [`DesignRequest::Pgm`]; if `None`, the error of least cost.
        error_keys: Option<u64>,
    },
    /// An RMI: regression lines between borders determined by a root model, with a line over them if reading them in
    /// parts is faster; the best of a grid of root models and numbers of leaves.
    Rmi,
    /// The fastest design of the space that AirIndex completes with the Data Calculator: trees whose nodes all have the
    /// same fanout.
    DataCalculator,
    /// One layer of coded separators, one per block, all of it resident.
    Coded,
    /// No index: the data is read as a whole.
    None,
    /// These builders, bottom first. Layers with nothing left to lead to are omitted.
    Forced(Vec<LayerBuilder>),
}

impl DesignRequest {
    /// Whether the design is one that a search finds, among many: such need the feature `tune` of the crate.
    #[must_use]
    pub fn is_searched(&self) -> bool {
        let is_found = matches!(self, Self::Tuned | Self::Rmi | Self::DataCalculator | Self::Plex { .. });
        is_found || matches!(self, Self::RadixSpline { error_keys: None })
    }

    /// Builds the design over a level input of data blocks. Without the feature `tune` of the crate, a design that a
    /// search finds is [`DesignRequest::Coded`]; writers of tables refuse it.
    pub fn build(&self, row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
        match self {
            #[cfg(not(feature = "tune"))]
            Self::Tuned
            | Self::Rmi
            | Self::DataCalculator
            | Self::Plex { .. }
            | Self::RadixSpline { error_keys: None } => Self::Coded.build(row, problem),
            #[cfg(feature = "tune")]
            Self::Tuned => families::or_named(tune(row, problem), row, problem),
            Self::None => Design::without_index(row, problem),
            Self::Coded => {
                let builder = LayerBuilder::Coded { lambda_bytes: row.child_bytes };
                pile(row, problem, &problem.options, |layers| layers.is_empty().then_some(builder))
            }
            Self::Btree => {
                let lambda_bytes = u64::from(BTREE_PAGE_BYTES);
                let builder = LayerBuilder::GStep { pieces: BTREE_FANOUT, lambda_bytes };
                let options = DesignSearchOptions { page_bytes: BTREE_PAGE_BYTES, ..problem.options.clone() };
                let fits = |root: &DesignLayer| root.node_count() <= u64::from(BTREE_FANOUT);
                pile(row, problem, &options, |layers| (!layers.last().is_some_and(fits)).then_some(builder))
            }
            Self::Pgm { error_keys } => {
                recursive(row, problem, *error_keys, |error_children| LayerBuilder::Pla { error_children })
            }
            #[cfg(feature = "tune")]
            Self::RadixSpline { error_keys: None } => families::radix_spline(row, problem),
            Self::RadixSpline { error_keys: Some(error_keys) } => {
                recursive(row, problem, *error_keys, |error_children| LayerBuilder::Spline { error_children })
            }
            #[cfg(feature = "tune")]
            Self::Plex { error_keys } => families::plex(row, problem, *error_keys),
            #[cfg(feature = "tune")]
            Self::Rmi => families::rmi(row, problem),
            #[cfg(feature = "tune")]
            Self::DataCalculator => families::data_calculator(row, problem),
            Self::Forced(builders) => {
                pile(row, problem, &problem.options, |layers| builders.get(layers.len()).copied())
            }
        }
    }
}

/// Stacks layers with an error in keys, up to a root of one node or of the nodes of one page.
pub(super) fn recursive(
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    error_keys: u64,
    builder: impl Fn(u64) -> LayerBuilder,
) -> Design {
    pile(row, problem, &problem.options, |layers| {
        let room = u64::from(problem.options.page_bytes).saturating_sub(INDEX_PAGE_HEADER_BYTES);
        let keys = match layers {
            [] => problem.keys_per_child.max(1.0),
            _ => (room / LINE_NODE_BYTES).max(1) as f64,
        };
        let error_children = whole_children(error_keys, keys);
        let done = layers.last().is_some_and(|root| root.node_count() <= 1);
        (!done).then_some(builder(error_children))
    })
}

/// An error in keys as one in children of `keys_per_child` keys, rounded up, at least one.
pub(super) fn whole_children(error_keys: u64, keys_per_child: f64) -> u64 {
    ((error_keys as f64 / keys_per_child).ceil() as u64).max(1)
}

/// Stacks layers while `next` returns a builder and there is more than one child.
pub(super) fn pile(
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    options: &DesignSearchOptions,
    next: impl Fn(&[DesignLayer]) -> Option<LayerBuilder>,
) -> Design {
    let mut layers: Vec<DesignLayer> = Vec::new();
    let mut reads: Vec<ReadSizes> = Vec::new();
    let mut top = Cow::Borrowed(row);
    while let Some(builder) = next(&layers).filter(|_| layers.len() < LAYERS_MAX) {
        let shares = match layers.len() {
            0 => row.shares(),
            _ => {
                let below = layers.pop().map(DesignLayer::fit_into_pages);
                let Some(below) = below else { break };
                let pages = below.row_above(&top.shares());
                layers.push(below);
                // A layer with no fewer pages than children would be stacked without end.
                if pages.children() < 2 || pages.children() >= top.children() {
                    break;
                }
                top = Cow::Owned(pages);
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
            Self::RadixSpline { error_keys: None } => f.write_str("radix-spline"),
            Self::RadixSpline { error_keys: Some(error_keys) } => write!(f, "radix-spline:{error_keys}"),
            Self::Plex { error_keys: None } => f.write_str("plex"),
            Self::Plex { error_keys: Some(error_keys) } => write!(f, "plex:{error_keys}"),
            Self::Rmi => f.write_str("rmi"),
            Self::DataCalculator => f.write_str("data-calculator"),
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
                let parts: Vec<BuilderSyntax> = builders.iter().map(BuilderSyntax::of).collect();
                field("builder", parts.iter().map(|part| part.name.to_owned()).collect())?;
                let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
                field("lambda", parts.iter().map(|part| number(part.lambda_bytes)).collect())?;
                field("error", parts.iter().map(|part| number(part.error_children)).collect())?;
                field("leaves", parts.iter().map(|part| number(part.leaves)).collect())?;
                field("bins", parts.iter().map(|part| number(part.bins)).collect())
            }
        }
    }
}

/// The text form of a builder.
struct BuilderSyntax {
    name: &'static str,
    lambda_bytes: Option<u64>,
    error_children: Option<u64>,
    leaves: Option<u64>,
    bins: Option<u64>,
}

impl BuilderSyntax {
    fn of(builder: &LayerBuilder) -> Self {
        let named = |name| Self { name, lambda_bytes: None, error_children: None, leaves: None, bins: None };
        let lambda = |name, lambda_bytes| Self { lambda_bytes: Some(lambda_bytes), ..named(name) };
        let error = |name, error_children| Self { error_children: Some(error_children), ..named(name) };
        let leaves = |name, leaves| Self { leaves: Some(leaves), ..named(name) };
        let bins = |name, bins| Self { bins: Some(bins), ..named(name) };
        match *builder {
            LayerBuilder::GStep { lambda_bytes, .. } => lambda("gstep", lambda_bytes),
            LayerBuilder::GBand { lambda_bytes } => lambda("gband", lambda_bytes),
            LayerBuilder::EBand { lambda_bytes } => lambda("eband", lambda_bytes),
            LayerBuilder::Coded { lambda_bytes } => lambda("coded", lambda_bytes),
            LayerBuilder::Pla { error_children } => error("pla", error_children),
            LayerBuilder::Plr { error_children } => error("plr", error_children),
            LayerBuilder::Spline { error_children } => error("spline", error_children),
            LayerBuilder::Radix { bins: number } => bins("radix", number),
            LayerBuilder::HistTree { bins: number, lambda_bytes } => {
                Self { lambda_bytes: Some(lambda_bytes), ..bins("hist-tree", number) }
            }
            LayerBuilder::Rmi { root: RootKind::Linear, leaves: number } => leaves("rmi-linear", number),
            LayerBuilder::Rmi { root: RootKind::Cubic, leaves: number } => leaves("rmi-cubic", number),
            LayerBuilder::Rmi { root: RootKind::Radix, leaves: number } => leaves("rmi-radix", number),
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
            "rmi" => Ok(Self::Rmi),
            "radix-spline" => Ok(Self::RadixSpline { error_keys: None }),
            "plex" => Ok(Self::Plex { error_keys: None }),
            "data-calculator" => Ok(Self::DataCalculator),
            _ => match text.split_once(':') {
                Some(("pgm", error)) => Ok(Self::Pgm { error_keys: positive(text, "the error of pgm", error)? }),
                Some(("radix-spline", error)) => {
                    Ok(Self::RadixSpline { error_keys: Some(positive(text, "the error of radix-spline", error)?) })
                }
                Some(("plex", error)) => {
                    Ok(Self::Plex { error_keys: Some(positive(text, "the error of plex", error)?) })
                }
                _ if text.starts_with("layers=") => forced(text),
                _ => Err(invalid(
                    text,
                    "it is none of tuned, btree, pgm:EPS, radix-spline, radix-spline:EPS, plex, plex:EPS, rmi, \
                     data-calculator, coded, none, layers=N,builder=NAME,lambda=BYTES",
                )),
            },
        }
    }
}

fn invalid(text: &str, detail: impl fmt::Display) -> Error {
    Error::InvalidArgument(format!("cannot parse the design {text:?}: {detail}"))
}

fn positive(text: &str, what: &str, number: &str) -> Result<u64> {
    match number.parse() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(invalid(text, format_args!("{what} is {number:?}; give a whole number above 0"))),
    }
}

fn forced(text: &str) -> Result<DesignRequest> {
    let mut fields = DesignFields { text, layers: 0, values: [const { Vec::new() }; DESIGN_FIELDS.len()] };
    for field in text.split(',') {
        let Some((name, value)) = field.split_once('=') else {
            return Err(invalid(text, format_args!("{field:?} has no value; write NAME=VALUE")));
        };
        match DESIGN_FIELDS.iter().position(|&field| field == name) {
            Some(field) => fields.values[field] = value.split('/').collect(),
            None if name == "layers" => fields.layers = positive(text, "the number of layers", value)? as usize,
            None => {
                return Err(invalid(
                    text,
                    format_args!("there is no field {name:?}; use layers, {}", DESIGN_FIELDS.join(", ")),
                ));
            }
        }
    }
    let layers = fields.layers;
    if layers > LAYERS_MAX {
        return Err(invalid(text, format_args!("{layers} layers are too many; give at most {LAYERS_MAX}")));
    }
    Ok(DesignRequest::Forced((0..layers).map(|layer| fields.builder(layer)).collect::<Result<_>>()?))
}

/// Fields of a forced design with one value for all layers, or one for each.
const DESIGN_FIELDS: [&str; 5] = ["builder", "lambda", "error", "leaves", "bins"];

/// A parsed forced design.
struct DesignFields<'t> {
    text: &'t str,
    layers: usize,
    values: [Vec<&'t str>; DESIGN_FIELDS.len()],
}

impl DesignFields<'_> {
    fn builder(&self, layer: usize) -> Result<LayerBuilder> {
        let name = self.nth(0, layer)?.unwrap_or("");
        let lambda = || self.number(1, layer, name);
        let error = || self.number(2, layer, name);
        let bins = || self.number(4, layer, name);
        let rmi = |root| Ok(LayerBuilder::Rmi { root, leaves: self.number(3, layer, name)? });
        match name {
            "gstep" => Ok(LayerBuilder::GStep { pieces: u32::MAX, lambda_bytes: lambda()? }),
            "gband" => Ok(LayerBuilder::GBand { lambda_bytes: lambda()? }),
            "eband" => Ok(LayerBuilder::EBand { lambda_bytes: lambda()? }),
            "coded" => Ok(LayerBuilder::Coded { lambda_bytes: lambda()? }),
            "pla" => Ok(LayerBuilder::Pla { error_children: error()? }),
            "plr" => Ok(LayerBuilder::Plr { error_children: error()? }),
            "spline" => Ok(LayerBuilder::Spline { error_children: error()? }),
            "radix" => Ok(LayerBuilder::Radix { bins: bins()? }),
            "hist-tree" => Ok(LayerBuilder::HistTree { bins: bins()?, lambda_bytes: lambda()? }),
            "rmi-linear" => rmi(RootKind::Linear),
            "rmi-cubic" => rmi(RootKind::Cubic),
            "rmi-radix" => rmi(RootKind::Radix),
            _ => Err(invalid(
                self.text,
                format_args!(
                    "unknown builder {name:?}; use gstep, gband, eband, coded, pla, plr, spline, radix, hist-tree, \
                     rmi-linear, rmi-cubic or rmi-radix"
                ),
            )),
        }
    }

    /// The value of a field for one layer: the common one, or the one at its position.
    fn nth(&self, field: usize, layer: usize) -> Result<Option<&str>> {
        match self.values[field].as_slice() {
            [] => Ok(None),
            [all] => Ok(Some(all)),
            each if each.len() == self.layers => Ok(Some(each[layer])),
            each => Err(invalid(
                self.text,
                format_args!(
                    "{} has {} values for {} layers; give one, or one for each",
                    DESIGN_FIELDS[field],
                    each.len(),
                    self.layers
                ),
            )),
        }
    }

    fn number(&self, field: usize, layer: usize, builder: &str) -> Result<u64> {
        match self.nth(field, layer)? {
            Some(value) if value != "-" => positive(self.text, DESIGN_FIELDS[field], value),
            _ => Err(invalid(self.text, format_args!("the builder {builder} needs {}=NUMBER", DESIGN_FIELDS[field]))),
        }
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
        let cases = [
            ("fast", "none of tuned"),
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
            ("layers=2", "unknown builder"),
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
