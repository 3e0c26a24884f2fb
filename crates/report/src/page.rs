//! Pages: one self-contained HTML file with a strict Content-Security-Policy.

use crate::PAGE_MARK;
use crate::assets::{CHARTS_JS, PAGE_CSS, UPLOT_CSS, UPLOT_JS, UPLOT_NOTICE};
use crate::escape;
use crate::section::Section;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A self-contained page: it opens from disk, loads nothing, and runs only the scripts that it was built with.
///
/// ```
/// let page = ogive_report::Page::new("a <b>").fact("records", "3").section("Parts", |section| section.text("None"));
/// assert!(page.to_html().contains("<title>a &lt;b&gt;</title>"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    summary: String,
    command: String,
    facts: Vec<(String, String)>,
    sections: Vec<(String, Section)>,
    scripts: Vec<&'static str>,
    styles: Vec<&'static str>,
}

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), ..Self::default() }
    }

    /// Sets the sentence below the title.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        summary.clone_into(&mut self.summary);
        self
    }

    /// Sets the command that makes the page, shown at its end.
    #[must_use]
    pub fn command(mut self, command: &str) -> Self {
        command.clone_into(&mut self.command);
        self
    }

    /// Adds a figure of one number to the line below the summary.
    #[must_use]
    pub fn fact(mut self, name: &str, value: &str) -> Self {
        self.facts.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, heading: &str, fill: impl FnOnce(Section) -> Section) -> Self {
        self.sections.push((heading.to_owned(), fill(Section::default())));
        self
    }

    /// Adds a script of this crate, to run after the content.
    pub(crate) fn script(mut self, script: &'static str) -> Self {
        self.scripts.push(script);
        self
    }

    /// Adds a style of this crate.
    pub(crate) fn style(mut self, style: &'static str) -> Self {
        self.styles.push(style);
        self
    }

    /// The page as one HTML file.
    #[must_use]
    pub fn to_html(&self) -> String {
        let has_chart = self.sections.iter().any(|(_, section)| section.has_chart());
        let mut styles = vec![PAGE_CSS];
        let mut scripts = Vec::new();
        if has_chart {
            styles.insert(0, UPLOT_CSS);
            scripts.extend([UPLOT_JS, CHARTS_JS]);
        }
        styles.extend(&self.styles);
        scripts.extend(&self.scripts);
        let mut html = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.push_str(&format!("{PAGE_MARK}\n"));
        html.push_str(&format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n",
            policy(&scripts, &styles)
        ));
        html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        html.push_str(&format!("<title>{}</title>\n", escape::text(&self.title)));
        styles.iter().for_each(|style| html.push_str(&format!("<style>{style}</style>\n")));
        html.push_str("</head>\n<body>\n");
        self.push_header(&mut html);
        html.push_str("<main>\n");
        for (number, (heading, section)) in self.sections.iter().enumerate() {
            let (id, heading) = (format!("section-{number}"), escape::text(heading));
            let content = section.html();
            html.push_str(&format!(
                "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n{content}\n</section>\n"
            ));
        }
        html.push_str("</main>\n");
        self.push_footer(&mut html, has_chart);
        scripts.iter().for_each(|script| html.push_str(&format!("<script>{script}</script>\n")));
        html.push_str("</body>\n</html>\n");
        html
    }

    fn push_header(&self, html: &mut String) {
        html.push_str(&format!("<header>\n<h1><bdi>{}</bdi></h1>\n", escape::text(&self.title)));
        if !self.summary.is_empty() {
            html.push_str(&format!("<p class=\"summary\">{}</p>\n", escape::text(&self.summary)));
        }
        if !self.facts.is_empty() {
            html.push_str("<dl class=\"facts\">");
            for (name, value) in &self.facts {
                let (name, value) = (escape::text(name), escape::text(value));
                html.push_str(&format!("<div><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>"));
            }
            html.push_str("</dl>\n");
        }
        html.push_str("</header>\n");
    }

    fn push_footer(&self, html: &mut String, has_chart: bool) {
        html.push_str("<footer>\n");
        if !self.command.is_empty() {
            let command = escape::text(&self.command);
            html.push_str(&format!("<p>Made by <code><bdi>{command}</bdi></code></p>\n"));
        }
        let notice = if has_chart { format!(" Charts: {UPLOT_NOTICE}.") } else { String::new() };
        html.push_str(&format!("<p>Ogive {}.{notice}</p>\n</footer>\n", env!("CARGO_PKG_VERSION")));
    }
}

/// The policy: nothing is loaded, and only scripts and styles with these contents take effect.
fn policy(scripts: &[&str], styles: &[&str]) -> String {
    let hashes = |contents: &[&str]| {
        let hashes: Vec<String> = contents.iter().map(|content| hash(content)).collect();
        if hashes.is_empty() { "'none'".to_owned() } else { hashes.join(" ") }
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hashes(scripts),
        hashes(styles)
    )
}

/// The hash source of a script or a style.
fn hash(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // FIPS 180-2, "abc".
        assert_eq!(hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }

    #[test]
    fn every_script_and_style_is_in_the_policy_and_can_stand_in_its_element() {
        let chart = crate::Chart::new("x", "y");
        let html = Page::new("t").section("s", |s| s.figure(crate::Figure::of_chart("c", chart))).to_html();
        let policy =
            html.split("Policy\" content=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        for (open, close, count) in [("<script>", "</script>", 2), ("<style>", "</style>", 2)] {
            let contents: Vec<&str> = html.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect();
            assert_eq!(contents.len(), count, "{open}");
            assert!(contents.iter().all(|content| policy.contains(&hash(content))), "{open}");
        }
        assert!(!policy.contains("unsafe") && policy.starts_with("default-src 'none'"));
    }

    #[test]
    fn nothing_of_a_page_is_markup_but_ours() {
        let hostile = "</title></script><script>alert(1)</script>";
        let html = Page::new(hostile)
            .summary(hostile)
            .command(hostile)
            .fact(hostile, hostile)
            .section(hostile, |s| s.text(hostile).note(hostile).preformatted(hostile, hostile).data("d", &hostile))
            .to_html();
        assert!(!html.contains("alert(1)</script>") && !html.contains("<script>"), "{html}");
    }
}
