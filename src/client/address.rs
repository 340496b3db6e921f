//! The base address: https, or plain http to this machine only.

use reqwest::Url;

/// Where a service is: checked, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address cannot be used. `Display` is a plain sentence fragment without the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not an address at all.
    #[error("it is not an absolute web address: {0}")]
    Syntax(String),
    /// Another scheme, or http to another machine.
    #[error("it is not `https`; plain `http` is taken only for this machine (127.0.0.1, [::1], localhost)")]
    Plain,
    /// `https://user:password@…`
    #[error("it has a user name or a password; the key belongs in `api_key_env` or `api_key_file`")]
    Credentials,
    /// `?…` or `#…`
    #[error("it has a query or a fragment")]
    Query,
}

impl BaseUrl {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// [`BaseUrlError`] says what is wrong with the text.
    pub fn new(text: &str) -> Result<Self, BaseUrlError> {
        let url = Url::parse(text).map_err(|error| BaseUrlError::Syntax(error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError::Query);
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err(BaseUrlError::Plain),
        }
        Ok(Self(url))
    }

    /// Whether it is this machine: no proxy is asked then.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// What a state is bound to: the text, without a trailing slash. On this machine ports come and go (a tunnel, a test service), so there the
    /// port does not count; the user and project ids do everywhere.
    #[must_use]
    pub fn identity(&self) -> String {
        let mut url = self.0.clone();
        if self.is_loopback() {
            // It fails only for addresses without a host, which `new` does not let in.
            let _ = url.set_port(None);
        }
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// The text, without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The address of an operation, whose path begins with a slash.
    pub(super) fn operation(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path().trim_end_matches('/')));
        url
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_bound_to_the_address_and_on_this_machine_to_no_port() {
        let identity = |text| BaseUrl::new(text).unwrap().identity();
        assert_eq!(identity("https://api.example.com:8443/v1/"), "https://api.example.com:8443/v1");
        assert_eq!(identity("http://127.0.0.1:8080/v1"), "http://127.0.0.1/v1");
    }

    #[test]
    fn https_anywhere_and_http_here() {
        for good in ["https://api.example.com/v1", "http://127.0.0.1:8080", "http://[::1]:80/x", "http://localhost:1"] {
            assert!(BaseUrl::new(good).is_ok(), "{good}");
        }
        for plain in
            ["http://api.example.com", "http://127.0.0.1.example.com", "http://localhost.example.com", "ftp://a"]
        {
            assert_eq!(BaseUrl::new(plain), Err(BaseUrlError::Plain), "{plain}");
        }
        assert_eq!(BaseUrl::new("https://me:x@a.example"), Err(BaseUrlError::Credentials));
        assert_eq!(BaseUrl::new("https://a.example?x"), Err(BaseUrlError::Query));
        assert!(matches!(BaseUrl::new("api.example.com"), Err(BaseUrlError::Syntax(_))));
    }

    #[test]
    fn a_trailing_slash_does_not_count() {
        let url = BaseUrl::new("https://api.example.com/v1/").unwrap();
        assert_eq!(url.as_str(), "https://api.example.com/v1");
        assert_eq!(url.operation("/system/info").as_str(), "https://api.example.com/v1/system/info");
        let url = BaseUrl::new("http://127.0.0.1:8080").unwrap();
        assert_eq!(url.operation("/system/info").as_str(), "http://127.0.0.1:8080/system/info");
    }
}
