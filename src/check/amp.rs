//! The AMP part, checked as data. Where Google's own validator says PASS, nothing here is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::address::Target;
use super::findings::{Findings, Places};
use super::markup::{self, Subject, Tag};
use super::table;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::source::Text;

const DOCUMENT_BYTES: usize = 200_000;
const CUSTOM_BYTES: usize = 75_000;
/// Components that are kept in mind; a hostile body has millions.
const COMPONENTS: usize = 1_000;
const INLINE_BYTES: usize = 1_000;
const RUNTIME: &str = "https://cdn.ampproject.org/v0.js";
/// Elements that AMP for Email has nowhere. Those that a browser drops in a body (`frame`, `frameset`) do no harm.
const DISALLOWED: &[&str] = &[
    "acronym",
    "amp-ad",
    "amp-iframe",
    "amp-pixel",
    "applet",
    "area",
    "audio",
    "base",
    "basefont",
    "bdi",
    "bgsound",
    "big",
    "blink",
    "canvas",
    "center",
    "command",
    "content",
    "dialog",
    "dir",
    "embed",
    "font",
    "hgroup",
    "iframe",
    "img",
    "isindex",
    "keygen",
    "link",
    "listing",
    "map",
    "marquee",
    "math",
    "menu",
    "menuitem",
    "multicol",
    "nextid",
    "nobr",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "param",
    "picture",
    "plaintext",
    "rtc",
    "shadow",
    "slot",
    "source",
    "spacer",
    "strike",
    "svg",
    "track",
    "tt",
    "video",
    "xmp",
];
/// Components that mails may have and that need a script of their own.
const EXTENSIONS: [&str; 14] = [
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
];
/// Components that come with the runtime, or with another one.
const BUILT_IN: [&str; 3] = ["amp-img", "amp-layout", "amp-state"];
/// Components whose script may not stand there for nothing.
const NOT_FOR_NOTHING: [&str; 8] = [
    "amp-anim",
    "amp-autocomplete",
    "amp-carousel",
    "amp-image-lightbox",
    "amp-lightbox",
    "amp-list",
    "amp-sidebar",
    "amp-timeago",
];

#[derive(Debug, Default)]
struct Amp {
    doctype: bool,
    html: Option<Range<usize>>,
    strict: bool,
    body: bool,
    charset: bool,
    runtime: bool,
    boilerplate: bool,
    in_custom: bool,
    custom: usize,
    custom_at: Places,
    inline: Places,
    inline_bytes: usize,
    disallowed: Places,
    what: String,
    crowded: Places,
    scripts: BTreeMap<String, Range<usize>>,
    used: Vec<(String, Range<usize>)>,
    urls: Places,
    links: Places,
    private: Places,
}

/// Checks an AMP body.
pub fn check(text: &Text, findings: &mut Findings<'_>) {
    let mut amp = Amp::default();
    markup::read(&text.sent, text.controls, &mut amp);
    amp.report(text, findings);
}

