//! The document: head, balance, attributes, conditional comments, what a mail client does not show.

use std::ops::Range;

use super::findings::{Findings, Places};
use super::markup::{Subject, Tag};
use super::table;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Text;

/// From here on Gmail clips: 102 × 1,024 bytes.
const CLIP: usize = 104_448;
/// From here on it is worth knowing.
const CLIP_NEAR: usize = 81_920;
/// Open elements that are kept in mind; a deeper document is not judged for balance.
const DEPTH: usize = 1_000;

/// What is kept of a document.
#[derive(Debug, Default)]
pub struct Structure {
    /// Where the name of each open element starts in `names`, and its tag.
    open: Vec<(usize, Range<usize>)>,
    names: String,
    too_deep: bool,
    /// How many drawings are open in each other: there `<path/>` is closed, and nothing is judged.
    drawings: usize,
    unbalanced: Places,
    unbalanced_name: String,
    stray: bool,
    duplicates: Places,
    duplicate_name: String,
    form_or_media: Places,
    form_name: String,
    conditional: Places,
    unterminated: Option<usize>,
    /// Each with whether it ended before its content did.
    open_conditions: Vec<(Range<usize>, bool)>,
    cut: Places,
    doctype: bool,
    html: Option<Range<usize>>,
    whole: bool,
    charset: bool,
    lang: bool,
    title: bool,
    heading: bool,
    viewport: bool,
    tables: Places,
    table_open: Vec<(Range<usize>, bool, bool)>,
    words: bool,
}

impl Subject for Structure {
    fn start(&mut self, name: &str, span: &Range<usize>) {
        match name {
            "html" => {
                self.whole = true;
                self.html = Some(span.clone());
            }
            "head" => self.whole = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = true,
            "form" | "input" | "select" | "textarea" | "button" | "video" | "audio" => {
                if self.form_or_media.is_empty() {
                    name.clone_into(&mut self.form_name);
                }
                self.form_or_media.add(span.clone());
            }
            "table" => {
                self.table_open.push((span.clone(), false, false));
                self.table_open.truncate(DEPTH);
            }
            "th" => {
                if let Some(table) = self.table_open.last_mut() {
                    table.2 = true;
                }
            }
            _ => {}
        }
        if stands_alone(name) {
            return;
        }
        let drawing = matches!(name, "svg" | "math");
        self.drawings += usize::from(drawing);
        if self.drawings > usize::from(drawing) {
            return;
        }
        if self.open.len() >= DEPTH {
            self.too_deep = true;
        } else {
            self.open.push((self.names.len(), span.clone()));
            self.names.push_str(name);
        }
    }

    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let repeated = tag.may_repeat();
        if repeated {
            self.repeated(tag);
        }
        let role = tag.value("role");
        match tag.name {
            "html" => self.lang |= !tag.value("lang").is_empty() || !tag.value("xml:lang").is_empty(),
            "meta" => self.meta(tag),
            "table" if role.eq_ignore_ascii_case("presentation") || role.eq_ignore_ascii_case("none") => {
                // Deeper than what is kept the last one is another table.
                if let Some(table) = self.table_open.last_mut().filter(|table| table.0 == tag.span) {
                    table.1 = true;
                }
            }
            _ if role.eq_ignore_ascii_case("heading") => self.heading = true,
            _ => return repeated,
        }
        true
    }

    fn end(&mut self, name: &str, span: &Range<usize>) {
        if name == "table"
            && let Some((table, marked, headed)) = self.table_open.pop()
            && !marked
            && !headed
        {
            self.tables.add(table);
        }
        if stands_alone(name) || self.too_deep {
            return;
        }
        if self.drawings > 0 {
            let drawing = matches!(name, "svg" | "math");
            self.drawings -= usize::from(drawing);
            if self.drawings > 0 && (drawing || !(0..self.open.len()).any(|at| self.open_name(at) == name)) {
                return;
            }
            // What is around a drawing ends it.
            self.drawings = 0;
        }
        match (0..self.open.len()).rev().find(|at| self.open_name(*at) == name) {
            Some(at) => {
                for left in at + 1..self.open.len() {
                    if !ends_by_itself(self.open_name(left)) {
                        if self.unbalanced.is_empty() {
                            self.unbalanced_name = self.open_name(left).to_owned();
                            self.stray = false;
                        }
                        self.unbalanced.add(self.open[left].1.clone());
                    }
                }
                self.names.truncate(self.open[at].0);
                self.open.truncate(at);
            }
            // `</p>` after a block that closed the paragraph is everywhere, and harmless.
            None if name == "p" || matches!(name, "html" | "head" | "body") => {}
            None => {
                if self.unbalanced.is_empty() {
                    name.clone_into(&mut self.unbalanced_name);
                    self.stray = true;
                }
                self.unbalanced.add(span.clone());
            }
        }
    }

    fn text(&mut self, text: &str, _span: &Range<usize>, raw: &str) {
        if raw == "title" {
            self.title |= !text.trim().is_empty();
        }
        self.words = self.words || raw.is_empty() && !text.trim().is_empty();
    }

    fn comment(&mut self, content: &str, span: &Range<usize>) {
        let content = content.trim();
        let starts = content.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("[if"));
        let ends = content.to_ascii_lowercase().contains("[endif]");
        // `<!--[if mso]>…<![endif]-->` is whole; `<!--[if !mso]><!-->` and `<![if !mso]>` open what a later comment ends.
        if starts && !ends {
            let inside = content.split_once(']').map_or("", |(_, inside)| inside.trim_start_matches('>').trim_start());
            self.open_conditions.push((span.clone(), !inside.is_empty() && !inside.starts_with("<!")));
            self.open_conditions.truncate(DEPTH);
        } else if !starts
            && ends
            && let Some((condition, true)) = self.open_conditions.pop()
        {
            self.cut.add(condition);
        }
    }

    fn doctype(&mut self, _span: &Range<usize>) {
        self.doctype = true;
    }

    fn unterminated_comment(&mut self, at: usize) {
        self.unterminated = Some(at);
    }
}

