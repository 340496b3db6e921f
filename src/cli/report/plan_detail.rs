//! What changes in one template, as indented lines for a person.

use std::fmt::{self, Write as _};

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::plan_text::{bytes, count, sizes};
use crate::cli::terminal::{CYAN, DIM, GREEN, RED};
use crate::plan::{
    Changes, Detail, FieldChange, FileChange, FileFacts, Hunk, Part, PartChange, Segment, Sentence, Sign,
};
use crate::untrusted::Untrusted;

/// Which layers of a changed body are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Layers {
    /// The words that a reader sees; the source where none of them changed
    Words,
    /// The source as a unified diff
    Source,
    /// Both
    All,
}

/// How much room there is.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Which layers to show.
    pub layers: Layers,
    /// Columns of the terminal; nothing where the text goes elsewhere.
    pub width: Option<usize>,
}

/// Columns before a field or a part.
const INDENT: usize = 6;

/// Columns before what belongs to it.
const INNER: usize = 8;

/// A field whose values are longer than this in columns gets a line for each.
const SHORT: usize = 36;

/// Changed lines of the text, and lines of the source, that are shown per part; the others are counted.
const ROWS: usize = 40;

/// Unchanged words kept beside a changed one, in characters; the rest of a long line is left out.
const BESIDE: usize = 60;

/// Writes a detail below its step.
///
/// # Errors
///
/// None: writing to a string cannot fail.
pub fn write(out: &mut String, detail: &Detail, layout: Layout) -> fmt::Result {
    match detail {
        Detail::Changed(changes) => whole(out, changes, layout),
        // All of it is new: its files are the better place to read it.
        Detail::New(_) => Ok(()),
        Detail::Unknown => writeln!(
            out,
            "{:INDENT$}{DIM}what the service has is not known, so there is nothing to compare with{DIM:#}",
            ""
        ),
    }
}

fn whole(out: &mut String, changes: &Changes, layout: Layout) -> fmt::Result {
    for change in &changes.fields {
        field(out, change, layout)?;
    }
    for change in &changes.parts {
        part(out, change, layout)?;
    }
    for change in &changes.files {
        file(out, change)?;
    }
    Ok(())
}

fn field(out: &mut String, change: &FieldChange, layout: Layout) -> fmt::Result {
    let name = Untrusted(&change.field).line().to_string();
    let value = |value: &Option<String>| value.as_deref().map(|text| Untrusted(text).line().to_string());
    let (old, new) = (value(&change.old), value(&change.new));
    let widest = [&old, &new].into_iter().flatten().map(|text| text.width()).max().unwrap_or(0);
    let shown = |value: &Option<String>, style: Style| match value {
        Some(text) if text.is_empty() => format!("{DIM}(empty){DIM:#}"),
        Some(text) => format!("{style}{text}{style:#}"),
        None => format!("{DIM}(none){DIM:#}"),
    };
    let one_line = INDENT + name.width() + 2 * widest + 5;
    if widest <= SHORT && layout.width.is_none_or(|width| one_line <= width) {
        return writeln!(out, "{:INDENT$}{name}: {} → {}", "", shown(&old, RED_TEXT), shown(&new, GREEN_TEXT));
    }
    writeln!(out, "{:INDENT$}{name}:", "")?;
    writeln!(out, "{:INNER$}- {}", "", shown(&old, RED_TEXT))?;
    writeln!(out, "{:INNER$}+ {}", "", shown(&new, GREEN_TEXT))
}

/// What went, without weight.
const RED_TEXT: Style = anstyle::AnsiColor::Red.on_default();
/// What came, without weight.
const GREEN_TEXT: Style = anstyle::AnsiColor::Green.on_default();

fn part(out: &mut String, change: &PartChange, layout: Layout) -> fmt::Result {
    writeln!(out, "{:INDENT$}{}: {DIM}{}{DIM:#}", "", change.part.word(), sizes(change))?;
    if change.not_compared {
        return writeln!(out, "{:INNER$}{DIM}too large to compare line by line{DIM:#}", "");
    }
    // Of a plain text, the source is the words.
    let twice = change.part == Part::Plaintext && layout.layers == Layers::All;
    let with_words = layout.layers != Layers::Source && !change.words.is_empty() && !twice;
    // Where no word changed, the source is all there is to see.
    let with_source = layout.layers != Layers::Words || change.words.is_empty();
    if with_words {
        for sentence in change.words.iter().take(ROWS) {
            words(out, sentence, layout.width)?;
        }
        more(out, change.words.len(), "changed line")?;
    }
    if with_source {
        if change.words.is_empty() && layout.layers == Layers::Words {
            writeln!(out, "{:INNER$}{DIM}no word that a reader sees changes; the source:{DIM:#}", "")?;
        }
        source(out, &change.source)?;
    } else {
        let (removed, added) = change.lines();
        writeln!(out, "{:INNER$}{DIM}source: +{added} -{removed} lines (`--diff all` shows them){DIM:#}", "")?;
    }
    Ok(())
}