impl Subject for Amp {
    fn doctype(&mut self, _span: &Range<usize>) {
        self.doctype = true;
    }

    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        self.in_custom = false;
        match tag.name {
            "html" => {
                let marks = ["⚡4email", "amp4email", "\u{26a1}\u{fe0f}4email"];
                if marks.iter().any(|mark| tag.has(mark)) {
                    self.html = Some(tag.span.clone());
                }
                self.strict = tag.has("data-css-strict");
            }
            "body" => self.body = true,
            "meta" => self.meta(tag),
            "style" => {
                self.boilerplate |= tag.has("amp4email-boilerplate");
                self.in_custom = tag.has("amp-custom");
                if self.in_custom {
                    self.custom_at.add(tag.span.clone());
                } else if !tag.has("amp4email-boilerplate") {
                    self.refuse(tag.span.clone(), || "a `<style>` that is not `amp-custom`".to_owned());
                }
            }
            "script" => self.script(tag),
            _ => {}
        }
        let foreign = tag.name.contains(':') || (tag.name.contains('-') && !tag.name.starts_with("amp-"));
        if foreign || DISALLOWED.contains(&tag.name) {
            self.refuse(tag.span.clone(), || format!("`<{}>`", tag.name));
        }
        self.component(tag);
        if let Some(place) = tag.crowded() {
            self.crowded.add(place);
        }
        for attribute in tag.attributes() {
            let handler = attribute.name.len() > 2
                && attribute.name.starts_with("on")
                && attribute.name.bytes().all(|byte| byte.is_ascii_alphabetic());
            if handler {
                self.refuse(attribute.span.clone(), || format!("the attribute `{}`", attribute.name));
            }
            if attribute.name == "style" {
                self.inline_bytes += attribute.value.len();
                if attribute.value.len() > INLINE_BYTES {
                    self.inline.add(attribute.span.clone());
                }
                if important(attribute.value).is_some() {
                    self.refuse(attribute.span.clone(), || "`!important`".to_owned());
                }
            }
            self.address(tag.name, attribute.name, attribute.value, attribute.span);
        }
        true
    }

    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        if raw == "style" && self.in_custom {
            self.custom += text.len();
            if let Some(found) = important(text).filter(|_| text.len() == span.len()) {
                let at = span.start + found.start..span.start + found.end;
                self.refuse(at, || "`!important`".to_owned());
            }
        }
    }
}

/// The first `!important` of some CSS, not in a comment or a text.
fn important(css: &str) -> Option<Range<usize>> {
    let mut at = 0;
    while let Some(next) = css.get(at..)?.find(['!', '/', '"', '\'']) {
        at += next;
        let rest = css.get(at + 1..)?;
        match css.as_bytes().get(at)? {
            b'!' if rest.trim_start().get(..9).is_some_and(|word| word.eq_ignore_ascii_case("important")) => {
                return Some(at..css.len() - rest.trim_start().len() + 9);
            }
            b'/' if rest.starts_with('*') => at += rest.find("*/")? + 2,
            b'"' => at += rest.find(['"', '\n'])? + 1,
            b'\'' => at += rest.find(['\'', '\n'])? + 1,
            _ => {}
        }
        at += 1;
    }
    None
}

impl Amp {
    fn meta(&mut self, tag: &Tag<'_>) {
        self.charset |= tag.value("charset").eq_ignore_ascii_case("utf-8");
        if tag.has("http-equiv") {
            self.refuse(tag.span.clone(), || "`<meta http-equiv>`".to_owned());
        } else if tag.value("name").eq_ignore_ascii_case("viewport") {
            self.refuse(tag.span.clone(), || "`<meta name=\"viewport\">`".to_owned());
        }
    }

