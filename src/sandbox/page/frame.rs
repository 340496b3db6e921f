//! Showing HTML of strangers (safety P17): it runs nothing, loads nothing, calls nobody.
//!
//! Each measure alone would do for most of it: the `sandbox` attribute of the frame, the `sandbox` directive of the answer (for whoever opens the address by itself), a policy
//! that loads nothing but `data:` pictures and inline style, `frame-src 'self'` of the page around it (a link cannot lead the frame elsewhere), and, since no policy governs
//! `<link rel=preconnect>`, no `<link>` at all.

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
    let mut response = Html(with_pictures(without_links(source), inline)).into_response();
    response.headers_mut().insert("content-security-policy", HeaderValue::from_static(POLICY));
    response
}

/// Every `<link` becomes the unknown element `<no-link`. A browser's tokenizer knows a tag only by `<` directly before its name, so no
/// context can hide one from this.
fn without_links(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at + 1);
        out.push_str(before);
        if tag.as_bytes().get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"link")) {
            out.push_str("no-");
        }
        rest = tag;
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
    fn no_link_element_is_left_wherever_it_hides() {
        let source = "<LINK rel=preconnect><!--<link>--><style></style><lInK/><a>link</a><<link";
        assert_eq!(
            without_links(source),
            "<no-LINK rel=preconnect><!--<no-link>--><style></style><no-lInK/><a>link</a><<no-link"
        );
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
