//! Sections of a page: text, figures, tables, and parts with a script of their own.

use crate::data_table::DataTable;
use crate::escape;
use crate::figure::Figure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The content of a section, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    html: String,
    has_chart: bool,
}

impl Section {
    /// Adds a paragraph of plain text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        let paragraph = format!("<p>{}</p>", escape::text(text));
        self.markup(&paragraph)
    }

    /// Adds a remark, such as what a page leaves out.
    #[must_use]
    pub fn note(self, text: &str) -> Self {
        let paragraph = format!("<p class=\"note\">{}</p>", escape::text(text));
        self.markup(&paragraph)
    }

    /// Adds the meaning of terms, folded up.
    #[must_use]
    pub fn terms(self, terms: &[(&str, &str)]) -> Self {
        let one = |(term, meaning): &(&str, &str)| {
            format!("<dt>{}</dt><dd>{}</dd>", escape::text(term), escape::text(meaning))
        };
        let list: String = terms.iter().map(one).collect();
        self.markup(&format!("<details class=\"terms\"><summary>Terms</summary><dl>{list}</dl></details>"))
    }

    /// Adds a figure.
    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.has_chart |= figure.has_chart();
        self.markup(&figure.to_html())
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, table: &DataTable) -> Self {
        let html = table.to_html();
        self.markup(&html)
    }

    /// Adds text as it was printed, such as a plan or a command.
    #[must_use]
    pub fn preformatted(self, label: &str, text: &str) -> Self {
        let (label, text) = (escape::text(label), escape::text(text));
        self.markup(&format!("<pre tabindex=\"0\" role=\"group\" aria-label=\"{label}\">{text}</pre>"))
    }

    /// Adds data for the script of a page, as `<script type="application/json">`, which no browser executes.
    #[must_use]
    pub fn data(self, id: &str, document: &impl serde::Serialize) -> Self {
        let (id, json) = (escape::text(id), escape::json(document));
        self.markup(&format!("<script type=\"application/json\" id=\"{id}\">{json}</script>"))
    }

    /// Adds a link that saves the data behind a figure as a JSON file.
    #[must_use]
    pub fn download(self, name: &str, json: &str) -> Self {
        let (name, data) = (escape::text(name), STANDARD.encode(json));
        self.markup(&format!(
            "<p><a download=\"{name}\" href=\"data:application/json;base64,{data}\">The data as JSON: {name}</a></p>"
        ))
    }

    /// Adds an element as it is: fixed markup of this crate only, never text of a file.
    pub(crate) fn markup(mut self, html: &str) -> Self {
        self.html.push_str(html);
        self
    }

    /// Makes the page carry the chart library.
    pub(crate) fn with_charts(mut self) -> Self {
        self.has_chart = true;
        self
    }

    /// Whether the page needs the chart library.
    pub(crate) fn has_chart(&self) -> bool {
        self.has_chart
    }

    /// The content as HTML.
    pub(crate) fn html(&self) -> &str {
        &self.html
    }
}