fn source(out: &mut String, hunks: &[Hunk]) -> fmt::Result {
    let mut left = ROWS;
    for hunk in hunks {
        if left == 0 {
            break;
        }
        writeln!(out, "{:INNER$}{CYAN}{}{CYAN:#}", "", hunk.header())?;
        for line in hunk.lines.iter().take(left) {
            let text = Untrusted(&line.text).line();
            match line.sign {
                Sign::Same => writeln!(out, "{:INNER$} {text}", "")?,
                Sign::Old => writeln!(out, "{:INNER$}{RED_TEXT}-{text}{RED_TEXT:#}", "")?,
                Sign::New => writeln!(out, "{:INNER$}{GREEN_TEXT}+{text}{GREEN_TEXT:#}", "")?,
            }
        }
        left = left.saturating_sub(hunk.lines.len());
    }
    more(out, hunks.iter().map(|hunk| hunk.lines.len()).sum(), "line")
}

fn more(out: &mut String, all: usize, noun: &str) -> fmt::Result {
    if all <= ROWS {
        return Ok(());
    }
    let rest = count(all - ROWS, noun);
    writeln!(out, "{:INNER$}{DIM}… and {rest} more (`--format html` or `json` has them){DIM:#}", "")
}

fn file(out: &mut String, change: &FileChange) -> fmt::Result {
    let kind = if change.inline { "inline attachment" } else { "attachment" };
    let facts = |facts: &FileFacts| {
        format!("{} {} ({})", bytes(facts.bytes), &facts.digest[..12], Untrusted(&facts.mime).line())
    };
    let what = match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            format!("{RED_TEXT}{}{RED_TEXT:#} → {GREEN_TEXT}{}{GREEN_TEXT:#}", facts(old), facts(new))
        }
        (Some(old), None) => format!("{RED}removed{RED:#}, was {}", facts(old)),
        (None, Some(new)) => format!("{GREEN}added{GREEN:#}, {}", facts(new)),
        (None, None) => return Ok(()),
    };
    writeln!(out, "{:INDENT$}{kind} {}: {what}", "", Untrusted(&change.name).line())
}

/// One changed line: `Your trial ends [-soon-]{+tomorrow+}.`, wrapped to the width.
fn words(out: &mut String, sentence: &Sentence, width: Option<usize>) -> fmt::Result {
    let mut line =
        Wrapped { out, room: width.map_or(usize::MAX, |width| width.max(30) - INNER), column: 0, blank: false };
    write!(line.out, "{:INNER$}", "")?;
    let last = sentence.0.len().saturating_sub(1);
    for (at, segment) in sentence.0.iter().enumerate() {
        match segment {
            Segment::Same(text) => line.put(&beside(text, at == 0, at == last), Style::new())?,
            Segment::Old(text) => line.put(&format!("[-{text}-]"), RED_TEXT)?,
            Segment::New(text) => line.put(&format!("{{+{text}+}}"), GREEN_TEXT)?,
        }
    }
    writeln!(line.out)
}

/// The unchanged words next to a changed one; the middle of a long run is left out.
fn beside(text: &str, first: bool, last: bool) -> String {
    let chars = text.chars().count();
    if chars <= 2 * BESIDE {
        return text.to_owned();
    }
    let head: String = text.chars().take(BESIDE).collect();
    let tail: String = text.chars().skip(chars - BESIDE).collect();
    match (first, last) {
        (true, _) => format!("… {}", tail.trim_start()),
        (_, true) => format!("{} …", head.trim_end()),
        _ => format!("{} … {}", head.trim_end(), tail.trim_start()),
    }
}

struct Wrapped<'a> {
    out: &'a mut String,
    room: usize,
    column: usize,
    /// A blank that is written only when a word follows in the same line.
    blank: bool,
}

impl Wrapped<'_> {
    fn put(&mut self, text: &str, style: Style) -> fmt::Result {
        let text = Untrusted(text).line().to_string();
        for piece in text.split_inclusive(' ') {
            let word = piece.trim_end_matches(' ');
            if self.column > 0 && self.blank && self.column + 1 + word.width() > self.room {
                write!(self.out, "\n{:INNER$}", "")?;
                self.column = 0;
            } else if self.blank {
                self.out.push(' ');
                self.column += 1;
            }
            write!(self.out, "{style}{word}{style:#}")?;
            self.column += word.width();
            self.blank = piece.ends_with(' ');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::Content;

    fn shown(old: &str, new: &str, layers: Layers, width: Option<usize>) -> String {
        let content = |html: &str| Content { html: Some(html.to_owned()), ..Content::default() };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let changes = crate::plan::changes(Some(&content(old)), &content(new), deadline);
        let mut out = String::new();
        write(&mut out, &Detail::Changed(changes), Layout { layers, width }).unwrap();
        anstream::adapter::strip_str(&out).to_string()
    }

    #[test]
    fn a_changed_word_in_minified_html_is_one_line() {
        assert_eq!(
            shown("<p>one two three</p><p>x</p>", "<p>one 2 three</p><p>x</p>", Layers::Words, None),
            "      html: 28 B → 26 B\n        one [-two-]{+2+} three\n        source: +1 -1 lines (`--diff all` shows them)\n"
        );
    }

    #[test]
    fn the_source_is_shown_where_no_word_changed() {
        let text = shown("<p class=a>one</p>", "<p class=b>one</p>", Layers::Words, None);
        assert!(text.contains("no word that a reader sees changes"), "{text}");
        assert!(text.contains("        -<p class=a>one</p>\n        +<p class=b>one</p>\n"), "{text}");
    }

    #[test]
    fn long_lines_are_wrapped_to_the_width() {
        let long = "word ".repeat(60);
        let text = shown(&format!("<p>{long}</p>"), &format!("<p>{long} {long} end</p>"), Layers::Words, Some(60));
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
    }
}
