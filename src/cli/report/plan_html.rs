//! A plan as one self-contained page: every changed mail as it was and as it will be, side by side.
//!
//! The mails are rendered in frames that may run nothing, and the page's policy lets nothing be fetched: what a stranger wrote into a template
//! can neither act nor tell anybody that it was looked at.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::plan_text::{self, bytes, count, explain, looks_moved, note, sign, sizes, thousands, totals, word};
use crate::cli::plan::compare::Compared;
use crate::desired::{Attachment, Content, Digest, Key};
use crate::limits;
use crate::plan::{Action, Changes, Detail, FileFacts, Part, PartChange, Plan, Segment, Sign, Step};
use crate::sandbox;
use crate::untrusted::Untrusted;

/// Nothing is fetched, nothing runs; pictures and style only from within the page. Frames inherit it.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Light and dark, phone and desktop.
const STYLE: &str = include_str!("plan_html/style.css");

/// Most bytes of mails and pictures in a page; a mail beyond is not rendered, and the page says so.
const PAGE_BYTES: usize = 24_000_000;

/// With more templates than this, lists and mails are folded.
const LONG: usize = 20;

/// What a page still takes of mails and pictures.
#[derive(Debug)]
pub struct Room(AtomicUsize);

impl Default for Room {
    fn default() -> Self {
        Self(AtomicUsize::new(PAGE_BYTES))
    }
}

impl Room {
    fn has(&self, bytes: usize) -> bool {
        self.0.load(Ordering::Relaxed) >= bytes
    }

    fn take(&self, bytes: usize) -> bool {
        self.has(bytes) && self.0.fetch_sub(bytes, Ordering::Relaxed) >= bytes
    }
}

/// One template of the page. Whether its mail is shown is certain only when all cards before it have their place.
#[derive(Debug)]
pub struct Card {
    before: String,
    mail: Mail,
    after: String,
}

#[derive(Debug)]
enum Mail {
    /// Nothing is known of it, or it has no html.
    None,
    /// It will not fit.
    TooLarge,
    Rendered {
        bytes: usize,
        frames: String,
    },
}

impl Card {
    /// Gives it its place in the page, after all cards before it; counts it where the page has no room left for its mail.
    #[must_use]
    pub fn place(self, room: &Room, left_out: &mut usize) -> String {
        let mail = match self.mail {
            Mail::None => String::new(),
            Mail::Rendered { bytes, frames } if room.take(bytes) => frames,
            Mail::Rendered { .. } | Mail::TooLarge => {
                *left_out += 1;
                html! { p.dim { "Not rendered, so that the page stays within 24 MB." } }.into_string()
            }
        };
        self.before + &mail + &self.after
    }
}

/// The page up to its first card; `now` is for "two hours ago".
#[must_use]
pub fn head(plan: &Plan, with_mails: bool, now: Timestamp) -> String {
    let title = if plan.is_empty() { "Nothing changes".to_owned() } else { totals(plan) };
    let page = html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (text(&plan.environment)) ": " (title) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("<body>"))
        header {
            p.where { "letterpress plan · " strong { (text(&plan.environment)) } }
            h1 { (title) }
            p { (summary(plan, now)) }
            (notes(plan, with_mails))
        }
        @if plan.steps.len() > 1 { (contents(plan)) }
        (PreEscaped("<main>"))
    };
    page.into_string()
}

/// The page after its last card.
#[must_use]
pub fn tail(plan: &Plan, left_out: usize) -> String {
    let page = html! {
        (PreEscaped("</main>"))
        @if left_out > 0 {
            p.note { (count(left_out, "mail")) " not rendered, so that the page stays within 24 MB; their texts are above." }
        }
        @if !plan.steps.is_empty() && plan.conflicts.is_empty() {
            footer { "To apply exactly this: " code { "letterpress apply --plan-digest " (plan.digest()) } }
        }
        (PreEscaped("</body></html>"))
    };
    page.into_string()
}

