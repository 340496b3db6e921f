//! A plan as one self-contained page: every changed mail as it was and as it will be, side by side.
//!
//! The mails are rendered in frames that may run nothing, and the page's policy lets nothing be fetched: what a stranger wrote into a template
//! can neither act nor tell anybody that it was looked at.

use std::collections::BTreeMap;

use base64::Engine as _;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::plan_text::{self, bytes, count, explain, looks_moved, note, sign, thousands, totals, word};
use crate::desired::{Content, Digest, Key, Template};
use crate::limits;
use crate::plan::{Action, Changes, Detail, FileFacts, Part, PartChange, Plan, Segment, Sign, Step};
use crate::sandbox;
use crate::untrusted::Untrusted;

/// Nothing is fetched, nothing runs; pictures and style only from within the page. Frames inherit it.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Light and dark, phone and desktop.
const STYLE: &str = include_str!("plan_html/style.css");

/// Largest page in bytes of mails and pictures; what is beyond is not rendered, and the page says so.
const PAGE_BYTES: usize = 24_000_000;

/// The mails of a page, with the pictures that they use.
#[derive(Debug, Default)]
pub struct Mails {
    mails: BTreeMap<Key, Mail>,
    /// Pictures by digest, as `data:` addresses.
    pictures: BTreeMap<Digest, String>,
    bytes: usize,
    left_out: usize,
}

#[derive(Debug)]
struct Mail {
    old: Option<Content>,
    new: Content,
}

impl Mails {
    /// Takes in a mail as it was, where that is known, and as it will be. Its pictures are read from disk; one that cannot be read is not shown.
    pub fn add(&mut self, key: &Key, old: Option<Content>, new: Template) {
        let size = |html: Option<&String>| html.map_or(0, String::len);
        let bytes = size(new.html.as_ref()) + size(old.as_ref().and_then(|old| old.html.as_ref()));
        if self.bytes + bytes > PAGE_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        for file in &new.inline_attachments {
            let fits = self.bytes + usize::try_from(file.bytes).unwrap_or(usize::MAX) <= PAGE_BYTES;
            if fits && file.mime.starts_with("image/") && !self.pictures.contains_key(&file.digest) {
                let Ok(content) = std::fs::read(&file.file) else { continue };
                let data = base64::engine::general_purpose::STANDARD.encode(&content);
                self.bytes += data.len();
                self.pictures.insert(file.digest, format!("data:{};base64,{data}", Untrusted(&file.mime).html()));
            }
        }
        self.mails.insert(key.clone(), Mail { old, new: Content::from(new) });
    }

    /// The inline pictures that a mail shows and that are not at hand, by name: of a mail as it was only those are that the new one still has.
    fn missing<'a>(&self, content: &'a Content) -> Vec<&'a str> {
        let html = content.html.as_deref().unwrap_or_default();
        let files = content.inline_attachments.iter().filter(|file| !self.pictures.contains_key(&file.digest));
        files.map(|file| file.name.as_str()).filter(|name| html.contains(&format!("cid:{name}"))).collect()
    }

    /// The HTML of a mail with its inline pictures in it. A picture that only the earlier mail has is not at hand.
    fn page(&self, content: &Content) -> Option<String> {
        // No policy governs the connections that a browser opens in advance.
        let mut html = sandbox::disarmed(content.html.as_deref()?);
        let mut files: Vec<_> = content.inline_attachments.iter().collect();
        // `logo.png` must not take the beginning of `logo.png.jpg`.
        files.sort_by_key(|file| std::cmp::Reverse(file.name.len()));
        for file in files {
            if let Some(data) = self.pictures.get(&file.digest) {
                html = html.replace(&format!("cid:{}", file.name), data);
            }
        }
        Some(html)
    }
}

/// Renders the page; `now` is for "two hours ago".
#[must_use]
pub fn render(plan: &Plan, details: &BTreeMap<Key, Detail>, mails: &Mails, now: Timestamp) -> String {
    let title = if plan.is_empty() { "Nothing changes".to_owned() } else { totals(plan) };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (text(&plan.environment)) ": " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.where { "letterpress plan · " strong { (text(&plan.environment)) } }
                    h1 { (title) }
                    p { (summary(plan, now)) }
                    (notes(plan, mails))
                }
                @if plan.steps.len() > 1 { (contents(plan)) }
                main {
                    @for step in plan_text::in_order(plan) { (card(step, details.get(&step.key), mails)) }
                }
                @if !plan.steps.is_empty() && plan.conflicts.is_empty() {
                    footer { "To apply exactly this: " code { "letterpress apply --plan-digest " (plan.digest()) } }
                }
            }
        }
    };
    page.into_string()
}

