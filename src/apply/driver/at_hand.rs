//! Templates that were read for their placeholder and wait for their content to be sent: each file is read once.

use std::collections::HashMap;

use super::Loaded;
use crate::desired::Key;

/// Bytes of text that are held at most; what is beyond is read again.
const MOST: usize = 8 * 1024 * 1024;

/// The templates at hand, by their keys.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    templates: HashMap<Key, Loaded>,
    bytes: usize,
}

impl AtHand {
    /// Holds a template, where there is room for it.
    pub(super) fn keep(&mut self, loaded: Loaded) {
        let bytes = loaded.template.text_bytes();
        if self.bytes + bytes <= MOST {
            self.bytes += bytes;
            self.templates.insert(loaded.template.key.clone(), loaded);
        }
    }

    /// Gives a template away.
    pub(super) fn take(&mut self, key: &Key) -> Option<Loaded> {
        let loaded = self.templates.remove(key)?;
        self.bytes -= loaded.template.text_bytes();
        Some(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::Template;

    fn template(key: &str, bytes: usize) -> Loaded {
        let template = Template { html: Some("x".repeat(bytes)), ..Template::bare(key) };
        Loaded { digest: template.digest(), template }
    }

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let mut at_hand = AtHand::default();
        for key in ["a", "b", "c"] {
            at_hand.keep(template(key, MOST / 2));
        }
        assert!(at_hand.take(&Key::new("c").unwrap()).is_none());
        assert_eq!(at_hand.take(&Key::new("a").unwrap()), Some(template("a", MOST / 2)));
        at_hand.keep(template("c", MOST / 2));
        assert!(at_hand.take(&Key::new("c").unwrap()).is_some());
        assert!(at_hand.take(&Key::new("b").unwrap()).is_some());
        assert_eq!((at_hand.bytes, at_hand.templates.len()), (0, 0));
    }
}
