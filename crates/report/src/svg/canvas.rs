//! The SVG element itself: size, title, style, and shapes.

use super::drawing::Place;
use crate::escape;
use std::fmt::Write;

/// The style of drawings in files of their own. Pages have the same colours in `assets/page.css`.
const STYLE: &str = "\
.ogive{--ink:#1b1f24;--quiet:#57606a;--grid:#d8dee4;--paper:#fff;--c0:#0a5dc2;--c1:#b4460f;--c2:#1a7f37;--c3:#8250df;\
--c4:#a81c5c;--c5:#6b5d00;font:12px system-ui,sans-serif;background:var(--paper)}\
@media(prefers-color-scheme:dark){.ogive{--ink:#e6edf3;--quiet:#9198a1;--grid:#3d444d;--paper:#0d1117;--c0:#58a6ff;\
--c1:#f0883e;--c2:#3fb950;--c3:#bc8cff;--c4:#ff7eb6;--c5:#d4b72c}}\
.ogive text{fill:var(--ink)}.ogive .quiet{fill:var(--quiet)}.ogive .grid{stroke:var(--grid);fill:none}\
.ogive .axis{stroke:var(--quiet);fill:none}.ogive .line{fill:none;stroke-width:2}\
.ogive .l0{stroke:var(--c0)}.ogive .l1{stroke:var(--c1)}.ogive .l2{stroke:var(--c2)}.ogive .l3{stroke:var(--c3)}\
.ogive .l4{stroke:var(--c4)}.ogive .l5{stroke:var(--c5)}.ogive .f0{fill:var(--c0)}.ogive .f1{fill:var(--c1)}\
.ogive .f2{fill:var(--c2)}.ogive .f3{fill:var(--c3)}.ogive .f4{fill:var(--c4)}.ogive .f5{fill:var(--c5)}\
.ogive .f6{fill:var(--quiet)}.ogive .l6{stroke:var(--quiet)}\
.ogive .hollow{fill:var(--paper);stroke-width:2}.ogive .edge{stroke:var(--paper)}";

/// Where text is anchored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// An SVG element under construction. All text is escaped here.
#[derive(Debug)]
pub(super) struct Canvas {
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let (title, description) = (title.to_owned(), description.to_owned());
        Self { width, height, title, description, body: String::new() }
    }

    /// Text at a point; `turned` text runs upwards.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str, turned: bool) {
        let turn = if turned { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
        let (anchor, text) = (anchor.name(), escape::text(text));
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\"{turn}>{text}</text>"
        );
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ =
            write!(self.body, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>");
    }

    /// A filled rectangle with a text that appears on hover.
    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, hover: &str) {
        let hover = escape::text(hover);
        let _ = write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\">\
            <title>{hover}</title></rect>"
        );
    }

    /// The border of a box with a text that appears on hover.
    pub(super) fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), hover: &str) {
        let hover = escape::text(hover);
        let _ = write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\" class=\"axis\">\
            <title>{hover}</title></rect>"
        );
    }

    /// A line through points; `dashes` as in SVG, empty for none.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str, dashes: &str) {
        let mut path = String::new();
        for (number, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
        }
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        let _ = write!(self.body, "<path d=\"{path}\" class=\"{class}\"{dashes}/>");
    }

    /// A mark at a point, one shape for each series, with a text that appears on hover.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), shape: usize, class: &str, hover: &str) {
        let hover = escape::text(hover);
        let path = match shape % 4 {
            0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", x - 4.0),
            1 => format!("M{:.1} {:.1}h7v7h-7Z", x - 3.5, y - 3.5),
            2 => format!("M{x:.1} {:.1}l4.5 8h-9Z", y - 5.0),
            _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5Z", y - 5.0),
        };
        let _ = write!(self.body, "<path d=\"{path}\" class=\"{class}\"><title>{hover}</title></path>");
    }

    /// The element.
    pub(super) fn finish(self, place: Place) -> String {
        let Self { width, height, title, description, body } = self;
        let (title, description) = (escape::text(&title), escape::text(&description));
        let style = if place == Place::File { format!("<style>{STYLE}</style>") } else { String::new() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ogive\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
            width=\"{width}\" height=\"{height}\"><title>{title}</title><desc>{description}</desc>{style}{body}</svg>"
        )
    }
}
