//! Design requests: the named index designs that a user may choose instead of the search.

use super::builder::LayerBuilder;
use super::design::Design;
#[cfg(feature = "tune")]
use super::families;
use super::given::{self, GivenDesign};
use super::layer::DesignLayer;
use super::level_input::LevelInput;
use super::line_builder::{LineBuilder, VALUES_MAX};
use super::problem::DesignProblem;
use super::reads::ReadSizes;
#[cfg(feature = "tune")]
use super::search::tune;
use super::search_options::DesignSearchOptions;
use super::sizes::INDEX_PAGE_HEADER_BYTES;
use super::sizes::LINE_NODE_BYTES;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Page size of the B-tree in the paper's comparison, in bytes.
const BTREE_PAGE_BYTES: u32 = 4096;
/// Its fanout.
const BTREE_FANOUT: u32 = 255;
/// Designs and builders of `ogive-research`, which lead to an error of their own while they are not registered.
const RESERVED: [&str; 12] = [
    "data-calculator",
    "hist-tree",
    "pgm",
    "plex",
    "plr",
    "radix",
    "radix-spline",
    "rmi",
    "rmi-cubic",
    "rmi-linear",
    "rmi-radix",
    "spline",
];
/// More layers than any named design needs: 2^64 children shrink to one in 63 halvings.
const LAYERS_MAX: usize = 64;

/// A requested index design.
///
/// As text: `tuned`, `btree`, `coded`, `none`, or a forced design such as `layers=2,builder=gband,lambda=4096`. In a
/// forced design each field has one value for all layers, or one for each, bottom first, as in
/// `layers=2,builder=gband/gstep,lambda=4096/512`. Builders are `gstep`, `gband`, `eband` and `coded`, which take
/// `lambda` (a granularity in bytes), and `pla`, which takes `error` (in children); `-` stands for a value that a
/// builder does not take.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum DesignRequest {
    /// The fastest design that the search finds.
    #[default]
    Tuned,
    /// A B-tree: 4 KiB pages of up to 255 separators over data read 4 KiB at a time, up to a root of one page.
    Btree,
    /// One layer of coded separators, one per block, all of it resident.
    Coded,
    /// No index: the data is read as a whole.
    None,
    /// These builders, bottom first. Layers with nothing left to lead to are omitted.
    Forced(Vec<LayerBuilder>),
    /// A design of another crate.
    #[doc(hidden)]
    Given(Arc<dyn GivenDesign>),
}

impl PartialEq for DesignRequest {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Forced(own), Self::Forced(other)) => own == other,
            (Self::Given(own), Self::Given(other)) => own.name() == other.name(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl DesignRequest {
    /// Whether the design is one that a search finds, among many: such need the feature `tune` of the crate.
    #[must_use]
    pub fn is_searched(&self) -> bool {
        matches!(self, Self::Tuned)
    }

    /// Builds the design over a level input of data blocks. Without the feature `tune` of the crate, a design that a
    /// search finds is [`DesignRequest::Coded`]; writers of tables refuse it.
    pub fn build(&self, row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
        match self {
            #[cfg(not(feature = "tune"))]
            Self::Tuned => Self::Coded.build(row, problem),
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
            Self::Forced(builders) => {
                pile(row, problem, &problem.options, |layers| builders.get(layers.len()).copied())
            }
            Self::Given(design) => design.build(row, problem),
        }
    }
}

/// Stacks layers with an error in keys, up to a root of one node or of the nodes of one page.
pub fn lines_by_error(
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
pub fn whole_children(error_keys: u64, keys_per_child: f64) -> u64 {
    ((error_keys as f64 / keys_per_child).ceil() as u64).max(1)
}

/// Stacks layers while `next` returns a builder and there is more than one child.
pub fn pile(
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
            Self::Coded => f.write_str("coded"),
            Self::None => f.write_str("none"),
            Self::Given(design) => f.write_str(&design.name()),
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
                fields().into_iter().try_for_each(|name| {
                    let number =
                        |part: &BuilderSyntax| part.value(name).map_or("-".to_owned(), |value| value.to_string());
                    field(name, parts.iter().map(number).collect())
                })
            }
        }
    }
}

