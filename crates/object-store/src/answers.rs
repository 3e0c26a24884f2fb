//! Answers of servers, looked at before the crate `object_store` does, which takes any page for an empty listing, and
//! drops the region that a redirection names.

use crate::failure::{is_region, region_in};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
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

/// The answer to a request for a listing was none.
#[derive(Debug)]
pub(crate) struct NotAListing;

impl fmt::Display for NotAListing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the answer is no listing")
    }
}

impl std::error::Error for NotAListing {}

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
    if !is_listing_body(&bytes) {
        return Err(HttpError::new(HttpErrorKind::Unknown, NotAListing));
    }
    Ok(HttpResponse::from_parts(head, bytes.into()))
}

/// Whether the first element of a text is the root of a listing.
fn is_listing_body(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(ROOT_WITHIN_BYTES)]);
    let mut rest = &*start;
    while let Some((_, tag)) = rest.split_once('<') {
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        if !tag.starts_with(['?', '!']) {
            let name =
                tag.split(|end: char| end.is_whitespace() || matches!(end, '>' | '/')).next().unwrap_or_default();
            let name = name.rsplit(':').next().unwrap_or_default();
            return LISTING_ROOTS.contains(&name);
        }
        rest = tag.split_once(end).map_or("", |(_, rest)| rest);
    }
    false
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
            "<D:multistatus xmlns:D=\"DAV:\"></D:multistatus>",
        ] {
            assert!(is_listing_body(listing.as_bytes()), "{listing}");
        }
        for other in [
            "",
            " ",
            "{}",
            "<",
            "<!-- ListBucketResult",
            "<!DOCTYPE html><html><body><ListBucketResult></body></html>",
            "<?xml version=\"1.0\"?><Error><Code>ListBucketResult</Code></Error>",
        ] {
            assert!(!is_listing_body(other.as_bytes()), "{other}");
        }
    }
}
