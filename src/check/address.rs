//! What an address in a mail points at.

/// The sorts of addresses that the rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Nothing.
    Empty,
    /// Filled in by the service or another engine: not for us to judge.
    Dynamic,
    /// `#place` in the same mail.
    Anchor,
    /// `https:`
    Https,
    /// `http:`
    Http,
    /// `cid:`
    Cid,
    /// `data:`
    Data,
    /// `https://` and nothing after it.
    Hostless,
    /// This machine, a private network, a file.
    Private,
    /// `mailto:`, `tel:`, an app's own scheme.
    Other,
    /// Relative to nothing.
    Relative,
}

/// What the host of the address before was: most links of a mail lead to one.
#[derive(Debug, Default)]
pub struct Hosts {
    /// An address up to the end of its host, and what any address is that goes on after it.
    last: Option<(String, Target)>,
}

impl Hosts {
    /// See [`Target::of`].
    pub fn target(&mut self, address: &str) -> Target {
        if let Some((start, target)) = &self.last
            && let Some(rest) = address.strip_prefix(start.as_str())
            && rest.starts_with(HOST_ENDS)
        {
            return *target;
        }
        let target = Target::of(address);
        // Of any other address the rest counts, too.
        if matches!(target, Target::Https | Target::Http)
            && let Some(host) = address.find("://").map(|at| at + 3)
            && let Some(length) = address[host..].find(HOST_ENDS).filter(|length| *length > 0)
        {
            self.last = Some((address[..host + length].to_owned(), target));
        }
        target
    }
}

/// What ends the host of an address.
const HOST_ENDS: [char; 3] = ['/', '?', '#'];

impl Target {
    /// Reads an address.
    #[must_use]
    pub fn of(address: &str) -> Self {
        let address = address.trim();
        if address.is_empty() {
            return Self::Empty;
        }
        if address.starts_with('#') {
            return Self::Anchor;
        }
        let (scheme, rest) = match address.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ if is_dynamic(address) => return Self::Dynamic,
            _ => return Self::Relative,
        };
        let is = |known: &str| scheme.eq_ignore_ascii_case(known);
        let target = match scheme.len() {
            5 if is("https") => Self::Https,
            4 if is("http") => Self::Http,
            3 if is("cid") => return Self::Cid,
            4 if is("data") => return Self::Data,
            4 if is("file") => return Self::Private,
            _ => return Self::Other,
        };
        let rest = rest.trim_start_matches('/');
        let host = &rest[..memchr::memchr3(b'/', b'?', b'#', rest.as_bytes()).unwrap_or(rest.len())];
        if is_dynamic(host) {
            return target;
        }
        match host {
            "" => Self::Hostless,
            host if is_private(host) => Self::Private,
            _ => target,
        }
    }
}

fn is_scheme(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Whether some engine fills in the address: its start is not known then.
fn is_dynamic(address: &str) -> bool {
    if !address.bytes().any(|byte| matches!(byte, b'{' | b'*' | b'<' | b'[' | b'$' | b'%')) {
        return false;
    }
    ["{{", "{%", "*|", "<%", "[[", "${", "%%", "$!", "$"].iter().any(|open| address.starts_with(open))
        || ["{{", "{%", "*|", "<%", "${"].iter().any(|open| address.contains(open))
}

fn is_private(host: &str) -> bool {
    let host = &host[memchr::memrchr(b'@', host.as_bytes()).map_or(0, |at| at + 1)..];
    if let Some(bracketed) = host.strip_prefix('[') {
        let address = bracketed.split(']').next().unwrap_or_default();
        return address.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| {
            ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local()
        });
    }
    let name = host[..memchr::memchr(b':', host.as_bytes()).unwrap_or(host.len())].trim_end_matches('.');
    if name.starts_with(|c: char| c.is_ascii_digit())
        && let Ok(ip) = name.parse::<std::net::Ipv4Addr>()
    {
        return ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified();
    }
    // A name without a dot is one of a network of its own.
    let Some(dot) = memchr::memrchr(b'.', name.as_bytes()) else { return true };
    let last = &name[dot + 1..];
    last.eq_ignore_ascii_case("localhost") || last.eq_ignore_ascii_case("local")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_address_before_changes_nothing(
            addresses in proptest::collection::vec(
                "(http|https|HTTPS|mailto|x|)(://|:/|:|)(a\\.b|\\{\\{h\\}\\}|localhost|a\\.b:80|)[/?#@]{0,2}(c|\\{\\{d\\}\\}|https://a\\.b/|)",
                1..20,
            ),
        ) {
            let mut hosts = Hosts::default();
            for address in addresses {
                prop_assert_eq!(hosts.target(&address), Target::of(&address), "{}", address);
            }
        }
    }

    #[test]
    fn addresses_are_told_apart() {
        for (address, target) in [
            ("", Target::Empty),
            ("  ", Target::Empty),
            ("#top", Target::Anchor),
            ("#", Target::Anchor),
            ("https://example.com/{{x}}", Target::Https),
            ("HTTPS://example.com", Target::Https),
            ("https://{{host}}/x", Target::Https),
            ("http://example.com", Target::Http),
            ("{{link}}", Target::Dynamic),
            ("{{base}}/x", Target::Dynamic),
            ("*|UNSUB|*", Target::Dynamic),
            ("mailto:a@example.com", Target::Other),
            ("myapp://open", Target::Other),
            ("cid:logo.png", Target::Cid),
            ("data:image/png;base64,AA", Target::Data),
            ("logo.png", Target::Relative),
            ("/logo.png", Target::Relative),
            ("//example.com/x", Target::Relative),
            ("www.example.com", Target::Relative),
            ("http://localhost:3000", Target::Private),
            ("https://192.168.1.1/x", Target::Private),
            ("http://172.32.0.1/", Target::Http),
            ("http://[::1]/", Target::Private),
            ("file:///c:/x", Target::Private),
            ("https://10.example.com", Target::Https),
            ("https://", Target::Hostless),
            ("http://?x", Target::Hostless),
            ("http://intranet/x", Target::Private),
            ("https://user@build:8080", Target::Private),
            ("https://{{host}}", Target::Https),
            ("https://*|HOST|*/x", Target::Https),
            ("https://example.com.", Target::Https),
        ] {
            assert_eq!(Target::of(address), target, "{address}");
        }
    }
}
