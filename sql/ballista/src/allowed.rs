//! The paths and URLs that queries may open.

use crate::error::PlanError;
use ogive::io::{percent_decoded, remote_url};
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Prefixes of what queries may open; all, unless some are given.
///
/// A prefix is a whole folder: `/data` allows `/data/users.ogive`, and not `/data-of-others`. A path is followed
/// through `..` and symbolic links before it is compared, so that no link in an allowed folder leads out of it. The
/// path is followed again when it is opened: a program that may change links in an allowed folder can win this race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    prefixes: Option<Vec<Prefix>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Prefix {
    /// A folder or file, without links.
    Path(PathBuf),
    Url(PlainUrl),
}

/// A URL without percent-encoding, password, query and `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlainUrl {
    /// Scheme and host or bucket, in lower case.
    host: String,
    folders: Vec<String>,
}

impl Allowed {
    /// Everything that the process can open.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// What begins with one of these prefixes, and nothing if there are none.
    ///
    /// # Errors
    /// [`PlanError::Prefix`] for a folder that is not there, and for a URL with `..`.
    pub fn only<S: AsRef<str>>(prefixes: &[S]) -> Result<Self, PlanError> {
        let found = prefixes.iter().map(|prefix| {
            let prefix = prefix.as_ref();
            let invalid = |detail: String| PlanError::Prefix { prefix: prefix.to_owned(), detail };
            match remote_url(Path::new(prefix)) {
                Some(url) => PlainUrl::parse(url).map(Prefix::Url).map_err(invalid),
                None => {
                    let path = fs::canonicalize(local_path(prefix).map_err(invalid)?);
                    path.map(Prefix::Path).map_err(|error| invalid(error.to_string()))
                }
            }
        });
        Ok(Self { prefixes: Some(found.collect::<Result<_, _>>()?) })
    }

    /// What a command line says: all without a prefix, and only these with some.
    ///
    /// # Errors
    /// As [`Self::only`].
    pub fn of_arguments(prefixes: &[String]) -> Result<Self, PlanError> {
        if prefixes.is_empty() { Ok(Self::all()) } else { Self::only(prefixes) }
    }

    /// Whether all is allowed.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.prefixes.is_none()
    }

    /// Checks a path, existing or not, or a URL.
    ///
    /// # Errors
    /// [`PlanError::NotAllowed`].
    pub fn check(&self, location: &str) -> Result<(), PlanError> {
        let Some(prefixes) = &self.prefixes else { return Ok(()) };
        let refused = |detail: String| PlanError::NotAllowed { location: without_query(location), detail };
        let is_allowed = match remote_url(Path::new(location)) {
            Some(url) => {
                let url = PlainUrl::parse(url).map_err(refused)?;
                prefixes.iter().any(|prefix| matches!(prefix, Prefix::Url(prefix) if url.is_in(prefix)))
            }
            None => {
                let path = local_path(location).and_then(|path| resolved(&path)).map_err(refused)?;
                prefixes.iter().any(|prefix| matches!(prefix, Prefix::Path(prefix) if path.starts_with(prefix)))
            }
        };
        if is_allowed { Ok(()) } else { Err(refused("it is outside of what --allow names".to_owned())) }
    }
}

impl PlainUrl {
    fn parse(url: &str) -> Result<Self, String> {
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = url.split_once("://").ok_or("it is no URL")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let path = percent_decoded(path).ok_or("it is not percent-encoded as a URL is")?;
        if path.contains('\\') || path.split('/').any(|folder| matches!(folder, "." | "..")) {
            return Err("it goes through `.` or `..`".to_owned());
        }
        // Buckets and hosts are in lower case; what is not leads nowhere, or to the same.
        let host = format!("{scheme}://{host}").to_ascii_lowercase();
        Ok(Self { host, folders: path.split('/').filter(|folder| !folder.is_empty()).map(str::to_owned).collect() })
    }

    fn is_in(&self, prefix: &Self) -> bool {
        self.host == prefix.host && self.folders.starts_with(&prefix.folders)
    }
}

fn without_query(location: &str) -> String {
    location.split_once('?').map_or(location, |(location, _)| location).to_owned()
}