/// Foreign text, with its controls made visible.
fn text(text: &str) -> PreEscaped<String> {
    PreEscaped(Untrusted(text).html())
}

fn summary(plan: &Plan, now: Timestamp) -> Markup {
    html! {
        (count(plan.unchanged, "template")) " unchanged"
        @if plan.left_out > 0 { ", " (thousands(plan.left_out)) " left out" }
        @if let Some(stamp) = &plan.last_apply {
            "; last applied " (plan_text::ago(stamp.at, now)) " by " (text(&stamp.who))
        }
        "."
    }
}

fn notes(plan: &Plan, mails: &Mails) -> Markup {
    html! {
        @for conflict in &plan.conflicts {
            @let (what, help) = explain(conflict);
            p.note.error { strong { "Error: " } (text(&what)) br; (text(&help)) }
        }
        @if plan.steps.iter().any(|step| matches!(step.action, Action::Create { .. })) {
            p.note {
                "What is created cannot be deleted through the service's interface; "
                (thousands(plan.used)) " of " (thousands(limits::TEMPLATES)) " used afterwards."
            }
        }
        @for (from, to) in looks_moved(plan) {
            p.note {
                code { (text(from)) } " has gone and " code { (text(to)) }
                " has the same content; to keep the id, write " code { "moved_from: " (text(from)) } " into its manifest."
            }
        }
        @if !mails.mails.is_empty() {
            p.dim { "The mails below are shown in frames that run nothing and load nothing: pictures and fonts from the web are missing in them." }
        }
        @if mails.left_out > 0 {
            p.note { (count(mails.left_out, "mail")) " not rendered, so that the page stays within 24 MB; their texts are below." }
        }
    }
}

fn contents(plan: &Plan) -> Markup {
    html! {
        nav aria-label="Templates" {
            ul {
                @for step in plan_text::in_order(plan) {
                    li { a href={ "#" (anchor(&step.key)) } { (badge(&step.action)) " " (text(step.key.as_str())) } }
                }
            }
        }
    }
}

/// An id that no key can spoil.
fn anchor(key: &Key) -> String {
    format!("t-{}", Digest::of(key.as_str().as_bytes()).short())
}

fn badge(action: &Action) -> Markup {
    let (sign, _) = sign(action);
    html! { span class={ "badge " (action.word()) } { (sign) " " (word(action)) } }
}

fn card(step: &Step, detail: Option<&Detail>, mails: &Mails) -> Markup {
    let note = note(&step.action);
    html! {
        article id=(anchor(&step.key)) {
            h2 { (badge(&step.action)) " " code { (text(step.key.as_str())) } }
            @if let Some(name) = &step.name { p.name { (text(name)) } }
            @if !note.is_empty() { p.dim { (text(&note)) } }
            @if let Some(Detail::Unknown) = detail {
                p.dim { "What the service has is not known, so there is nothing to compare with." }
            }
            @if let Some(changes) = detail.and_then(Detail::changes) {
                (fields(changes, matches!(detail, Some(Detail::New(_)))))
            }
            @if let Some(mail) = mails.mails.get(&step.key) { (frames(mail, mails)) }
            @if let Some(changes) = detail.and_then(Detail::changes) {
                @for change in &changes.parts { (part(change)) }
                (files(changes))
            }
        }
    }
}

/// A table of old and new; of a new template, which had nothing, only of what it has.
fn fields(changes: &Changes, is_new: bool) -> Markup {
    let value = |value: &Option<String>| match value.as_deref() {
        None => html! { span.dim { "none" } },
        Some("") => html! { span.dim { "empty" } },
        Some(value) => html! { (text(value)) },
    };
    html! {
        @if !changes.fields.is_empty() {
            div.scroll { table {
                thead { tr { th scope="col" { "Field" } @if !is_new { th scope="col" { "Before" } } th scope="col" { "Now" } } }
                tbody {
                    @for change in &changes.fields {
                        tr { th scope="row" { (text(&change.field)) } @if !is_new { td.old { (value(&change.old)) } } td.new { (value(&change.new)) } }
                    }
                }
            } }
        }
    }
}