/// The text form of a builder: its name, and the values of its fields.
struct BuilderSyntax {
    name: &'static str,
    values: Vec<(&'static str, u64)>,
}

impl BuilderSyntax {
    fn of(builder: &LayerBuilder) -> Self {
        let lambda = |name, lambda_bytes| Self { name, values: vec![(LAMBDA, lambda_bytes)] };
        match *builder {
            LayerBuilder::GStep { lambda_bytes, .. } => lambda("gstep", lambda_bytes),
            LayerBuilder::GBand { lambda_bytes } => lambda("gband", lambda_bytes),
            LayerBuilder::EBand { lambda_bytes } => lambda("eband", lambda_bytes),
            LayerBuilder::Coded { lambda_bytes } => lambda("coded", lambda_bytes),
            LayerBuilder::Pla { error_children } => Self { name: "pla", values: vec![(ERROR, error_children)] },
            LayerBuilder::Given { builder, values } => {
                Self { name: builder.name, values: builder.fields.iter().copied().zip(values).collect() }
            }
        }
    }

    fn value(&self, field: &str) -> Option<u64> {
        self.values.iter().find(|(name, _)| *name == field).map(|(_, value)| *value)
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
            _ if text.starts_with("layers=") => forced(text),
            _ => match given::registered().and_then(|family| (family.parse)(text)) {
                Some(parsed) => parsed.map(Self::Given).map_err(|detail| invalid(text, detail)),
                None if is_reserved(text) => Err(Error::design_of_papers(text)),
                None => Err(invalid(text, format_args!("it is none of {}", forms().join(", ")))),
            },
        }
    }
}

/// The forms of the names of designs, as messages list them.
pub fn forms() -> Vec<&'static str> {
    let others = given::registered().map_or(&[][..], |family| family.forms);
    [&["tuned", "coded", "btree"], others, &["none", "layers=2,builder=gband,lambda=4096"]].concat()
}

/// Whether a name, up to its numbers, is one of the designs and builders of `ogive-research`, which are not registered.
fn is_reserved(text: &str) -> bool {
    given::registered().is_none() && RESERVED.contains(&text.split(':').next().unwrap_or_default())
}

fn invalid(text: &str, detail: impl fmt::Display) -> Error {
    Error::input(format!("cannot parse the design {text:?}: {detail}"))
}

fn positive(text: &str, what: &str, number: &str) -> Result<u64> {
    above_zero(what, number).map_err(|detail| invalid(text, detail))
}

/// A whole number above 0.
///
/// # Errors
/// What `what` is instead, and what to give.
pub fn above_zero(what: &str, number: &str) -> Result<u64, String> {
    match number.parse() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(format!("{what} is {number:?}; give a whole number above 0")),
    }
}

fn forced(text: &str) -> Result<DesignRequest> {
    let mut fields = DesignFields { text, layers: 0, values: BTreeMap::new() };
    for field in text.split(',') {
        let Some((name, value)) = field.split_once('=') else {
            return Err(invalid(text, format_args!("{field:?} has no value; write NAME=VALUE")));
        };
        let known = [BUILDER].into_iter().chain(self::fields()).find(|&field| field == name);
        match known {
            Some(field) => drop(fields.values.insert(field, value.split('/').collect())),
            None if name == "layers" => fields.layers = positive(text, "the number of layers", value)? as usize,
            None => {
                let known = [&[BUILDER], &self::fields()[..]].concat().join(", ");
                return Err(invalid(text, format_args!("there is no field {name:?}; use layers, {known}")));
            }
        }
    }
    let layers = fields.layers;
    if layers > LAYERS_MAX {
        return Err(invalid(text, format_args!("{layers} layers are too many; give at most {LAYERS_MAX}")));
    }
    Ok(DesignRequest::Forced((0..layers).map(|layer| fields.builder(layer)).collect::<Result<_>>()?))
}

