//! Showing HTML of strangers (safety P17): it runs nothing, loads nothing, calls nobody.
//!
//! Each measure alone would do for most of it: the `sandbox` attribute of the frame, the `sandbox` directive of the answer (for whoever opens the
//! address by itself), a policy that loads nothing but `data:` pictures and inline style, and `frame-src 'self'` of the page around it. No policy governs
//! the connections that a browser opens in advance, for `<link rel=preconnect>` and for navigations that it then blocks: those elements are renamed.

use axum::http::HeaderValue;
use axum::response::{Html, IntoResponse as _, Response};
use maud::{Markup, html};

use crate::wire::Attachment;

/// The policy of the framed document.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// A frame that shows a document of ours which holds foreign HTML.
pub fn frame(title: &str, address: &str) -> Markup {
    html! {
        iframe .mail title=(title) src=(address) sandbox="" referrerpolicy="no-referrer" loading="eager" {}
    }
}

/// The framed document. Pictures that the mail brings along (`cid:`) are shown, others are not.
pub fn document(source: &str, inline: &[Attachment]) -> Response {
    let mut response = Html(with_pictures(disarmed(source), inline)).into_response();
    response.headers_mut().insert("content-security-policy", HeaderValue::from_static(POLICY));
    response
}

/// Elements that connect or navigate by themselves.
const DEAD: [&str; 8] = ["link", "base", "iframe", "frame", "object", "embed", "portal", "fencedframe"];
/// Elements that navigate when somebody clicks.
const CLICKED: [&str; 3] = ["a", "area", "form"];

/// The source with each of [`DEAD`] renamed, and each of [`CLICKED`] aimed at a new window, which the sandbox does not open.
///
/// A browser's tokenizer knows a tag only by `<` directly before its name, so no context can hide one from this; and of two
/// attributes with one name it takes the first.
#[must_use]
pub fn disarmed(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 64);
    let mut rest = source;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at + 1);
        out.push_str(before);
        let length = tag.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (name, after) = tag.split_at(length);
        if DEAD.iter().any(|dead| name.get(..dead.len()).is_some_and(|start| start.eq_ignore_ascii_case(dead))) {
            out.push_str("no-");
        }
        out.push_str(name);
        let ends = after.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        if ends && CLICKED.iter().any(|clicked| name.eq_ignore_ascii_case(clicked)) {
            out.push_str(" target=_blank ");
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn with_pictures(mut source: String, inline: &[Attachment]) -> String {
    let mut files: Vec<_> = inline.iter().collect();
    // A name may begin with another one.
    files.sort_by_key(|file| std::cmp::Reverse(file.name.len()));
    for file in files {
        let mime = file.mime.split(';').next().unwrap_or_default().trim();
        let encoded = file.name.replace('%', "%25").replace(' ', "%20");
        for name in [file.name.as_str(), encoded.as_str()] {
            let reference = format!("cid:{name}");
            if source.contains(&reference) {
                source = source.replace(&reference, &format!("data:{mime};base64,{}", file.content));
            }
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_element_that_connects_is_left_wherever_it_hides() {
        for (source, shown) in [
            ("<LINK rel=preconnect>", "<no-LINK rel=preconnect>"),
            ("<!--<link>--><style></style><lInK/>", "<!--<no-link>--><style></style><no-lInK/>"),
            ("<<link <a>link</a>", "<<no-link <a target=_blank >link</a>"),
            ("<iframe/src=x><FRAMESET><embed\0>", "<no-iframe/src=x><no-FRAMESET><no-embed\0>"),
            ("<A\nhref=x target=_self>", "<A target=_blank \nhref=x target=_self>"),
            ("<address><abbr><a-b><form/action=x>", "<address><abbr><a-b><form target=_blank /action=x>"),
            ("a < b <é <", "a < b <é <"),
        ] {
            assert_eq!(disarmed(source), shown);
        }
    }

    #[test]
    fn pictures_are_put_in_the_longest_name_first() {
        let file = |name: &str, content: &str| Attachment {
            mime: "image/png; x=y".to_owned(),
            name: name.to_owned(),
            content: content.to_owned(),
        };
        let shown = with_pictures(
            "<img src=\"cid:a.png\"><img src='cid:a.png.png'><img src=cid:b%20c.png>".to_owned(),
            &[file("a.png", "AAAA"), file("a.png.png", "BBBB"), file("b c.png", "CCCC")],
        );
        assert_eq!(
            shown,
            "<img src=\"data:image/png;base64,AAAA\"><img src='data:image/png;base64,BBBB'><img src=data:image/png;base64,CCCC>"
        );
    }
}
