//! Images: where they come from, what stands in for them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::address::Target;
use super::findings::{Findings, MENDED, Places};
use super::markup::{Subject, Tag};
use super::rare::Rare;
use super::table;
use crate::diagnostic::{Diagnostic, Edit};
use crate::source::{Asset, Folder, Text};

/// References to attachments that are kept in mind; a hostile body has millions.
const SHOWN: usize = 10_000;

/// Bytes of the AMP part that are looked through, once for each attachment; a hostile folder has thousands and megabytes.
const SEARCHED: usize = 200_000_000;

static CID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("cid:"));

/// What is kept of the images of a body.
#[derive(Debug, Default)]
pub struct Images {
    relative: Places,
    relative_files: Vec<(String, Range<usize>)>,
    cids: Vec<(String, Range<usize>)>,
    /// Whether `cid:` stands anywhere in the body as it is; what is decoded may have it all the same.
    any: bool,
    alt: Places,
    http: Places,
    format: Places,
    format_what: &'static str,
    width: Places,
}

impl Subject for Images {
    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let mut seen = tag.has("background");
        if seen {
            self.source(tag, "background", true);
        }
        if let Some(style) = tag.get("style")
            && (self.any || style.value.len() != style.span.len())
        {
            seen |= self.references(style.value, |_| style.span.clone());
        }
        match tag.name {
            "img" => self.image(tag),
            "image" | "v:image" | "v:fill" | "input" => self.source(tag, "src", false),
            _ => return seen,
        }
        true
    }

    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        if raw == "style" && text.len() == span.len() {
            let start = span.start;
            self.references(text, |at| start + at.start..start + at.end);
        }
    }

    fn comment(&mut self, content: &str, span: &Range<usize>) {
        // Outlook reads what stands in its conditional comments.
        if content.trim_start().starts_with("[if") {
            self.references(content, |_| span.clone());
        }
    }
}

impl Images {
    /// To look at this body.
    #[must_use]
    pub fn new(rare: Rare) -> Self {
        Self { any: rare.cid, ..Self::default() }
    }

    fn image(&mut self, tag: &Tag<'_>) {
        let pixel = tag.value("width") == "1" || tag.value("height") == "1";
        if !tag.has("alt") && !pixel && !tag.value("role").eq_ignore_ascii_case("presentation") {
            self.alt.add(tag.span.clone());
        }
        if !tag.has("width") {
            self.width.add(tag.span.clone());
        }
        match tag.get("src") {
            Some(_) => self.source(tag, "src", false),
            None => self.relative.add(tag.span.clone()),
        }
    }

    fn source(&mut self, tag: &Tag<'_>, attribute: &str, may_be_empty: bool) {
        let Some(source) = tag.get(attribute) else { return };
        let address = source.value.trim();
        match Target::of(address) {
            Target::Empty if may_be_empty => {}
            Target::Empty | Target::Hostless | Target::Relative | Target::Private | Target::Anchor => {
                self.relative.add(source.span.clone());
                if self.relative_files.len() < MENDED {
                    self.relative_files.push((address.to_owned(), source.span));
                }
            }
            Target::Cid => self.shown(&address[4..], source.span),
            Target::Data => self.formatted("a `data:` address", source.span),
            target @ (Target::Http | Target::Https) => {
                let path = address.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
                for (extension, what) in
                    [(".svg", "an svg image"), (".webp", "a webp image"), (".avif", "an avif image")]
                {
                    if path.ends_with(extension) {
                        self.formatted(what, source.span.clone());
                    }
                }
                if target == Target::Http {
                    self.http.add(source.span);
                }
            }
            Target::Dynamic | Target::Other => {}
        }
    }

    fn formatted(&mut self, what: &'static str, span: Range<usize>) {
        if self.format.is_empty() {
            self.format_what = what;
        }
        self.format.add(span);
    }

    /// `cid:` in CSS and in Outlook's markup; whether there is one.
    fn references(&mut self, text: &str, place: impl Fn(Range<usize>) -> Range<usize>) -> bool {
        let mut any = false;
        for at in CID.find_iter(text.as_bytes()) {
            let before = text[..at].chars().next_back();
            if !matches!(before, Some('"' | '\'' | '(' | '=' | ' ')) {
                continue;
            }
            let rest = &text[at + 4..];
            let length = rest.find(['"', '\'', ')', ' ', '>', '\n', ';']).unwrap_or(rest.len());
            self.shown(&rest[..length], place(at..at + 4 + length));
            any = true;
        }
        any
    }

