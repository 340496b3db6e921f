//! Active content: every client removes it, and filters take the mail for an attack. No false alarm is allowed here.

use std::ops::Range;

use super::findings::{Findings, Places};
use super::markup::{self, Subject, Tag};
use super::table;
use crate::source::Text;

/// Attributes that hold an address.
const ADDRESSES: [&str; 6] = ["href", "src", "action", "formaction", "background", "xlink:href"];
/// Attributes that run code. A list, since other attributes start with `on`, too.
const HANDLERS: [&str; 40] = [
    "onabort",
    "onbeforeunload",
    "onblur",
    "oncanplay",
    "onchange",
    "onclick",
    "oncontextmenu",
    "oncopy",
    "oncut",
    "ondblclick",
    "ondrag",
    "ondrop",
    "onended",
    "onerror",
    "onfocus",
    "onfocusin",
    "onfocusout",
    "onhashchange",
    "oninput",
    "oninvalid",
    "onkeydown",
    "onkeypress",
    "onkeyup",
    "onload",
    "onmousedown",
    "onmouseenter",
    "onmouseleave",
    "onmousemove",
    "onmouseout",
    "onmouseover",
    "onmouseup",
    "onpageshow",
    "onpaste",
    "onpointerdown",
    "onreset",
    "onresize",
    "onscroll",
    "onselect",
    "onsubmit",
    "ontoggle",
];

/// What is kept: the first active thing of each sort.
#[derive(Debug, Default)]
pub struct Active {
    places: Places,
    what: String,
    crowded: Places,
}

impl Subject for Active {
    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let before = self.places.count;
        let element = matches!(tag.name, "script" | "iframe" | "frame" | "object" | "embed" | "applet");
        // JSON-LD is data that some mailboxes read.
        let data = tag.name == "script" && tag.value("type").to_ascii_lowercase().ends_with("json");
        if element && !data {
            self.found(tag.span.clone(), || format!("`<{}>`", tag.name));
        }
        if tag.name == "meta" && tag.value("http-equiv").eq_ignore_ascii_case("refresh") {
            self.found(tag.span.clone(), || "`<meta http-equiv=\"refresh\">`".to_owned());
        }
        let crowded = tag.crowded();
        if let Some(place) = &crowded {
            self.crowded.add(place.clone());
        }
        for attribute in tag.attributes() {
            if tag.may_run() && HANDLERS.contains(&attribute.name) {
                self.found(attribute.span, || format!("`{}`", attribute.name));
            } else if runs(attribute.value) && ADDRESSES.contains(&attribute.name) {
                self.found(attribute.span, || "a `javascript:` address".to_owned());
            }
        }
        self.places.count > before || crowded.is_some()
    }
}

/// Whether an address runs code: clients drop blanks and control characters before they look.
pub fn runs(address: &str) -> bool {
    // `https:` and the like, which nearly all are.
    let other = |first: &u8| first.is_ascii_graphic() && !matches!(first, b'j' | b'J' | b'v' | b'V');
    if address.as_bytes().first().is_none_or(other) {
        return false;
    }
    let starts = |scheme: &str| {
        let mut bare = address.chars().filter(|c| !c.is_whitespace() && !c.is_control());
        scheme.chars().all(|wanted| bare.next().is_some_and(|c| c.to_ascii_lowercase() == wanted))
    };
    starts("javascript:") || starts("vbscript:")
}

impl Active {
    fn found(&mut self, span: Range<usize>, what: impl FnOnce() -> String) {
        if self.places.is_empty() {
            self.what = what();
        }
        self.places.add(span);
    }

    /// Reports what was seen.
    pub fn report(self, text: &Text, findings: &mut Findings<'_>) {
        let message = format_args!("mail clients remove {}, and filters take the mail for an attack", self.what);
        findings.places(&table::ACTIVE_CONTENT, text, &self.places, message).help("remove it; link to a page instead");
        findings
            .places(&table::ACTIVE_CONTENT, text, &self.crowded, markup::crowded())
            .help("no mail needs as many; remove those that do nothing");
    }
}
