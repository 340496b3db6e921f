//! What is under way right now, as a small tree that is drawn in place: the oldest items first, by folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr as _;

use crate::apply::{Event, Request};
use crate::cli::terminal::{DIM, YELLOW};
use crate::desired::Key;
use crate::plan::Step;
use crate::untrusted::Untrusted;

/// Items that are shown; the others are counted. With their folders they take at most twice as many lines.
const ROWS: usize = 6;

/// An item that is open for so long is called slow.
const SLOW: Duration = Duration::from_secs(2);

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Tree {
    open: BTreeMap<Key, Open>,
    /// Steps done and planned in each folder; the empty name is the root.
    folders: BTreeMap<String, (usize, usize)>,
}

#[derive(Debug)]
struct Open {
    since: Instant,
    doing: String,
}

impl Tree {
    /// Nothing is under way yet.
    pub(super) fn new(steps: &[Step]) -> Self {
        let mut tree = Self::default();
        for step in steps {
            tree.folders.entry(split(&step.key).0.to_owned()).or_default().1 += 1;
        }
        tree
    }

    /// Takes in one event; `now` is when it happened.
    pub(super) fn tell(&mut self, event: &Event, now: Instant) {
        let (key, doing) = match event {
            Event::Sent { key, request: Request::Placeholder } => (key, "reserving an id".to_owned()),
            Event::Sent { key, request: Request::Content } => (key, "sending".to_owned()),
            Event::Again { key, after_ms, .. } => {
                (key, format!("again in {:.1} s", Duration::from_millis(*after_ms).as_secs_f64()))
            }
            Event::Waiting { key: Some(key), .. } => (key, "waiting".to_owned()),
            Event::Done { key, .. }
            | Event::Refused { key, .. }
            | Event::Failed { key, .. }
            | Event::Unknown { key, .. } => {
                self.open.remove(key);
                self.folders.entry(split(key).0.to_owned()).or_default().0 += 1;
                return;
            }
            _ => return,
        };
        self.open.entry(key.clone()).or_insert_with(|| Open { since: now, doing: String::new() }).doing = doing;
    }

    /// The tree as lines of at most `width` columns, without an end of line after the last.
    pub(super) fn render(&self, now: Instant, width: usize) -> String {
        let mut oldest: Vec<(&Key, &Open)> = self.open.iter().collect();
        oldest.sort_by_key(|(key, open)| (open.since, *key));
        let slowest = oldest.first().map(|(key, _)| *key);
        let rest = oldest.len().saturating_sub(ROWS);
        oldest.truncate(ROWS);
        oldest.sort_by_key(|(key, _)| split(key));
        let mut lines: Vec<String> = Vec::new();
        let mut folder = "";
        for (key, open) in oldest {
            let (above, name) = split(key);
            if above != folder {
                folder = above;
                let (done, all) = self.folders.get(above).copied().unwrap_or_default();
                lines.push(fit(&format!("  {}/", Untrusted(above).line()), &format!("{done} of {all}"), width, false));
            }
            let indent = if above.is_empty() { "  " } else { "    " };
            let age = now.saturating_duration_since(open.since);
            let is_slow = Some(key) == slowest && age >= SLOW;
            let slow = if is_slow { "  slowest" } else { "" };
            let state = format!("{}  {:.1} s{slow}", open.doing, age.as_secs_f64());
            lines.push(fit(&format!("{indent}{}", Untrusted(name).line()), &state, width, is_slow));
        }
        if rest > 0 {
            lines.push(format!("  {DIM}… and {rest} more{DIM:#}"));
        }
        lines.join("\n")
    }
}

/// The folder of a key, and its name there.
fn split(key: &Key) -> (&str, &str) {
    key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()))
}

/// A name and what there is to say about it, cut to the width.
fn fit(name: &str, state: &str, width: usize, slow: bool) -> String {
    let room = width.saturating_sub(state.width() + 3).clamp(8, 44);
    let mut shown = String::new();
    for c in name.chars() {
        if shown.width() + 2 > room {
            shown.push('…');
            break;
        }
        shown.push(c);
    }
    let gap = " ".repeat(room.saturating_sub(shown.width()));
    let style = if slow { YELLOW } else { DIM };
    let mut line = String::new();
    let _ = write!(line, "{shown}{gap}  {style}{state}{style:#}");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::Digest;
    use crate::plan::Action;

    fn key(name: &str) -> Key {
        Key::new(name).unwrap()
    }

    #[test]
    fn the_oldest_items_are_drawn_by_folder() {
        let names = ["welcome", "billing/receipt", "billing/refund", "a", "b", "c", "d", "e"];
        let step = |name: &&str| Step {
            key: key(name),
            name: None,
            action: Action::Create { to: Digest::of(name.as_bytes()) },
        };
        let mut tree = Tree::new(&names.iter().map(step).collect::<Vec<_>>());
        let begin = Instant::now();
        for (at, name) in names.iter().enumerate() {
            let sent = Event::Sent { key: key(name), request: Request::Placeholder };
            tree.tell(&sent, begin + Duration::from_millis(at as u64));
        }
        tree.tell(
            &Event::Failed { key: key("billing/refund"), why: String::new() },
            begin + Duration::from_millis(500),
        );
        tree.tell(&Event::Sent { key: key("welcome"), request: Request::Content }, begin + Duration::from_secs(1));
        let text = tree.render(begin + Duration::from_secs(3), 60);
        let plain = anstream::adapter::strip_str(&text).to_string();
        let rows: Vec<Vec<&str>> = plain.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["a", "reserving", "an", "id", "3.0", "s"]);
        assert_eq!(rows[4], ["welcome", "sending", "3.0", "s", "slowest"]);
        assert_eq!(rows[5], ["billing/", "1", "of", "2"]);
        assert_eq!(rows[6], ["receipt", "reserving", "an", "id", "3.0", "s"]);
        assert_eq!(rows[7], ["…", "and", "1", "more"]);
        assert!(plain.lines().all(|line| line.width() <= 60), "{plain}");
        assert!(
            anstream::adapter::strip_str(&tree.render(begin, 24)).to_string().lines().all(|line| line.width() < 40)
        );
    }
}
