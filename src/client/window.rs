//! How many requests may be open at once: halved when the service asks for fewer, grown slowly while it answers (safety §6).

/// A window that adapts between one and its ceiling. A value: whoever sends asks it and tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    size: usize,
    ceiling: usize,
    successes: usize,
    /// Requests that were let go under an older, larger window: their 429 says nothing new.
    stale: usize,
}

/// Successes after which the window grows by one.
const GROW_AFTER: usize = 10;

impl Window {
    /// A window that begins at its ceiling (at least one).
    #[must_use]
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.max(1);
        Self { size: ceiling, ceiling, successes: 0, stale: 0 }
    }

    /// How many requests may be open now.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// A request was answered.
    pub fn succeeded(&mut self) {
        self.stale = self.stale.saturating_sub(1);
        self.successes += 1;
        if self.successes >= GROW_AFTER {
            self.successes = 0;
            self.size = (self.size + 1).min(self.ceiling);
        }
    }

    /// A request was answered with 429 while `open` others still are. A burst of them counts once.
    pub fn throttled(&mut self, open: usize) {
        if self.stale > 0 {
            self.stale -= 1;
            return;
        }
        self.size = (self.size / 2).max(1);
        self.successes = 0;
        self.stale = open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_429_halves_once_and_ten_successes_win_one_back() {
        let mut window = Window::new(16);
        for open in (0..16).rev() {
            window.throttled(open);
        }
        assert_eq!(window.size(), 8);
        window.throttled(7);
        assert_eq!(window.size(), 4);
        for _ in 0..10 {
            window.succeeded();
        }
        assert_eq!(window.size(), 5);
    }

    #[test]
    fn it_never_leaves_one_to_its_ceiling() {
        let mut window = Window::new(2);
        for _ in 0..100 {
            window.succeeded();
        }
        assert_eq!(window.size(), 2);
        for _ in 0..10 {
            window.throttled(0);
        }
        assert_eq!(window.size(), 1);
        assert_eq!(Window::new(0).size(), 1);
    }
}
