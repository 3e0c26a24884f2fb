//! Sketches: the fields of an experiment that are drawn, and as what.

use ogive_report::svg::Unit;

/// A picture of an experiment; one for each combination of the panel's fields.
#[derive(Debug)]
pub(super) struct Sketch {
    pub(super) experiment: &'static str,
    /// Name of the picture; several panels add their number.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What a reader sees in it.
    pub(super) caption: &'static str,
    /// Fields with one value in each picture.
    pub(super) panel: &'static [&'static str],
    /// Records to draw: those with one of these values in each of these fields.
    pub(super) only: &'static [(&'static str, &'static [&'static str])],
    pub(super) shape: SketchShape,
}

/// The kind of a picture.
#[derive(Debug)]
pub(super) enum SketchShape {
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
pub(super) struct Value {
    pub(super) field: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    /// From the field's unit to that of the axis.
    pub(super) factor: f64,
    /// Whether the figure was published by others: drawn hollow.
    pub(super) is_quoted: bool,
}

/// A count or a ratio.
pub(super) const fn count(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Count, factor: 1.0, is_quoted: false }
}

/// A number of bytes.
pub(super) const fn bytes(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Bytes, factor: 1.0, is_quoted: false }
}

/// A time that is recorded in microseconds.
pub(super) const fn us(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1.0, is_quoted: false }
}

/// A time that is recorded in nanoseconds.
pub(super) const fn ns(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1e-3, is_quoted: false }
}

/// A time that is recorded in seconds.
pub(super) const fn seconds(field: &'static str, name: &'static str) -> Value {
    Value { field, name, unit: Unit::Micros, factor: 1e6, is_quoted: false }
}

impl Value {
    /// The same, as a figure that others published.
    pub(super) const fn quoted(self) -> Self {
        Self { is_quoted: true, ..self }
    }
}