    fn shown(&mut self, cid: &str, span: Range<usize>) {
        if self.cids.len() < SHOWN {
            self.cids.push((decoded(cid), span));
        }
    }

    /// Reports what was seen.
    pub fn report(self, text: &Text, folder: &Folder, findings: &mut Findings<'_>) {
        let known: BTreeSet<&str> = folder.manifest.inline_attachments.iter().map(Asset::content_id).collect();
        findings
            .places(
                &table::IMG_RELATIVE,
                text,
                &self.relative,
                "this image has no address that a mail client could load",
            )
            .help("attach it (`inline_attachments`, then `src=\"cid:…\"`), or use its https address")
            .edits(|| self.embed(text, folder));
        let unknown = |cid: &str| !known.contains(cid) && !super::is_tagged(cid);
        let mut missing = Places::default();
        let mut missing_name = "";
        for (cid, span) in self.cids.iter().filter(|(cid, _)| unknown(cid)) {
            if missing.is_empty() {
                missing_name = cid;
            }
            missing.add(span.clone());
        }
        let meant = crate::source::closest(missing_name, known.iter().copied());
        let help = meant.map_or_else(
            || "add the file to `inline_attachments`".to_owned(),
            |name| format!("did you mean `cid:{name}`?"),
        );
        let message = format_args!("no inline attachment has the name `{missing_name}`");
        findings.places(&table::CID_MISSING, text, &missing, message).help(help);
        findings
            .places(&table::IMG_ALT_MISSING, text, &self.alt, "this image has no `alt`")
            .help("say what it shows, or `alt=\"\"` for decoration");
        findings
            .places(&table::IMG_HTTP, text, &self.http, "this image comes over `http:`")
            .help("use its https address");
        let message = format_args!("{} is not shown by Outlook, and often not by Gmail", self.format_what);
        findings.places(&table::IMG_FORMAT, text, &self.format, message).help("use png, jpg or gif");
        findings
            .places(&table::IMG_WIDTH_MISSING, text, &self.width, "this image has no `width`")
            .help("Outlook shows it in its own size otherwise");
        self.unused(folder, findings);
    }

    /// Edits that turn relative images into inline attachments, where all of their files are there.
    fn embed(&self, text: &Text, folder: &Folder) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut added = BTreeSet::new();
        for (address, span) in &self.relative_files {
            let path = file(address);
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            if !folder.listed.has(&path) || !path.chars().all(plain) {
                continue;
            }
            let declared = folder.manifest.inline_attachments.iter().find(|asset| asset.path.value == path);
            let name = declared.map_or(path.as_str(), |asset| asset.content_id());
            edits.push(Edit {
                path: text.path.clone(),
                bytes: text.raw_span(span.clone()),
                text: format!("cid:{name}"),
            });
            if declared.is_none() {
                added.insert(path);
            }
        }
        if let Some(edit) = folder.add_inline(&added) {
            edits.push(edit);
        } else if !added.is_empty() {
            // The manifest's list is written in a way that cannot be added to safely.
            edits.clear();
        }
        edits
    }

    fn unused(&self, folder: &Folder, findings: &mut Findings<'_>) {
        let in_amp = |name: &str| folder.amp.as_ref().is_some_and(|amp| amp.sent.contains(name));
        let searched = folder.manifest.inline_attachments.len() * folder.amp.as_ref().map_or(0, |amp| amp.sent.len());
        if self.cids.len() >= SHOWN || searched > SEARCHED {
            return;
        }
        let dynamic = self.cids.iter().any(|(cid, _)| super::is_tagged(cid));
        let shown: BTreeSet<&str> = self.cids.iter().map(|(cid, _)| cid.as_str()).collect();
        // An image that names the file itself has its finding already.
        let meant: BTreeSet<String> = self.relative_files.iter().map(|(address, _)| file(address)).collect();
        let used = |asset: &&Asset| {
            let name = asset.content_id();
            dynamic || shown.contains(name) || meant.contains(&asset.path.value) || in_amp(name)
        };
        let unused: Vec<&Asset> = folder.manifest.inline_attachments.iter().filter(|asset| !used(asset)).collect();
        if let Some(first) = unused.first() {
            let message = format!("the html never shows `cid:{}`", first.content_id());
            let finding = Diagnostic::new(&table::INLINE_UNUSED, folder.locate(&first.path.place), message);
            findings.push(finding.count(unused.len()));
        }
    }
}

/// The file that a relative address names.
fn file(address: &str) -> String {
    decoded(address.trim_start_matches("./"))
}

/// Percent-decoded, as content ids are compared.
fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
