//! Who may speak to the service at all: no web page of another origin (safety P16).
//!
//! A page that the developer happens to visit must neither read nor change anything here. Three independent signs are checked on every
//! request: the host it is addressed to (against DNS rebinding), the origin it names, and what the browser says of its site.

use std::net::SocketAddr;

use axum::http::request::Parts;

use super::fields::shown;
use super::refusal::{FOREIGN_PAGE, Refusal};

/// The hosts under which the service answers.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    allowed: Vec<String>,
}

impl Gate {
    /// The address it listens on, `localhost`, and what the user allows in addition.
    pub fn new(address: SocketAddr, allowed: Vec<String>) -> Self {
        Self { address, allowed }
    }

    /// Refuses a request that a page of another origin may have caused. A link out of a mail is the one thing
    /// that other pages may open (`is_mail_link`); it still needs the right host.
    pub fn check(&self, parts: &Parts, is_mail_link: bool) -> Result<(), Refusal> {
        let refuse = |why: String| Err(Refusal::new(&FOREIGN_PAGE, why));
        let header = |name: &str| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let host = match (parts.uri.authority(), header("host")) {
            (Some(authority), _) => authority.as_str().to_owned(),
            (None, Some(host)) => host.into_owned(),
            (None, None) => return refuse("the request names no host".to_owned()),
        };
        if !self.is_ours(&host) {
            return refuse(format!("the request is for the host `{}`, which is not this service", shown(&host)));
        }
        if is_mail_link {
            return Ok(());
        }
        if let Some(origin) = header("origin")
            && origin.strip_prefix("http://") != Some(host.as_str())
        {
            return refuse(format!("the request comes from a page of `{}`", shown(&origin)));
        }
        match header("sec-fetch-site").as_deref() {
            None | Some("same-origin" | "none") => Ok(()),
            Some(site) => refuse(format!("the request comes from another page (`Sec-Fetch-Site: {}`)", shown(site))),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => {
                if port.parse() != Ok(self.address.port()) {
                    return false;
                }
                name
            }
            _ if self.address.port() == 80 => host,
            _ => return self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)),
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost")
            || bare.parse() == Ok(self.address.ip())
            || (self.address.ip().is_unspecified() && bare.parse::<std::net::IpAddr>().is_ok())
            || self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn passes(headers: &[(&str, &str)], is_mail_link: bool) -> bool {
        let gate = Gate::new("127.0.0.1:4711".parse().unwrap(), vec!["box.test".to_owned()]);
        let mut request = Request::post("/system/info");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        gate.check(&request.body(()).unwrap().into_parts().0, is_mail_link).is_ok()
    }

    #[test]
    fn only_our_own_names_are_answered() {
        for host in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711", "box.test", "box.test:4711"] {
            assert!(passes(&[("host", host)], false), "{host}");
        }
        for host in
            ["evil.test:4711", "evil.test", "127.0.0.1:80", "127.0.0.1", "127.0.0.1.evil.test:4711", "[::1]:4711", ""]
        {
            assert!(!passes(&[("host", host)], false), "{host}");
        }
        assert!(!passes(&[], false));
    }

    #[test]
    fn another_origin_is_refused_whichever_sign_gives_it_away() {
        let host = ("host", "127.0.0.1:4711");
        assert!(passes(&[host, ("origin", "http://127.0.0.1:4711"), ("sec-fetch-site", "same-origin")], false));
        assert!(passes(&[host, ("sec-fetch-site", "none")], false));
        for sign in [
            ("origin", "http://localhost:4711"),
            ("origin", "https://127.0.0.1:4711"),
            ("origin", "null"),
            ("origin", "http://evil.test"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert!(!passes(&[host, sign], false), "{sign:?}");
        }
        assert!(passes(&[host, ("sec-fetch-site", "cross-site")], true));
    }
}