fn frames(mail: &Mail, mails: &Mails) -> Markup {
    let (old, new) = (mail.old.as_ref().and_then(|old| mails.page(old)), mails.page(&mail.new));
    let (was, is) = (mail.old.as_ref().map(|old| mails.missing(old)).unwrap_or_default(), mails.missing(&mail.new));
    // A picture that is not at hand may be the one thing that changes.
    let same = old == new && was.is_empty();
    html! {
        @if same && new.is_some() {
            details { summary { "How it looks (as before)" } div.frames { (frame("Before and now", new.as_deref(), &is, NOT_READ)) } }
        } @else if old.is_some() || new.is_some() {
            details open { summary { "How it looks" } div.frames {
                @if mail.old.is_some() { (frame("Before", old.as_deref(), &was, NOT_KEPT)) }
                (frame("Now", new.as_deref(), &is, NOT_READ))
            } }
        }
    }
}

/// Why a picture of a mail as it was is not shown.
const NOT_KEPT: &str = "Changed or gone since, and of files only size and digest are kept. Not shown: ";

/// Why a picture of a mail as it will be is not shown.
const NOT_READ: &str = "Too large for this page, or no picture. Not shown: ";

fn frame(title: &str, page: Option<&str>, missing: &[&str], why: &str) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            @match page {
                Some(page) => iframe sandbox="" loading="lazy" title=(title) srcdoc=(page) {},
                None => p.dim { "no html" },
            }
            @if !missing.is_empty() {
                p.dim.missing { (why) @for (n, name) in missing.iter().enumerate() { @if n > 0 { ", " } code { (text(name)) } } }
            }
        }
    }
}

fn part(change: &PartChange) -> Markup {
    let size = |size: Option<usize>| size.map_or_else(|| "none".to_owned(), |size| bytes(size as u64));
    let (removed, added) = change.lines();
    html! {
        h3 { (change.part.word()) " " span.dim { (size(change.old_bytes)) " → " (size(change.new_bytes)) } }
        @if change.part == Part::Amp {
            p.dim { "Not rendered: AMP shows nothing before its scripts have run, and nothing runs in this page. A reader without AMP sees the html part." }
        }
        @if change.not_compared { p.dim { "Too large to compare line by line." } }
        @else {
            // Of a plain text, the source is the words.
            @if change.part != Part::Plaintext {
                @if change.words.is_empty() { p.dim { "No word that a reader sees changes." } }
                @for sentence in &change.words {
                    p.words {
                        @for segment in &sentence.0 {
                            @match segment {
                                Segment::Same(words) => (text(words)),
                                Segment::Old(words) => del { (text(words)) },
                                Segment::New(words) => ins { (text(words)) },
                            }
                        }
                    }
                }
            }
            details open[change.part == Part::Plaintext] {
                summary { "Source: " (added) " added, " (removed) " removed" }
                pre {
                    @for hunk in &change.source {
                        span.hunk { (hunk.header()) "\n" }
                        @for line in &hunk.lines {
                            span class=(class(line.sign)) { (line.sign.char()) (text(&line.text)) "\n" }
                        }
                    }
                }
            }
        }
    }
}

fn class(sign: Sign) -> &'static str {
    match sign {
        Sign::Same => "same",
        Sign::Old => "old",
        Sign::New => "new",
    }
}

fn files(changes: &Changes) -> Markup {
    let facts = |facts: &FileFacts| html! { (bytes(facts.bytes)) " " code { (&facts.digest[..12]) } };
    html! {
        @if !changes.files.is_empty() {
            h3 { "Files" }
            ul.files {
                @for change in &changes.files {
                    li {
                        code { (text(&change.name)) } @if change.inline { " (inline)" } ": "
                        @match (&change.old, &change.new) {
                            (Some(old), Some(new)) => { (facts(old)) " → " (facts(new)) },
                            (None, Some(new)) => { "added, " (facts(new)) },
                            (Some(old), None) => { "removed, was " (facts(old)) },
                            (None, None) => {},
                        }
                    }
                }
            }
        }
    }
}
