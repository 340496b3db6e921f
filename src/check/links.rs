//! Links: where they lead and what one can click on.

use std::collections::BTreeSet;
use std::ops::Range;

use super::active::runs;
use super::address::{Hosts, Target};
use super::findings::{Findings, Places};
use super::markup::{Subject, Tag, Value};
use super::table;
use crate::diagnostic::Diagnostic;
use crate::source::Text;

/// Hosts and paths of the html's links that are kept to look for in the plain text.
const KEPT: usize = 11;

/// So many empty links and no other: nobody forgot one, the design is not wired up yet.
const UNWIRED: usize = 3;

/// What is kept of the links of a body.
#[derive(Debug, Default)]
pub struct Links {
    relative: Places,
    empty: Places,
    /// Links that lead somewhere, or where nobody knows yet.
    leading: usize,
    http: Places,
    textless: Places,
    /// The open link: its place, and whether it has something to click on.
    open: Option<(Range<usize>, bool)>,
    /// Whether there is a way to unsubscribe, or nobody asks for one.
    unsubscribe: bool,
    hosts: Hosts,
    operators: Places,
    /// The first different web addresses.
    pub web: BTreeSet<String>,
    /// The first different addresses that are filled in later, in lower case.
    pub tagged: BTreeSet<String>,
}

impl Subject for Links {
    fn start(&mut self, name: &str, _span: &Range<usize>) {
        if let Some((_, shown)) = &mut self.open {
            *shown |= matches!(name, "v:roundrect" | "v:rect" | "svg");
        }
    }

    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let mut seen = tag.name == "img";
        let href = tag.get("href");
        if let Some(href) = &href
            && matches!(tag.name, "a" | "area")
        {
            self.link(tag, href);
        }
        let named = seen && !tag.value("alt").is_empty() || !tag.value("aria-label").is_empty();
        if let Some((_, shown)) = &mut self.open {
            *shown |= named;
        }
        seen |= named;
        for address in [href, tag.get("src")].into_iter().flatten() {
            seen = true;
            if may_operate(address.value)
                && crate::desired::tags::simple(address.value).tags.iter().any(|tag| tag.operator.is_some())
            {
                self.operators.add(address.span);
            }
        }
        seen
    }

    fn end(&mut self, name: &str, _span: &Range<usize>) {
        if name == "a"
            && let Some((span, false)) = self.open.take()
        {
            self.textless.add(span);
        }
    }

    fn text(&mut self, text: &str, _span: &Range<usize>, raw: &str) {
        if !raw.is_empty() {
            return;
        }
        if let Some((_, clickable @ false)) = &mut self.open {
            *clickable = text.chars().any(|c| !c.is_whitespace());
        }
        self.unsubscribe = self.unsubscribe || has_word(text, "unsubscribe");
    }
}

/// Whether a text may have a merge tag with an operator: nearly no address has.
fn may_operate(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr(b'{', bytes).is_some_and(|at| memchr::memchr2(b'|', b'?', &bytes[at..]).is_some())
}

/// Whether a text has a word in any case, without a copy of the text. The word has its fifth letter only there, and it is looked for by that
/// letter, which is rarer than the first.
fn has_word(text: &str, word: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'b', b'B', bytes).any(|at| {
        let start = at.checked_sub(4);
        let found = start.and_then(|start| bytes.get(start..start + word.len()));
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    })
}

impl Links {
    /// To look at a body.
    #[must_use]
    pub fn new(findings: &Findings<'_>) -> Self {
        Self { unsubscribe: !findings.on(&table::UNSUBSCRIBE_MISSING), ..Self::default() }
    }

    fn link(&mut self, tag: &Tag<'_>, href: &Value<'_>) {
        let (href, span) = (href.value.trim(), href.span.clone());
        self.unsubscribe = self.unsubscribe || has_word(href, "unsub");
        let target = self.hosts.target(href);
        let leads = !matches!(target, Target::Empty | Target::Hostless | Target::Anchor | Target::Other);
        self.leading += usize::from(leads);
        match target {
            // `java&#10;script:` is no address, and `active-content` speaks of it.
            Target::Relative if runs(href) => {}
            Target::Relative | Target::Private | Target::Cid => self.relative.add(span),
            Target::Empty => self.empty.add(tag.span.clone()),
            Target::Hostless => self.empty.add(span),
            Target::Anchor if href == "#" => self.empty.add(span),
            Target::Http | Target::Https => {
                if href.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("http:")) {
                    self.http.add(span);
                }
                if self.web.len() < KEPT && !self.web.contains(href) {
                    self.web.insert(href.to_owned());
                }
            }
            Target::Dynamic if self.tagged.len() < KEPT => {
                self.tagged.insert(href.to_lowercase());
            }
            Target::Anchor | Target::Dynamic | Target::Data | Target::Other => {}
        }
        if tag.name == "a" {
            let labelled = !tag.value("aria-label").is_empty() || !tag.value("title").is_empty();
            self.open = Some((tag.span.clone(), labelled));
        }
    }

    /// Reports what was seen.
    pub fn report(&self, text: &Text, simple: bool, findings: &mut Findings<'_>) {
        findings
            .places(&table::LINK_RELATIVE, text, &self.relative, "this link leads nowhere from a mail")
            .help("write the whole address, `https://…`");
        if let Some(first) = &self.empty.first {
            let finding = Diagnostic::new(&table::LINK_EMPTY, text.at(first.clone()), "this link has no target");
            let unwired = self.leading == 0 && self.empty.count >= UNWIRED;
            let severity = if unwired { findings.note(&table::LINK_EMPTY) } else { table::LINK_EMPTY.severity };
            findings.push(finding.severity(severity).count(self.empty.count));
        }
        findings
            .places(&table::LINK_NO_TEXT, text, &self.textless, "this link has no text and no image with an `alt`")
            .help("say where it leads");
        findings.places(&table::LINK_HTTP, text, &self.http, "this link goes over `http:`");
        if simple {
            let message = "a default or a condition inside of an address breaks it for some recipients";
            findings
                .places(&table::TAG_IN_LINK_OPERATOR, text, &self.operators, message)
                .help("make the whole address one value");
        }
        if !self.unsubscribe {
            let mut whole = Places::default();
            whole.add(0..0);
            findings
                .places(&table::UNSUBSCRIBE_MISSING, text, &whole, "the html has no way to unsubscribe")
                .help("`<a href=\"{{UnsubscribeUrl}}\">`");
        }
    }
}
