//! Checks of server answers before the crate `object_store` reads them, which takes any page for an empty listing, and
//! drops the region that a redirection names.

use crate::failure::{is_region, region_in};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

/// The region of a bucket, in answers of S3.
const REGION_HEADER: &str = "x-amz-bucket-region";
/// The roots of listings: of S3 and Google Cloud Storage, of Azure, and of WebDAV.
const LISTING_ROOTS: [&str; 3] = ["ListBucketResult", "EnumerationResults", "multistatus"];
/// Bytes at the start of an answer in which its root is looked for: behind a declaration and comments.
const ROOT_WITHIN_BYTES: usize = 4096;

/// Connections whose answers are looked at.
#[derive(Debug, Default)]
pub(crate) struct CheckingConnector;

impl HttpConnector for CheckingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(CheckedAnswers(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct CheckedAnswers(HttpClient);

impl HttpService for CheckedAnswers {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        let is_listing = is_listing(&request);
        async move {
            let answer = self.0.execute(request).await?;
            match answer.status().as_u16() {
                status @ (301 | 307) => check_region(status, answer).await,
                200..=299 if is_listing => check_listing(answer).await,
                _ => Ok(answer),
            }
        }
        .boxed()
    }
}

/// Whether a request asks for a listing.
fn is_listing(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "list-type=2" | "comp=list")) || request.method() == "PROPFIND"
}

/// A wrong answer to a request for a listing, in our words.
#[derive(Debug)]
pub(crate) struct WrongListing(pub(crate) &'static str);

impl fmt::Display for WrongListing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for WrongListing {}

/// The answers to a listing so far.
#[derive(Debug, Default)]
struct ListingAnswers {
    count: u64,
    /// The first keys that they show, and the tokens for what follows them.
    seen: BTreeSet<(&'static str, String)>,
}

tokio::task_local! {
    /// The answers to the listing that a task is making.
    static LISTING: RefCell<ListingAnswers>;
}

/// Makes a listing whose answers are looked at. Returns how many there were, as far as [`CheckingConnector`] sees them.
pub(crate) async fn watched<T>(listing: impl Future<Output = T>) -> (T, u64) {
    let made = async {
        let listed = listing.await;
        (listed, LISTING.with(|answers| answers.borrow().count))
    };
    LISTING.scope(RefCell::default(), made).await
}

/// A bucket is in another region than the one that was asked.
#[derive(Debug)]
pub(crate) struct OtherRegion {
    pub(crate) status: u16,
    pub(crate) region: String,
}

impl fmt::Display for OtherRegion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the bucket is in the region {}", self.region)
    }
}

impl std::error::Error for OtherRegion {}

async fn check_listing(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (head, body) = answer.into_parts();
    let bytes = body.bytes().await?;
    check_listing_body(&bytes).map_err(|wrong| HttpError::new(HttpErrorKind::Unknown, wrong))?;
    Ok(HttpResponse::from_parts(head, bytes.into()))
}

/// Refuses what is no whole listing, one that is not the last but does not say how to go on, and one that was there
/// before: a server, or a cache before it, that gives the same answer again and again would be listed for ever.
fn check_listing_body(bytes: &Bytes) -> Result<(), WrongListing> {
    let Some(root) = listing_root(bytes) else {
        return Err(WrongListing("the answer to the request for a listing is none"));
    };
    let text = String::from_utf8_lossy(bytes);
    let end = text.trim_end();
    if !end.ends_with(&format!("{root}>")) && !end.ends_with("/>") {
        return Err(WrongListing("the answer to the request for a listing ends within it"));
    }
    // Azure states an empty marker.
    let next = ["NextContinuationToken", "NextMarker"].into_iter().find_map(|name| element(&text, name));
    if element(&text, "IsTruncated").is_some_and(|is_truncated| is_truncated == "true") && next.is_none() {
        return Err(WrongListing("the listing says that more follows, but not how to ask for it"));
    }
    let first = ["Key", "Blob><Name"].into_iter().find_map(|name| element(&text, name));
    let noted = LISTING.try_with(|answers| {
        let mut answers = answers.borrow_mut();
        answers.count += 1;
        let marks = [("next", next), ("first", first)];
        let mut marks = marks.into_iter().filter_map(|(kind, mark)| Some((kind, mark?.to_owned())));
        marks.all(|mark| answers.seen.insert(mark))
    });
    match noted {
        Ok(false) => Err(WrongListing("the listing repeats an answer in place of what follows it")),
        _ => Ok(()),
    }
}

/// The text of the first element of a name, unless it is empty.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once('<')?;
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// The first element of a text, with the prefix of its name, if it is the root of a listing.
fn listing_root(bytes: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(ROOT_WITHIN_BYTES)]);
    let mut rest = &*start;
    while let Some((_, tag)) = rest.split_once('<') {
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        if !tag.starts_with(['?', '!']) {
            let name =
                tag.split(|end: char| end.is_whitespace() || matches!(end, '>' | '/')).next().unwrap_or_default();
            let root = name.rsplit(':').next().unwrap_or_default();
            return LISTING_ROOTS.contains(&root).then(|| name.to_owned());
        }
        rest = tag.split_once(end).map_or("", |(_, rest)| rest);
    }
    None
}

/// The error that names the region of a bucket, if an answer without a new place does.
async fn check_region(status: u16, answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    if answer.headers().contains_key("location") {
        return Ok(answer);
    }
    let named = answer.headers().get(REGION_HEADER).and_then(|region| region.to_str().ok()).map(str::to_owned);
    let (head, body) = answer.into_parts();
    let bytes = body.bytes().await?;
    let region = named.filter(|region| is_region(region)).or_else(|| region_in(&String::from_utf8_lossy(&bytes)));
    match region {
        Some(region) => Err(HttpError::new(HttpErrorKind::Unknown, OtherRegion { status, region })),
        None => Ok(HttpResponse::from_parts(head, bytes.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listing_is_one() {
        for listing in [
            "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\"><Name>a</Name></ListBucketResult>",
            "\u{feff}<?xml version=\"1.0\"?><!-- <html> --><EnumerationResults ServiceEndpoint=\"x\"/>",
            "<ListBucketResult/>",
            "<D:multistatus xmlns:D=\"DAV:\"></D:multistatus>\n",
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>\
             </ListBucketResult>",
        ] {
            assert!(check_listing_body(&Bytes::from(listing)).is_ok(), "{listing}");
            let cut = Bytes::from(listing).slice(..listing.len() - 2);
            assert!(check_listing_body(&cut).is_err(), "{listing}");
        }
        for other in [
            "",
            " ",
            "{}",
            "<",
            "<!-- ListBucketResult",
            "<!DOCTYPE html><html><body><ListBucketResult></body></html>",
            "<?xml version=\"1.0\"?><Error><Code>ListBucketResult</Code></Error>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
        ] {
            assert!(check_listing_body(&Bytes::from(other)).is_err(), "{other}");
        }
    }
}
