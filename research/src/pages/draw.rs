//! From records to pictures.

use super::published;
use super::row::RunRow;
use super::sketch::{Sketch, SketchShape, Value};
use ogive_report::svg::{Axis, BarChart, DotChart, Drawing, LineChart, Mark, Place, Series, Unit};
use ogive_report::{DataTable, Figure};

/// A logarithmic axis shows values that differ by more than this factor.
const LOG_FROM: f64 = 30.0;
/// Rows of one picture; the table beside it has all.
const ROWS_MAX: usize = 60;

/// A picture with the numbers behind it.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) caption: String,
    drawn: Drawn,
    pub(super) rows: Vec<RunRow>,
    /// The fields that are drawn, which its table shows.
    columns: Vec<&'static str>,
}

#[derive(Debug)]
enum Drawn {
    Dots(DotChart),
    Bars(BarChart),
    Lines(LineChart),
}

impl Picture {
    /// The picture as a file of its own.
    pub(super) fn to_file(&self) -> String {
        match &self.drawn {
            Drawn::Dots(chart) => chart.to_svg(Place::File),
            Drawn::Bars(chart) => chart.to_svg(Place::File),
            Drawn::Lines(chart) => chart.to_svg(Place::File),
        }
    }

    /// The picture as a figure of a page, with its numbers.
    pub(super) fn to_figure(&self) -> Figure {
        let figure = match &self.drawn {
            Drawn::Dots(chart) => Figure::of_svg(&self.caption, chart),
            Drawn::Bars(chart) => Figure::of_svg(&self.caption, chart),
            Drawn::Lines(chart) => Figure::of_svg(&self.caption, chart),
        };
        let columns = self.columns.iter().filter(|column| self.rows.iter().any(|row| !row.text(column).is_empty()));
        let columns: Vec<&str> = columns.copied().collect();
        let mut table = DataTable::new(columns.iter().map(|column| column.replace('_', " "))).caption(&self.caption);
        for row in &self.rows {
            table.push(columns.iter().map(|column| row.text(column)));
        }
        figure.table(table)
    }
}

/// The pictures of a sketch: one for each panel that has records.
pub(super) fn pictures(sketch: &Sketch, rows: &[RunRow]) -> Vec<Picture> {
    let is_wanted =
        |row: &&RunRow| sketch.only.iter().all(|(field, values)| values.contains(&row.text(field).as_str()));
    let mut panels: Vec<(String, Vec<RunRow>)> = Vec::new();
    for row in rows.iter().filter(is_wanted).filter(|row| sketch.shape.draws(row)) {
        let label = row.label(sketch.panel);
        match panels.iter_mut().find(|(panel, _)| *panel == label) {
            Some((_, rows)) => rows.push(row.clone()),
            None => panels.push((label, vec![row.clone()])),
        }
    }
    let count = panels.len();
    let of_panel = |(number, (label, rows)): (usize, (String, Vec<RunRow>))| {
        let name = if count > 1 { format!("{}-{}", sketch.name, number + 1) } else { sketch.name.to_owned() };
        let title = if label.is_empty() { sketch.title.to_owned() } else { format!("{}: {label}", sketch.title) };
        let drawn = match &sketch.shape {
            SketchShape::Dots { rows: names, series, values, label } => {
                Drawn::Dots(dots(&title, sketch, &rows, (names, series, values, label)))
            }
            SketchShape::Bars { rows: names, parts } => Drawn::Bars(bars(&title, sketch, &rows, names, parts)),
            SketchShape::Lines { x, series, y } => Drawn::Lines(lines(&title, sketch, &rows, (*x, series, *y))),
        };
        let mut columns: Vec<&'static str> = Vec::new();
        for column in sketch.panel.iter().copied().chain(sketch.shape.columns()) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        Picture { name, caption: sketch.caption.to_owned(), drawn, rows, columns }
    };
    panels.into_iter().enumerate().map(of_panel).collect()
}

impl SketchShape {
    fn values(&self) -> Vec<Value> {
        match self {
            Self::Dots { values, .. } => values.to_vec(),
            Self::Bars { parts, .. } => parts.to_vec(),
            Self::Lines { x, y, .. } => vec![*x, *y],
        }
    }