impl Structure {
    fn meta(&mut self, tag: &Tag<'_>) {
        let utf8 = |text: &str| text.to_ascii_lowercase().replace([' ', '-'], "").contains("utf8");
        self.charset |= utf8(tag.value("charset"));
        let declares = tag.value("http-equiv").eq_ignore_ascii_case("content-type");
        self.charset |= declares && utf8(tag.value("content"));
        self.viewport |= tag.value("name").eq_ignore_ascii_case("viewport");
    }

    /// The name of an open element.
    fn open_name(&self, at: usize) -> &str {
        let start = |at: usize| self.open.get(at).map_or(self.names.len(), |(start, _)| *start);
        self.names.get(start(at)..start(at + 1)).unwrap_or_default()
    }

    fn repeated(&mut self, tag: &Tag<'_>) {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for attribute in tag.attributes() {
            match seen.iter().find(|(name, _)| *name == attribute.name) {
                Some((_, first)) if *first != attribute.value => {
                    if self.duplicates.is_empty() {
                        attribute.name.clone_into(&mut self.duplicate_name);
                    }
                    self.duplicates.add(attribute.span);
                }
                Some(_) => {}
                // A tag with hundreds of attributes is not judged beyond them.
                None if seen.len() < 100 => seen.push((attribute.name, attribute.value)),
                None => {}
            }
        }
    }

    /// Reports what was seen.
    pub fn report(mut self, text: &Text, findings: &mut Findings<'_>) {
        self.balance(text, findings);
        let message = format_args!("`{}` stands twice in this tag, with different values", self.duplicate_name);
        findings.places(&table::DUPLICATE_ATTRIBUTE, text, &self.duplicates, message).help("merge the two");
        let message = format_args!("mail clients do not show or do not send `<{}>`", self.form_name);
        findings.places(&table::FORM_OR_MEDIA, text, &self.form_or_media, message).help("link to a page that has it");
        for (open, _) in std::mem::take(&mut self.open_conditions) {
            self.conditional.add(open);
        }
        let message = "a comment inside of this conditional comment ends it early: all but Outlook show the rest";
        findings
            .places(&table::CONDITIONAL_COMMENT_BROKEN, text, &self.cut, message)
            .help("take the inner comment out");
        let message = "this conditional comment has no `<![endif]`";
        findings
            .places(&table::CONDITIONAL_COMMENT_BROKEN, text, &self.conditional, message)
            .help("end it with `<![endif]-->`; a comment inside of it ends it early");
        if let Some(at) = self.unterminated {
            let start = text.sent[..at.min(text.sent.len())].rfind("<!--").unwrap_or(0);
            let mut places = Places::default();
            places.add(start..(start + 4).min(text.sent.len()));
            findings
                .places(&table::CONDITIONAL_COMMENT_BROKEN, text, &places, "this comment never ends")
                .help("add `-->`");
        }
        clip(text, findings);
        self.head(text, findings);
    }

    fn balance(&mut self, text: &Text, findings: &mut Findings<'_>) {
        if self.too_deep {
            return;
        }
        for left in 0..self.open.len() {
            if !ends_by_itself(self.open_name(left)) {
                if self.unbalanced.is_empty() {
                    self.unbalanced_name = self.open_name(left).to_owned();
                }
                self.unbalanced.add(self.open[left].1.clone());
            }
        }
        let name = &self.unbalanced_name;
        let message =
            if self.stray { format!("`</{name}>` closes nothing") } else { format!("`<{name}>` is never closed") };
        findings.places(&table::UNBALANCED_TAGS, text, &self.unbalanced, message);
    }

    fn head(&self, text: &Text, findings: &mut Findings<'_>) {
        let place = self.html.clone().unwrap_or(0..0);
        let mut at = Places::default();
        at.add(place);
        if self.whole && (!self.doctype || !self.charset) {
            let lacks = match (self.doctype, self.charset) {
                (false, false) => "a doctype and a UTF-8 charset",
                (false, true) => "a doctype",
                _ => "a UTF-8 charset",
            };
            let help = "start with `<!doctype html>` and put `<meta charset=\"utf-8\">` first in the head";
            findings.places(&table::DOCUMENT_HEAD, text, &at, format!("the document lacks {lacks}")).help(help);
        }
        if self.whole && !self.lang {
            findings.places(&table::LANG_MISSING, text, &at, "`<html>` has no `lang`").help("`<html lang=\"en\">`");
        }
        if self.whole && !self.title {
            findings.places(&table::TITLE_MISSING, text, &at, "the document has no title");
        }
        if self.whole && !self.viewport {
            let help = "`<meta name=\"viewport\" content=\"width=device-width\">`";
            findings.places(&table::VIEWPORT_MISSING, text, &at, "the document has no viewport").help(help);
        }
        if self.words && !self.heading {
            findings
                .places(&table::HEADING_MISSING, text, &at, "the html has no heading")
                .help("use `<h1>` for the first line");
        }
        findings
            .places(&table::LAYOUT_TABLE_ROLE, text, &self.tables, "this layout table is announced as data")
            .help("add `role=\"presentation\"`");
    }
}

