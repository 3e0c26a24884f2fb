//! Statements that contain credentials, which are kept out of the history and of pictures.

/// Parts of the names of options and parameters whose values are secret.
const MARKS: [&str; 16] = [
    "secret",
    "password",
    "passwd",
    "credential",
    "access_key",
    "accesskey",
    "account_key",
    "accountkey",
    "private_key",
    "api_key",
    "apikey",
    "token",
    "bearer",
    "authorization",
    "signature=",
    "sig=",
];

/// Whether a statement may hold credentials: rather too often than once too little.
pub(crate) fn has_credentials(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark)) || lower.split("://").skip(1).any(has_user)
}

/// Whether what follows the scheme of a URL names a user: `user:word@host`.
fn has_user(rest: &str) -> bool {
    let end = rest.find(|letter: char| letter == '/' || letter == '\'' || letter == '"' || letter.is_whitespace());
    rest[..end.unwrap_or(rest.len())].contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_urls_with_credentials_are_found() {
        for statement in [
            "create external table t stored as parquet location 's3://b/t' options ('aws.Secret_Access_Key' 'x')",
            "set ogive.s3.password = 'x'",
            "select * from 'https://host/t.parquet?X-Amz-Signature=abc'",
            "select * from 'https://account.host/t.parquet?sv=1&sig=abc'",
            "select * from 's3://user:word@host/t.ogive'",
        ] {
            assert!(has_credentials(statement), "{statement}");
        }
    }

    #[test]
    fn plain_statements_are_kept() {
        for statement in
            ["select * from 's3://bucket/t.ogive' where mail = 'a@b'", "select 1", "select '@' from 'http://h/a@b.csv'"]
        {
            assert!(!has_credentials(statement), "{statement}");
        }
    }
}
