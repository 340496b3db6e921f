//! The AMP part, checked as data. Where Google's own validator says PASS, nothing here is an error.

use std::collections::BTreeSet;
use std::ops::Range;

use super::address::Target;
use super::findings::{Findings, Places};
use super::markup::{self, Subject, Tag};
use super::table;
use crate::diagnostic::{Diagnostic, Location};
use crate::source::Text;

const DOCUMENT_BYTES: usize = 200_000;
const CUSTOM_BYTES: usize = 75_000;
const INLINE_BYTES: usize = 1_000;
const RUNTIME: &str = "https://cdn.ampproject.org/v0.js";
/// Elements that AMP for Email has nowhere.
const DISALLOWED: [&str; 15] = [
    "applet",
    "audio",
    "base",
    "embed",
    "frame",
    "frameset",
    "iframe",
    "img",
    "link",
    "object",
    "param",
    "picture",
    "video",
    "amp-ad",
    "amp-iframe",
];
/// Components that mails may have and that need a script of their own.
const EXTENSIONS: [&str; 15] = [
    "amp-accordion",
    "amp-anim",
    "amp-autocomplete",
    "amp-bind",
    "amp-carousel",
    "amp-fit-text",
    "amp-form",
    "amp-image-lightbox",
    "amp-lightbox",
    "amp-list",
    "amp-mustache",
    "amp-selector",
    "amp-sidebar",
    "amp-timeago",
    "amp-date-display",
];
/// Components that come with the runtime, or with another one.
const BUILT_IN: [&str; 4] = ["amp-img", "amp-layout", "amp-pixel", "amp-state"];

#[derive(Debug, Default)]
struct Amp {
    doctype: bool,
    html: Option<Range<usize>>,
    strict: bool,
    head: bool,
    body: bool,
    charset: bool,
    runtime: bool,
    boilerplate: bool,
    in_custom: bool,
    custom: usize,
    custom_at: Places,
    inline: Places,
    disallowed: Places,
    what: String,
    scripts: BTreeSet<String>,
    used: Vec<(String, Range<usize>)>,
    urls: Places,
}

/// Checks an AMP body.
pub fn check(text: &Text, findings: &mut Findings<'_>) {
    let mut amp = Amp::default();
    markup::read(&text.sent, &mut amp);
    amp.report(text, findings);
}

impl Subject for Amp {
    fn doctype(&mut self, _span: &Range<usize>) {
        self.doctype = true;
    }

    fn start(&mut self, tag: &Tag<'_>) {
        self.in_custom = false;
        match tag.name {
            "html" => {
                let marks = ["⚡4email", "amp4email", "\u{26a1}\u{fe0f}4email"];
                if marks.iter().any(|mark| tag.has(mark)) {
                    self.html = Some(tag.span.clone());
                }
                self.strict = tag.has("data-css-strict");
            }
            "head" => self.head = true,
            "body" => self.body = true,
            "meta" => self.charset |= tag.value("charset").eq_ignore_ascii_case("utf-8"),
            "style" => {
                self.boilerplate |= tag.has("amp4email-boilerplate");
                self.in_custom = tag.has("amp-custom");
                if self.in_custom {
                    self.custom_at.add(tag.span.clone());
                }
            }
            "script" => self.script(tag),
            _ => {}
        }
        if DISALLOWED.contains(&tag.name) {
            self.refuse(tag.span.clone(), || format!("`<{}>`", tag.name));
        }
        self.component(tag);
        for attribute in tag.attributes() {
            let handler = attribute.name.len() > 2
                && attribute.name.starts_with("on")
                && attribute.name.bytes().all(|byte| byte.is_ascii_alphabetic());
            if handler {
                self.refuse(attribute.span.clone(), || format!("the attribute `{}`", attribute.name));
            }
            if attribute.name == "style" && attribute.value.len() > INLINE_BYTES {
                self.inline.add(attribute.span.clone());
            }
            self.address(tag.name, attribute.name, attribute.value, attribute.span);
        }
    }

    fn text(&mut self, text: &str, _span: &Range<usize>, raw: &str) {
        if raw == "style" && self.in_custom {
            self.custom += text.len();
        }
    }
}