/// Whether an element has no end tag, or is Outlook's.
fn stands_alone(name: &str) -> bool {
    let void = matches!(
        name,
        "area"
            | "base"
            | "bgsound"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    );
    void || name.contains(':')
}

/// Whether HTML lets one leave out the end tag of an element.
fn ends_by_itself(name: &str) -> bool {
    matches!(
        name,
        "html"
            | "head"
            | "body"
            | "p"
            | "li"
            | "dt"
            | "dd"
            | "td"
            | "th"
            | "tr"
            | "tbody"
            | "thead"
            | "tfoot"
            | "colgroup"
            | "option"
            | "optgroup"
            | "rp"
            | "rt"
    )
}

/// Gmail's limit.
fn clip(text: &Text, findings: &mut Findings<'_>) {
    let bytes = text.sent.len();
    let (limit, severity, message) = if bytes > CLIP {
        (CLIP, Severity::Warn, format!("Gmail clips this mail: {bytes} bytes, and it shows {CLIP}"))
    } else if bytes > CLIP_NEAR {
        (
            CLIP,
            Severity::Info,
            format!("{bytes} bytes of html; Gmail clips from {CLIP} on, tracking links make it longer"),
        )
    } else {
        return;
    };
    let location = crate::diagnostic::Location::whole(text.path.clone());
    findings.push(Diagnostic::new(&table::GMAIL_CLIP, location, message).severity(severity).limit(bytes, limit));
}
