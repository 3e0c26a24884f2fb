//! Sketches: the fields of an experiment that are drawn, and as what.

use ogive_report::svg::Unit;

/// A picture of an experiment; one for each combination of the panel's fields.
#[derive(Debug)]
pub(crate) struct Sketch {
    pub(crate) experiment: &'static str,
    /// Name of the picture; several panels add their number.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What a reader sees in it.
    pub(crate) caption: &'static str,
    /// Fields with one value in each picture.
    pub(crate) panel: &'static [&'static str],
    /// Records to draw: those with one of these values in each of these fields.
    pub(crate) only: &'static [(&'static str, &'static [&'static str])],
    pub(crate) shape: SketchShape,
}

/// The kind of a picture.
#[derive(Debug)]
pub(crate) enum SketchShape {
    /// Rows of dots: one for each series, or for each field of values.
    Dots {
        rows: &'static [&'static str],
        series: &'static [&'static str],
        /// Fields, and their names if there are several.
        values: &'static [Value],
        label: &'static str,
    },
    /// A bar for each record, divided by these fields.
    Bars { rows: &'static [&'static str], parts: &'static [Value] },
    /// Lines over a numeric field.
    Lines { x: Value, series: &'static [&'static str], y: Value },
}

/// A numeric field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) field: &'static str,
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// From the field's unit to that of the axis.
    pub(crate) factor: f64,
    /// Whether the figure was published by others: drawn hollow.
    pub(crate) is_quoted: bool,
}

/// A count or a ratio.
pub(crate) const fn count(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Count, factor: 1.0, is_quoted: false }
}

/// A number of bytes.
pub(crate) const fn bytes(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Bytes, factor: 1.0, is_quoted: false }
}

/// A time that is recorded in microseconds.
pub(crate) const fn us(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1.0, is_quoted: false }
}

/// A time that is recorded in nanoseconds.
pub(crate) const fn ns(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1e-3, is_quoted: false }
}

/// A time that is recorded in seconds.
pub(crate) const fn seconds(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1e6, is_quoted: false }
}

impl Value {
    /// The same, as a figure that others published.
    pub(crate) const fn quoted(self) -> Self {
        Self { is_quoted: true, ..self }
    }
}
