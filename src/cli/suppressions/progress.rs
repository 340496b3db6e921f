//! Progress on a terminal that watches stderr while the data goes elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Context;

/// Of a walk whose end nobody knows before it is there.
pub(super) fn open_end(context: &Context) -> ProgressBar {
    styled(context, ProgressBar::new_spinner(), "{spinner} {human_pos} records, {per_sec}  {msg:.dim}")
}

/// Of a list of so many.
pub(super) fn of(context: &Context, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    styled(context, bar, "{spinner} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left")
}

fn styled(context: &Context, bar: ProgressBar, template: &str) -> ProgressBar {
    if !context.terminal.is_watched() || !context.terminal.is_piped() {
        return ProgressBar::hidden();
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
