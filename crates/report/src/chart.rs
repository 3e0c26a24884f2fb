//! Interactive charts: data for `assets/charts.js`, which draws them with uPlot.

use crate::escape;
use crate::svg::{Axis, Scale, Unit};
use serde::Serialize;

/// The look of a series in a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesStyle {
    /// A line through the points.
    #[default]
    Line,
    /// A line that is constant up to the next point.
    Steps,
    /// Points only.
    Points,
    /// Bars.
    Bars,
}

/// A series of a chart: one value for each x of the chart, `None` where there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Name in the legend.
    pub name: String,
    /// Look.
    pub style: SeriesStyle,
    /// Values.
    pub values: Vec<Option<f64>>,
}

/// A chart with zoom by wheel, touch and keys, and the values under the pointer. The x are shared by all series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    x: ChartAxis,
    y: ChartAxis,
    xs: Vec<f64>,
    series: Vec<ChartSeries>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ChartAxis {
    label: String,
    is_log: bool,
    unit: &'static str,
}

impl ChartAxis {
    fn of(axis: &Axis) -> Self {
        let unit = match axis.unit {
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Micros => "us",
        };
        Self { label: axis.label.clone(), is_log: axis.scale == Scale::Log, unit }
    }
}

impl Chart {
    /// A chart with linear axes of counts.
    #[must_use]
    pub fn new(x: &str, y: &str) -> Self {
        Self::over(&Axis::linear(x, Unit::Count), &Axis::linear(y, Unit::Count))
    }

    /// A chart over these axes.
    #[must_use]
    pub fn over(x: &Axis, y: &Axis) -> Self {
        Self { x: ChartAxis::of(x), y: ChartAxis::of(y), ..Self::default() }
    }

    /// Sets the x of all points, ascending.
    #[must_use]
    pub fn xs(mut self, xs: impl IntoIterator<Item = f64>) -> Self {
        self.xs = xs.into_iter().collect();
        self
    }

    /// Adds a series with a value for each x.
    #[must_use]
    pub fn series(mut self, name: &str, style: SeriesStyle, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        self.series.push(ChartSeries { name: name.to_owned(), style, values: values.into_iter().collect() });
        self
    }

    /// The chart as an element that `assets/charts.js` fills.
    pub(crate) fn to_html(&self, label: &str) -> String {
        let (label, json) = (escape::text(label), escape::json(self));
        format!(
            "<div class=\"chart\" data-chart=\"plain\" tabindex=\"0\" role=\"application\" aria-label=\"{label}\">\
            <script type=\"application/json\">{json}</script></div>"
        )
    }
}