/// The field of a forced design with the names of its builders.
const BUILDER: &str = "builder";
/// The field with granularities in bytes.
const LAMBDA: &str = "lambda";
/// The field with errors in children.
const ERROR: &str = "error";

/// Fields of a forced design with numbers: one value for all layers, or one for each.
fn fields() -> Vec<&'static str> {
    let others = given::registered().map_or(&[][..], |family| family.fields);
    [&[LAMBDA, ERROR], others].concat()
}

/// A parsed forced design.
struct DesignFields<'t> {
    text: &'t str,
    layers: usize,
    values: BTreeMap<&'static str, Vec<&'t str>>,
}

impl DesignFields<'_> {
    fn builder(&self, layer: usize) -> Result<LayerBuilder> {
        let name = self.nth(BUILDER, layer)?.unwrap_or("");
        let lambda = || self.number(LAMBDA, layer, name);
        match name {
            "gstep" => Ok(LayerBuilder::GStep { pieces: u32::MAX, lambda_bytes: lambda()? }),
            "gband" => Ok(LayerBuilder::GBand { lambda_bytes: lambda()? }),
            "eband" => Ok(LayerBuilder::EBand { lambda_bytes: lambda()? }),
            "coded" => Ok(LayerBuilder::Coded { lambda_bytes: lambda()? }),
            "pla" => Ok(LayerBuilder::Pla { error_children: self.number(ERROR, layer, name)? }),
            _ => {
                let others = given::registered().map_or(&[][..], |family| family.builders);
                match others.iter().find(|builder| builder.name == name) {
                    Some(builder) => self.given(builder, layer),
                    None if is_reserved(name) => Err(Error::design_of_papers(self.text)),
                    None => {
                        let names: Vec<&str> = others.iter().map(|builder| builder.name).collect();
                        let names = [&["gstep", "gband", "eband", "coded", "pla"], &names[..]].concat().join(", ");
                        Err(invalid(self.text, format_args!("unknown builder {name:?}; use one of {names}")))
                    }
                }
            }
        }
    }

    /// A builder of another crate with its values for one layer.
    fn given(&self, builder: &'static LineBuilder, layer: usize) -> Result<LayerBuilder> {
        let mut values = [0; VALUES_MAX];
        for (value, field) in values.iter_mut().zip(builder.fields) {
            *value = self.number(field, layer, builder.name)?;
        }
        Ok(LayerBuilder::Given { builder, values })
    }

    /// The value of a field for one layer: the common one, or the one at its position.
    fn nth(&self, field: &str, layer: usize) -> Result<Option<&str>> {
        match self.values.get(field).map_or(&[][..], Vec::as_slice) {
            [] => Ok(None),
            [all] => Ok(Some(all)),
            each if each.len() == self.layers => Ok(Some(each[layer])),
            each => Err(invalid(
                self.text,
                format_args!("{field} has {} values for {} layers; give one, or one for each", each.len(), self.layers),
            )),
        }
    }

    fn number(&self, field: &str, layer: usize, builder: &str) -> Result<u64> {
        match self.nth(field, layer)? {
            Some(value) if value != "-" => positive(self.text, field, value),
            _ => Err(invalid(self.text, format_args!("the builder {builder} needs {field}=NUMBER"))),
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
            "coded",
            "none",
            "layers=2,builder=gband,lambda=4096",
            "layers=2,builder=gband/gstep,lambda=4096/512",
            "layers=3,builder=pla/coded/pla,lambda=-/512/-,error=8/-/1",
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
            ("pgm:64", "`ogive-research`"),
            ("layers=1,builder=plr,error=4", "`ogive-research`"),
            ("layers=1,builder=pla,leaves=4", "no field"),
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