    /// Whether a record has what is drawn.
    fn draws(&self, row: &RunRow) -> bool {
        let values = self.values();
        match self {
            Self::Lines { .. } => values.iter().all(|value| row.number(value.field).is_some()),
            _ => values.iter().any(|value| row.number(value.field).is_some()),
        }
    }

    fn columns(&self) -> Vec<&'static str> {
        let names: Vec<&'static str> = match self {
            Self::Dots { rows, series, .. } => rows.iter().chain(*series).copied().collect(),
            Self::Bars { rows, .. } => rows.to_vec(),
            Self::Lines { series, .. } => series.to_vec(),
        };
        names.into_iter().chain(self.values().iter().map(|value| value.field)).collect()
    }
}

/// An axis for these values: logarithmic if they differ by much and none is zero.
fn axis(label: &str, unit: Unit, values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    if low > 0.0 && high / low > LOG_FROM { Axis::log(label, unit) } else { Axis::linear(label, unit) }
}

fn dots(
    title: &str,
    sketch: &Sketch,
    rows: &[RunRow],
    (names, series, values, label): (&[&str], &[&str], &[Value], &str),
) -> DotChart {
    let mut found: Vec<(String, String, f64, bool, String)> = Vec::new();
    // A field that no record has gives no series.
    let values: Vec<&Value> =
        values.iter().filter(|value| rows.iter().any(|row| row.number(value.field).is_some())).collect();
    for row in rows {
        for value in &values {
            let Some(number) = row.number(value.field).map(|number| number * value.factor) else { continue };
            let name = match (series.is_empty(), values.len()) {
                (true, _) => value.name.to_owned(),
                (false, 1) => row.label(series),
                (false, _) => format!("{}, {}", row.label(series), value.name),
            };
            let exact = row.text(value.field);
            found.push((row.label(names), name, number, value.is_quoted, format!("{} {exact}", value.field)));
            if let Some(quoted) = published::figure(row, value.field) {
                let series = if series.is_empty() { String::new() } else { format!("{}, ", row.label(series)) };
                let series = format!("{series}{}", quoted.by);
                found.push((row.label(names), series, quoted.value * value.factor, true, quoted.place.to_owned()));
            }
        }
    }
    let numbers: Vec<f64> = found.iter().map(|dot| dot.2).collect();
    let unit = values.first().map_or(Unit::Count, |value| value.unit);
    let chart = DotChart::new(title, axis(label, unit, &numbers)).description(sketch.caption);
    found.into_iter().take(ROWS_MAX * 10).fold(chart, |chart, (row, series, number, is_quoted, hover)| {
        if is_quoted { chart.quoted(&row, &series, number, &hover) } else { chart.dot(&row, &series, number, &hover) }
    })
}

fn bars(title: &str, sketch: &Sketch, rows: &[RunRow], names: &[&str], parts: &[Value]) -> BarChart {
    let unit = parts.first().map_or(Unit::Count, |part| part.unit);
    let chart = BarChart::new(title, unit).description(sketch.caption).parts(parts.iter().map(|part| part.name));
    rows.iter().take(ROWS_MAX).fold(chart, |chart, row| {
        let sizes: Vec<f64> = parts.iter().map(|part| row.number(part.field).unwrap_or(0.0) * part.factor).collect();
        chart.row(&row.label(names), &sizes)
    })
}

fn lines(title: &str, sketch: &Sketch, rows: &[RunRow], (x, series, y): (Value, &[&str], Value)) -> LineChart {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        let (Some(at), Some(number)) = (row.number(x.field), row.number(y.field)) else { continue };
        let (name, point) = (row.label(series), (at * x.factor, number * y.factor));
        match lines.iter_mut().find(|(line, _)| *line == name) {
            Some((_, points)) => points.push(point),
            None => lines.push((name, vec![point])),
        }
    }
    let all = || lines.iter().flat_map(|(_, points)| points);
    let xs: Vec<f64> = all().map(|point| point.0).collect();
    let ys: Vec<f64> = all().map(|point| point.1).collect();
    let chart = LineChart::new(title, axis(x.name, x.unit, &xs), axis(y.name, y.unit, &ys));
    lines.iter().fold(chart.description(sketch.caption), |chart, (name, points)| {
        chart.series(Series::new(name, Mark::Line, points.iter().copied()))
    })
}