/// The path of a `file` URL, or the path itself.
fn local_path(location: &str) -> Result<PathBuf, String> {
    let is_url = location.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    if !is_url {
        return std::path::absolute(location).map_err(|error| error.to_string());
    }
    let path = location[7..].strip_prefix("localhost").unwrap_or(&location[7..]);
    let path = percent_decoded(path).filter(|path| path.starts_with('/'));
    path.map(PathBuf::from).ok_or_else(|| "it is no local file".to_owned())
}

/// A path without links and `..`. Of one that is not there, the part that is there is followed.
fn resolved(path: &Path) -> Result<PathBuf, String> {
    let mut missing = Vec::new();
    let mut there = path.to_owned();
    loop {
        match fs::canonicalize(&there) {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, name| path.join(name))),
            // A link that leads nowhere may lead somewhere by the time it is opened.
            Err(_) if fs::symlink_metadata(&there).is_ok_and(|meta| meta.is_symlink()) => {
                return Err("a link on its way leads nowhere".to_owned());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => match there.components().next_back() {
                Some(Component::Normal(name)) => missing.push(name.to_owned()),
                _ => return Err("it goes through `..` of a folder that is not there".to_owned()),
            },
            Err(error) => return Err(error.to_string()),
        }
        if !there.pop() {
            return Err("it is not there".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_followed_through_dots_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["data/more", "data-of-others", "secret"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["data/a.ogive", "secret/s.ogive", "data-of-others/o.ogive"] {
            fs::write(path(name), name).unwrap();
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(path(to), path(name)).unwrap();
        link("secret/s.ogive", "data/link.ogive");
        link("secret", "data/folder");
        link("secret/new.ogive", "data/nowhere.ogive");
        link("data/a.ogive", "inwards.ogive");
        let allowed = Allowed::only(&[path("data")]).unwrap();
        let url = format!("file://{}", path("data/a.ogive"));
        let mut fine = ["data/a.ogive", "data/more/../a.ogive", "data/more/new/b.ogive", "inwards.ogive"].map(path);
        fine[0] = url;
        for location in fine.iter().chain([&path("data/a.ogive"), &path("data")]) {
            assert_eq!(allowed.check(location), Ok(()), "{location}");
        }
        let outside = [
            "secret/s.ogive",
            "data/../secret/s.ogive",
            "data/link.ogive",
            "data/folder/s.ogive",
            "data/folder/new.ogive",
            "data/nowhere.ogive",
            "data/absent/../../secret/s.ogive",
            "data-of-others/o.ogive",
        ];
        let encoded = format!("file://{}", path("data/%2e%2e/secret/s.ogive"));
        for location in outside.map(path).iter().chain([&encoded, &"s3://bucket/a.ogive".to_owned()]) {
            assert!(matches!(allowed.check(location), Err(PlanError::NotAllowed { .. })), "{location}");
        }
    }

    #[test]
    fn urls_are_compared_by_whole_folders() {
        let allowed = Allowed::only(&["s3://bucket/tables/", "https://host"]).unwrap();
        let fine = ["s3://bucket/tables/a.ogive", "S3://bucket/tables/b/c.ogive", "s3://bucket/t%61bles/a.ogive?x=1"];
        for location in fine.iter().chain(&["https://host/any", "https://user:word@host/any"]) {
            assert_eq!(allowed.check(location), Ok(()), "{location}");
        }
        let outside = [
            "s3://bucket/tables-of-others/a.ogive",
            "s3://bucket/tables/../a.ogive",
            "s3://bucket/tables/%2e%2e/a.ogive",
            "s3://bucket/tables/x%2f..%2f..%2fa.ogive",
            "s3://bucket2/tables/a.ogive",
            "gs://bucket/tables/a.ogive",
            "https://host.evil/any",
            "https://host@evil/any",
            "/data/a.ogive",
        ];
        for location in outside {
            assert!(matches!(allowed.check(location), Err(PlanError::NotAllowed { .. })), "{location}");
        }
    }

    #[test]
    fn an_unusable_prefix_is_an_error_and_none_allows_all() {
        let error = Allowed::only(&["/no/such/folder"]).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
        assert!(Allowed::of_arguments(&[]).unwrap().is_all());
        assert!(Allowed::only::<&str>(&[]).unwrap().check("/etc/passwd").is_err());
    }
}