    fn script(&mut self, tag: &Tag<'_>) {
        let extension = [tag.value("custom-element"), tag.value("custom-template")];
        if let Some(name) = extension.into_iter().find(|name| !name.is_empty()) {
            if self.scripts.len() < COMPONENTS {
                self.scripts.entry(name.to_owned()).or_insert_with(|| tag.span.clone());
            }
            if !EXTENSIONS.contains(&name) && self.used.len() < COMPONENTS {
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
        if self.used.len() < COMPONENTS {
            self.used.push((needs.to_owned(), tag.span.clone()));
        }
    }

    fn address(&mut self, element: &str, attribute: &str, value: &str, span: Range<usize>) {
        let loads = matches!((element, attribute), ("amp-img" | "amp-anim" | "amp-list" | "amp-state", "src"))
            || matches!(attribute, "action-xhr");
        let links = element == "a" && attribute == "href";
        let scheme = |names: &[&str]| {
            let found = value.trim().split_once(':').map_or("", |(scheme, _)| scheme);
            names.iter().any(|name| found.eq_ignore_ascii_case(name))
        };
        let allowed = match Target::of(value) {
            _ if !loads && !links => return,
            // The validator asks for no host.
            Target::Https | Target::Hostless | Target::Dynamic => true,
            // The validator asks for the form only; a reader cannot reach it.
            Target::Private if scheme(&["https"]) || (links && scheme(&["http"])) => {
                self.private.add(span.clone());
                true
            }
            Target::Http => links,
            Target::Other => links && scheme(&["mailto", "tel"]),
            Target::Empty | Target::Anchor | Target::Cid | Target::Data | Target::Private | Target::Relative => false,
        };
        if !allowed {
            let places = if links { &mut self.links } else { &mut self.urls };
            places.add(span);
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
        } else if self.custom + self.inline_bytes > CUSTOM_BYTES {
            let size = self.custom + self.inline_bytes;
            let message =
                format!("`amp-custom` and all inline styles are {size} bytes, and at most {CUSTOM_BYTES} are allowed");
            let finding = Diagnostic::new(&table::AMP_SIZE, Location::whole(text.path.clone()), message);
            findings.push(finding.limit(size, CUSTOM_BYTES));
        } else {
            let message = format_args!("an inline style has at most {INLINE_BYTES} bytes");
            findings.places(&table::AMP_SIZE, text, &self.inline, message);
        }
        let message = format_args!("AMP for Email does not allow {}", self.what);
        findings.places(&table::AMP_DISALLOWED, text, &self.disallowed, message);
        if let Some(first) = &self.crowded.first {
            let finding = Diagnostic::new(&table::AMP_DISALLOWED, text.at(first.clone()), markup::crowded());
            // Google's validator has no such limit.
            findings.push(finding.severity(Severity::Warn).count(self.crowded.count));
        }
        self.extensions(text, findings);
        let message = "AMP for Email takes only absolute `https:` addresses here";
        findings.places(&table::AMP_URL, text, &self.urls, message);
        if self.urls.is_empty() {
            let message = "a link of an AMP part is an absolute `https:` or `http:` address, `mailto:` or `tel:`";
            findings.places(&table::AMP_URL, text, &self.links, message);
        }
        if let (Some(first), true) = (&self.private.first, self.urls.is_empty() && self.links.is_empty()) {
            let finding = Diagnostic::new(&table::AMP_URL, text.at(first.clone()), "no reader can reach this address");
            findings.push(finding.severity(Severity::Warn).count(self.private.count));
        }
        if let (Some(html), false) = (self.html, self.strict) {
            let mut place = Places::default();
            place.add(html);
            findings
                .places(&table::AMP_CSS_STRICT, text, &place, "styles are not checked strictly")
                .help("`<html ⚡4email data-css-strict>`");
        }
    }

    /// Components without their script, scripts without their component, and what no mail can have.
    fn extensions(&self, text: &Text, findings: &mut Findings<'_>) {
        let mut places = Places::default();
        let mut message = String::new();
        let mut add = |span: &Range<usize>, say: &dyn Fn() -> String| {
            if places.is_empty() {
                message = say();
            }
            places.add(span.clone());
        };
        for (name, span) in &self.used {
            if !EXTENSIONS.contains(&name.as_str()) {
                add(span, &|| format!("AMP for Email has no component `{name}`"));
            } else if !self.scripts.contains_key(name) {
                add(span, &|| format!("`{name}` needs its script in the head"));
            }
        }
        let used: BTreeSet<&str> = self.used.iter().map(|(name, _)| name.as_str()).collect();
        for (name, span) in &self.scripts {
            if NOT_FOR_NOTHING.contains(&name.as_str()) && !used.contains(name.as_str()) {
                add(span, &|| format!("the script of `{name}` is there, and no `<{name}>`"));
            }
        }
        findings.places(&table::AMP_EXTENSION, text, &places, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn important_is_found_where_it_counts() {
        for (css, expected) in [
            ("p{color:red !important}", Some(12..22)),
            ("p{color:red ! IMPORTANT}", Some(12..23)),
            ("p{color:red}", None),
            ("/* !important */p{}", None),
            ("p::after{content:'!important'}", None),
            ("p::after{content:'a' !important}", Some(21..31)),
            ("/* !important", None),
            ("'!important", None),
            ("!é", None),
        ] {
            assert_eq!(important(css), expected, "{css}");
        }
    }
}
