//! The words layer: which lines of the visible text changed, and which words in them.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};

/// One changed line of the visible text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Sentence(pub Vec<Segment>);

/// A run of words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// In both.
    Same(String),
    /// Only before.
    Old(String),
    /// Only now.
    New(String),
}

impl Segment {
    /// The words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Same(text) | Self::Old(text) | Self::New(text) => text,
        }
    }
}

/// Two lines are one changed line when they share at least this percentage of their letters, in whole words; else one that went and one that came.
const ALIKE_PERCENT: usize = 40;

/// The changed lines, in order. Past the deadline the result is still right, only coarser.
pub(super) fn words(old: &[String], new: &[String], deadline: Instant) -> Vec<Sentence> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = TextDiff::configure().deadline(deadline).diff_slices(&old, &new);
    let mut sentences = Vec::new();
    for op in diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        replaced(&old[op.old_range()], &new[op.new_range()], deadline, &mut sentences);
    }
    sentences
}

fn replaced(old: &[&str], new: &[&str], deadline: Instant, out: &mut Vec<Sentence>) {
    let paired = old.len().min(new.len());
    for (old, new) in old.iter().zip(new) {
        let diff = TextDiff::configure().deadline(deadline).diff_words(*old, *new);
        if !alike(&diff) {
            out.push(Sentence(vec![Segment::Old((*old).to_owned())]));
            out.push(Sentence(vec![Segment::New((*new).to_owned())]));
        } else {
            out.push(sentence(&diff));
        }
    }
    out.extend(old[paired..].iter().map(|line| Sentence(vec![Segment::Old((*line).to_owned())])));
    out.extend(new[paired..].iter().map(|line| Sentence(vec![Segment::New((*line).to_owned())])));
}

fn alike(diff: &TextDiff<'_, '_, str>) -> bool {
    let (mut shared, mut all) = (0, 0);
    for change in diff.iter_all_changes() {
        let letters = change.value().trim().len();
        let sides = if change.tag() == ChangeTag::Equal { 2 } else { 1 };
        shared += if sides == 2 { 2 * letters } else { 0 };
        all += sides * letters;
    }
    shared * 100 >= all * ALIKE_PERCENT
}

/// Neighbouring words of one kind become one run; a lone blank between two changed words belongs to both.
fn sentence(diff: &TextDiff<'_, '_, str>) -> Sentence {
    let (mut same, mut old, mut new) = (String::new(), String::new(), String::new());
    let mut segments = Vec::new();
    let flush = |old: &mut String, new: &mut String, segments: &mut Vec<Segment>| {
        if !old.is_empty() {
            segments.push(Segment::Old(std::mem::take(old)));
        }
        if !new.is_empty() {
            segments.push(Segment::New(std::mem::take(new)));
        }
    };
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal if text == " " && (!old.is_empty() || !new.is_empty()) && same.is_empty() => {
                same.push(' ');
            }
            ChangeTag::Equal => {
                flush(&mut old, &mut new, &mut segments);
                same.push_str(text);
            }
            tag => {
                if same == " " && (!old.is_empty() || !new.is_empty()) {
                    old.push(' ');
                    new.push(' ');
                    same.clear();
                } else if !same.is_empty() {
                    flush(&mut old, &mut new, &mut segments);
                    segments.push(Segment::Same(std::mem::take(&mut same)));
                }
                if tag == ChangeTag::Delete { old.push_str(text) } else { new.push_str(text) }
            }
        }
    }
    flush(&mut old, &mut new, &mut segments);
    if !same.is_empty() {
        segments.push(Segment::Same(same));
    }
    Sentence(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + std::time::Duration::from_secs(5)
    }

    fn of(old: &[&str], new: &[&str]) -> String {
        let own = |lines: &[&str]| -> Vec<String> { lines.iter().map(ToString::to_string).collect() };
        let shown = |segment: &Segment| match segment {
            Segment::Same(text) => text.clone(),
            Segment::Old(text) => format!("[-{text}-]"),
            Segment::New(text) => format!("{{+{text}+}}"),
        };
        let sentences = words(&own(old), &own(new), soon());
        let lines: Vec<String> = sentences.iter().map(|line| line.0.iter().map(shown).collect()).collect();
        lines.join("\n")
    }

    #[test]
    fn a_changed_word_is_one_line() {
        assert_eq!(
            of(&["Hello", "Your trial ends soon.", "Bye"], &["Hello", "Your trial ends tomorrow at noon.", "Bye"]),
            "Your trial ends [-soon.-]{+tomorrow at noon.+}"
        );
    }

    #[test]
    fn lines_that_share_little_are_not_mixed() {
        assert_eq!(of(&["Reset it here"], &["We miss you"]), "[-Reset it here-]\n{+We miss you+}");
        assert_eq!(of(&["a"], &["a", "b"]), "{+b+}");
    }

    #[test]
    fn joining_the_segments_gives_both_texts_back() {
        for (old, new) in [
            ("one two three four five", "one 2 3 four six five"),
            ("a b c d e f g h", "a x b c y e f g h"),
            ("a y b c d", "a x y b c d z"),
        ] {
            both_come_back(old, new);
        }
    }

    fn both_come_back(old: &str, new: &str) {
        let lines = words(&[old.to_owned()], &[new.to_owned()], soon());
        let without = |skip: fn(&Segment) -> bool| -> String {
            lines[0].0.iter().filter(|segment| !skip(segment)).map(Segment::text).collect()
        };
        assert_eq!(without(|segment| matches!(segment, Segment::New(_))), old);
        assert_eq!(without(|segment| matches!(segment, Segment::Old(_))), new);
    }
}