impl Amp {
    fn script(&mut self, tag: &Tag<'_>) {
        let extension = [tag.value("custom-element"), tag.value("custom-template")];
        if let Some(name) = extension.into_iter().find(|name| !name.is_empty()) {
            self.scripts.insert(name.to_owned());
            if !EXTENSIONS.contains(&name) {
                self.used.push((name.to_owned(), tag.span.clone()));
            }
        } else if tag.value("src") == RUNTIME {
            self.runtime = true;
        } else if !tag.value("type").ends_with("json") && tag.value("type") != "text/plain" {
            self.refuse(tag.span.clone(), || "a `<script>` that is not AMP's".to_owned());
        }
    }

    fn component(&mut self, tag: &Tag<'_>) {
        let needs = match tag.name {
            "form" => "amp-form",
            "template" if tag.value("type") == "amp-mustache" => "amp-mustache",
            "amp-state" => "amp-bind",
            name if name.starts_with("amp-") && !BUILT_IN.contains(&name) && !DISALLOWED.contains(&name) => name,
            _ => return,
        };
        if self.used.len() < 1_000 {
            self.used.push((needs.to_owned(), tag.span.clone()));
        }
    }

    fn address(&mut self, element: &str, attribute: &str, value: &str, span: Range<usize>) {
        let loads = matches!((element, attribute), ("amp-img" | "amp-anim" | "amp-list" | "amp-state", "src"))
            || matches!(attribute, "action-xhr");
        let bad = match (Target::of(value), loads) {
            (Target::Https | Target::Dynamic, _) => false,
            (_, true) => true,
            (Target::Relative | Target::Private, false) => element == "a" && attribute == "href",
            _ => false,
        };
        if bad {
            self.urls.add(span);
        }
    }

    fn refuse(&mut self, span: Range<usize>, what: impl FnOnce() -> String) {
        if self.disallowed.is_empty() {
            self.what = what();
        }
        self.disallowed.add(span);
    }

    fn report(self, text: &Text, findings: &mut Findings<'_>) {
        let lacks = [
            (self.doctype, "`<!doctype html>`"),
            (self.html.is_some(), "`<html ⚡4email>`"),
            (self.head, "`<head>`"),
            (self.charset, "`<meta charset=\"utf-8\">`"),
            (self.runtime, "the script `https://cdn.ampproject.org/v0.js`"),
            (self.boilerplate, "`<style amp4email-boilerplate>body{visibility:hidden}</style>`"),
            (self.body, "`<body>`"),
        ];
        let missing: Vec<&str> = lacks.iter().filter(|(there, _)| !there).map(|(_, what)| *what).collect();
        if !missing.is_empty() {
            let message = format!("the AMP part lacks {}", missing.join(", "));
            findings.push(Diagnostic::new(&table::AMP_SKELETON, Location::whole(text.path.clone()), message));
        }
        let size = text.sent.len();
        if size > DOCUMENT_BYTES {
            let message = format!("the AMP part is {size} bytes, and at most {DOCUMENT_BYTES} are allowed");
            let finding = Diagnostic::new(&table::AMP_SIZE, Location::whole(text.path.clone()), message);
            findings.push(finding.limit(size, DOCUMENT_BYTES));
        } else if self.custom > CUSTOM_BYTES {
            let message = format!("`amp-custom` is {} bytes, and at most {CUSTOM_BYTES} are allowed", self.custom);
            findings.places(&table::AMP_SIZE, text, &self.custom_at, message).limit(self.custom, CUSTOM_BYTES);
        } else {
            let message = format!("an inline style has at most {INLINE_BYTES} bytes");
            findings.places(&table::AMP_SIZE, text, &self.inline, message);
        }
        let message = format!("AMP for Email does not allow {}", self.what);
        findings.places(&table::AMP_DISALLOWED, text, &self.disallowed, message);
        let mut extensions = Places::default();
        let mut message = String::new();
        for (name, span) in &self.used {
            let known = EXTENSIONS.contains(&name.as_str());
            if known && self.scripts.contains(name) {
                continue;
            }
            if extensions.is_empty() {
                message = if known {
                    format!("`{name}` needs its script in the head")
                } else {
                    format!("AMP for Email has no component `{name}`")
                };
            }
            extensions.add(span.clone());
        }
        findings.places(&table::AMP_EXTENSION, text, &extensions, message);
        let message = "AMP for Email takes only absolute `https:` addresses here";
        findings.places(&table::AMP_URL, text, &self.urls, message);
        if let (Some(html), false) = (self.html, self.strict) {
            let mut place = Places::default();
            place.add(html);
            findings
                .places(&table::AMP_CSS_STRICT, text, &place, "styles are not checked strictly")
                .help("`<html ⚡4email data-css-strict>`");
        }
    }
}
