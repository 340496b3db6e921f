//! Where a state is kept, as letterpress.toml writes it: `file:…`, `s3://…`, `gs://…`, `az://…`.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place for one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder on a local disk.
    Folder(PathBuf),
    /// A prefix in a bucket.
    Bucket {
        /// Whose.
        cloud: Cloud,
        /// The bucket or container.
        bucket: String,
        /// The prefix, without slashes at its ends; may be empty.
        prefix: String,
    },
}

/// Whose buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// S3 and what is compatible with it.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

impl Cloud {
    /// The scheme.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }
}

/// The text names no place for a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no place for a state: {why}")]
pub struct LocationError {
    /// The text. Untrusted.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Location {
    /// Reads the text; a relative folder is below `root`.
    ///
    /// # Errors
    ///
    /// [`LocationError`] says what is wrong with the text.
    pub fn parse(text: &str, root: &Path) -> Result<Self, LocationError> {
        let wrong = |why| LocationError { text: text.to_owned(), why };
        if let Some(path) = text.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(wrong("the path is missing: `file:.letterpress/state/NAME`"));
            }
            return Ok(Self::Folder(root.join(path)));
        }
        let (cloud, rest) = [Cloud::S3, Cloud::Gcs, Cloud::Azure]
            .into_iter()
            .find_map(|cloud| Some((cloud, text.strip_prefix(cloud.scheme())?.strip_prefix("://")?)))
            .ok_or_else(|| wrong("it begins with `file:`, `s3://`, `gs://` or `az://`"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        if bucket.is_empty() {
            return Err(wrong("the bucket's name is missing"));
        }
        if prefix.split('/').any(|part| matches!(part, "." | "..")) || prefix.contains("//") {
            return Err(wrong("the prefix has an empty part, `.` or `..`"));
        }
        Ok(Self::Bucket { cloud, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Bucket { cloud, bucket, prefix } if prefix.is_empty() => write!(f, "{}://{bucket}", cloud.scheme()),
            Self::Bucket { cloud, bucket, prefix } => write!(f, "{}://{bucket}/{prefix}", cloud.scheme()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        let parse = |text| Location::parse(text, Path::new("/p")).map(|place| place.to_string());
        assert_eq!(parse("file:.letterpress/state/local").unwrap(), "/p/.letterpress/state/local");
        assert_eq!(parse("file:/var/state").unwrap(), "/var/state");
        assert_eq!(parse("s3://bucket/a/b/").unwrap(), "s3://bucket/a/b");
        assert_eq!(parse("gs://bucket").unwrap(), "gs://bucket");
        for wrong in ["", "bucket/a", "file:", "s3://", "http://b/a", "az://b/../a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
