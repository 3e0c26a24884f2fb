//! `cargo xtask book`: the pages of `docs/` as a site, by mdBook, in `target/book`.
//!
//! The pages are written to be read in the repository, too, so they link to its files. In the copy that mdBook gets,
//! links that leave `docs/` lead to the repository on the web. Then every link of the site is checked: the page must
//! exist, and have the part that is named.

use crate::Failure;
use crate::process::{Step, answers};
use crate::source::{project_files, read_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of mdBook: another one may lay out pages in another way.
const VERSION: &str = "0.5.4";

/// Builds and checks the book of the repository at `root`. Where mdBook cannot be had, says so.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let Some(program) = prepare(root) else { return Ok(()) };
    let pages = root.join("target/book-pages");
    copy_pages(root, &pages)?;
    let words = [program.display().to_string(), "build".to_owned(), pages.display().to_string()];
    Step { name: "book", words: words.to_vec(), environment: Vec::new() }.run(root)?;
    check_site(&root.join("target/book"))
}

/// The program, which is installed if it is missing.
fn prepare(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/mdbook");
    let program = folder.join("bin/mdbook");
    if !answers(&program) {
        // It runs for seconds, and would be optimised for minutes.
        let line =
            format!("cargo install mdbook --quiet --debug --locked --version {VERSION} --no-default-features --root");
        let mut step = Step::new("mdbook", &line).with("CARGO_TARGET_DIR", &folder.join("build").display().to_string());
        step.words.push(folder.display().to_string());
        if step.run(root).is_err() {
            println!("skipped: the book needs mdBook, which cannot be installed; see the message above");
            return None;
        }
        // A hundred megabytes that nothing needs any more.
        _ = fs::remove_dir_all(folder.join("build"));
    }
    Some(program)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Check(format!("{}: {error}", path.display()))
}

/// Copies `docs/` to the folder `pages`, with links for the web.
fn copy_pages(root: &Path, pages: &Path) -> Result<(), Failure> {
    if pages.exists() {
        fs::remove_dir_all(pages).map_err(failed(pages))?;
    }
    let repository = repository(&read_text(root, "Cargo.toml")?)?;
    for path in project_files(root)?.iter().filter(|path| path.starts_with("docs/")) {
        let target = pages.join(path.trim_start_matches("docs/"));
        let folder = target.parent().unwrap_or(pages);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        if path.ends_with(".md") {
            let text = outward(path, &read_text(root, path)?, &repository);
            fs::write(&target, text).map_err(failed(&target))?;
        } else {
            fs::copy(root.join(path), &target).map(drop).map_err(failed(&target))?;
        }
    }
    Ok(())
}

/// The address of the repository, as the manifest states it.
fn repository(manifest: &str) -> Result<String, Failure> {
    let line = manifest.lines().find(|line| line.starts_with("repository"));
    let address = line.and_then(|line| line.split('"').nth(1));
    address.map(str::to_owned).ok_or_else(|| Failure::Check("Cargo.toml states no repository".to_owned()))
}

/// The page at `path`, whose links out of `docs/`, and to folders, lead to the repository.
fn outward(path: &str, text: &str, repository: &str) -> String {
    let mut parts = text.split("](");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        changed.push_str("](");
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
        match inside(path, file) {
            Some(resolved) if !resolved.starts_with("docs/") || !resolved.contains('.') => {
                changed.push_str(&format!("{repository}/blob/main/{resolved}"));
                if !fragment.is_empty() {
                    changed.push_str(&format!("#{fragment}"));
                }
            }
            _ => changed.push_str(target),
        }
        if part.len() > target.len() {
            changed.push(')');
            changed.push_str(rest);
        }
    }
    changed
}

/// Path from the root of the repository of a relative link; `None` for another one.
fn inside(path: &str, target: &str) -> Option<String> {
    if target.is_empty()
        || target.contains("://")
        || target.starts_with("mailto:")
        || target.contains(char::is_whitespace)
    {
        return None;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Checks the links between the pages of the site.
fn check_site(site: &Path) -> Result<(), Failure> {
    let mut pages = BTreeMap::new();
    gather(site, site, &mut pages)?;
    let known: BTreeSet<&str> = pages.keys().map(String::as_str).collect();
    let mut broken = Vec::new();
    for (path, html) in pages.iter().filter(|(path, _)| path.ends_with(".html") && !SPECIAL.contains(&path.as_str())) {
        for link in values(html, "href=\"") {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { Some(path.clone()) } else { inside(path, file) };
            let Some(target) = target else { continue };
            let leads = known.contains(target.as_str())
                && (fragment.is_empty() || values(&pages[&target], "id=\"").any(|id| id == fragment));
            if !leads {
                broken.push(format!("{path}: the link to `{link}` leads nowhere"));
            }
        }
    }
    if broken.is_empty() {
        println!("book: {} pages in {}", pages.len(), site.display());
        return Ok(());
    }
    Err(Failure::Check(broken.join("\n")))
}

/// Pages made by mdBook that repeat others, or that no page links to.
const SPECIAL: [&str; 3] = ["print.html", "404.html", "toc.html"];

/// The contents of the pages in a folder, and the names of its other files.
fn gather(site: &Path, folder: &Path, pages: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.is_dir() {
            gather(site, &path, pages)?;
            continue;
        }
        let name = path.strip_prefix(site).unwrap_or(&path).display().to_string().replace('\\', "/");
        let is_page = name.ends_with(".html");
        let html = if is_page { fs::read_to_string(&path).map_err(failed(&path))? } else { String::new() };
        pages.insert(name, html);
    }
    Ok(())
}

/// The values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository_and_others_stay() {
        let text = "[a](../crates/x.rs#L1) [b](start.md#top) [c](https://x.org/(y)) [d](format) [e](#here) f](";
        let changed = outward("docs/page.md", text, "https://host/r");
        let expected = "[a](https://host/r/blob/main/crates/x.rs#L1) [b](start.md#top) [c](https://x.org/(y)) \
            [d](https://host/r/blob/main/docs/format) [e](#here) f](";
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_link_to_a_missing_page_or_part_is_found() {
        let folder = std::env::temp_dir().join(format!("ogive-book-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("a.html"), "<h1 id=\"top\"><a href=\"sub/b.html#part\"><a href=\"#top\">").unwrap();
        fs::write(folder.join("sub/b.html"), "<h1 id=\"part\"><a href=\"../a.html\">").unwrap();
        let sound = check_site(&folder);
        fs::write(folder.join("sub/b.html"), "<a href=\"../c.html\"><a href=\"../a.html#bottom\">").unwrap();
        let broken = check_site(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert!(sound.is_ok());
        let Err(Failure::Check(message)) = broken else { panic!("nothing was found") };
        assert_eq!(message.lines().count(), 3, "{message}");
    }
}