/// The end of a page whose other cards could not be made.
#[must_use]
pub fn broken(why: &str) -> String {
    let page = html! {
        p.note.error { strong { "Error: " } "this page ends here: " (text(why)) }
        (PreEscaped("</main></body></html>"))
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

fn notes(plan: &Plan, with_mails: bool) -> Markup {
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
        @if with_mails {
            p.dim { "The mails below are shown in frames that run nothing and load nothing: pictures and fonts from the web are missing in them." }
        }
    }
}

/// A list for each thing that happens.
fn contents(plan: &Plan) -> Markup {
    html! {
        nav aria-label="Templates" {
            @for word in plan_text::WORDS {
                @let steps = plan.steps.iter().filter(|step| plan_text::word(&step.action) == word).collect::<Vec<_>>();
                @if let Some(first) = steps.first() {
                    details open[!is_long(plan)] {
                        summary { (badge(&first.action)) " " (count(steps.len(), "template")) }
                        ul { @for step in &steps { li { a href={ "#" (anchor(&step.key)) } { (text(step.key.as_str())) } } } }
                    }
                }
            }
        }
    }
}

/// Whether there is so much to see that the reader opens what is of interest.
#[must_use]
pub fn is_long(plan: &Plan) -> bool {
    plan.steps.len() > LONG
}

/// An id that no key can spoil.
fn anchor(key: &Key) -> String {
    format!("t-{}", Digest::of(key.as_str().as_bytes()).short())
}

fn badge(action: &Action) -> Markup {
    let (sign, _) = sign(action);
    html! { span class={ "badge " (action.word()) } { (sign) " " (word(action)) } }
}

/// The card of one step; `is_folded`: its mail shows when it is asked for.
#[must_use]
pub fn card(step: &Step, compared: &Compared, room: &Room, is_folded: bool) -> Card {
    let (note, detail) = (note(&step.action), compared.detail.as_ref());
    let changes = detail.and_then(Detail::changes);
    let before = html! {
        (PreEscaped(format!("<article id=\"{}\">", anchor(&step.key))))
        h2 { (badge(&step.action)) " " code { (text(step.key.as_str())) } }
        @if let Some(name) = &step.name { p.name { (text(name)) } }
        @if !note.is_empty() { p.dim { (text(&note)) } }
        @if let Some(Detail::Unknown) = detail {
            p.dim { "What the service has is not known, so there is nothing to compare with." }
        }
        @if let Some(changes) = changes { (fields(changes, matches!(detail, Some(Detail::New(_))))) }
    };
    let after = html! {
        @if let Some(changes) = changes {
            @for change in &changes.parts { (part(change)) }
            (files(changes))
        }
        (PreEscaped("</article>"))
    };
    Card { before: before.into_string(), mail: mail(compared, room, is_folded), after: after.into_string() }
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

/// A mail as it was, where that is known, and as it will be.
fn mail(compared: &Compared, room: &Room, is_folded: bool) -> Mail {
    let Some(new) = &compared.new else { return Mail::None };
    let html = |content: &Content| content.html.as_ref().map_or(0, String::len);
    if !room.has(html(new) + compared.old.as_ref().map_or(0, html)) {
        return Mail::TooLarge;
    }
    let pictures = Pictures::read(&compared.inline);
    let (old, new) = (compared.old.as_ref().map(|old| pictures.view(old)), pictures.view(new));
    let was = old.as_ref().and_then(|old| old.page.as_deref());
    let Some(bytes) = was.map(str::len).into_iter().chain(new.page.as_ref().map(String::len)).reduce(|a, b| a + b)
    else {
        return Mail::None;
    };
    // A picture that is not at hand may be the one thing that changes.
    let same = was == new.page.as_deref() && old.as_ref().is_none_or(|old| old.missing.is_empty());
    let frames = html! {
        @if same {
            details { summary { "How it looks (as before)" } div.frames { (frame("Before and now", &new, NOT_READ)) } }
        } @else {
            details open[!is_folded] { summary { "How it looks" } div.frames {
                @if let Some(old) = &old { (frame("Before", old, NOT_KEPT)) }
                (frame("Now", &new, NOT_READ))
            } }
        }
    };
    Mail::Rendered { bytes, frames: frames.into_string() }
}

/// The inline pictures of a template as its files are now: by digest, as `data:` addresses.
struct Pictures(BTreeMap<Digest, String>);

/// A mail with its pictures in it, and the names of those that it shows and that are not at hand.
struct View<'a> {
    page: Option<String>,
    missing: Vec<&'a str>,
}

impl Pictures {
    /// One that cannot be read is not shown.
    fn read(files: &[Attachment]) -> Self {
        let pictures = files.iter().filter(|file| file.mime.starts_with("image/"));
        Self(
            pictures
                .filter_map(|file| {
                    let data = base64::engine::general_purpose::STANDARD.encode(std::fs::read(&file.file).ok()?);
                    Some((file.digest, format!("data:{};base64,{data}", Untrusted(&file.mime).html())))
                })
                .collect(),
        )
    }

    /// Of a mail as it was, those pictures are at hand that the new one still has.
    fn view<'a>(&self, content: &'a Content) -> View<'a> {
        let html = content.html.as_deref().unwrap_or_default();
        let files = content.inline_attachments.iter().filter(|file| !self.0.contains_key(&file.digest));
        let missing =
            files.map(|file| file.name.as_str()).filter(|name| html.contains(&format!("cid:{name}"))).collect();
        View { page: self.page(content), missing }
    }

    fn page(&self, content: &Content) -> Option<String> {
        // No policy governs the connections that a browser opens in advance.
        let mut html = sandbox::disarmed(content.html.as_deref()?);
        let mut files: Vec<_> = content.inline_attachments.iter().collect();
        // `logo.png` must not take the beginning of `logo.png.jpg`.
        files.sort_by_key(|file| std::cmp::Reverse(file.name.len()));
        for file in files {
            if let Some(data) = self.0.get(&file.digest) {
                html = html.replace(&format!("cid:{}", file.name), data);
            }
        }
        Some(html)
    }
}

/// Why a picture of a mail as it was is not shown.
const NOT_KEPT: &str = "Changed or gone since, and of files only size and digest are kept. Not shown: ";

/// Why a picture of a mail as it will be is not shown.
const NOT_READ: &str = "No picture, or it cannot be read. Not shown: ";

fn frame(title: &str, view: &View<'_>, why: &str) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            @match &view.page {
                Some(page) => iframe sandbox="" loading="lazy" title=(title) srcdoc=(page) {},
                None => p.dim { "no html" },
            }
            @if !view.missing.is_empty() {
                p.dim.missing { (why) @for (n, name) in view.missing.iter().enumerate() { @if n > 0 { ", " } code { (text(name)) } } }
            }
        }
    }
}

fn part(change: &PartChange) -> Markup {
    let (removed, added) = change.lines();
    let is_new = change.old_bytes.is_none();
    html! {
        h3 { (change.part.word()) " " span.dim { (sizes(change)) } }
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
                                // All of it is new: a mark would say nothing.
                                Segment::New(words) if is_new => (text(words)),
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
