//! Prints a plan while its steps are compared: nothing holds all that changes, nor all that is printed.

use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;

use super::compare::{self, Compared, Look};
use crate::cli::report::plan_detail::{Layers, Layout};
use crate::cli::report::plan_html::{self, Room};
use crate::cli::report::plan_json;
use crate::cli::report::plan_markdown::Comment;
use crate::cli::report::plan_text::{self, Rows};
use crate::cli::{Terminal, runtime};
use crate::plan::{Plan, Step};
use crate::source::{Environment, Project};

/// Bytes that are collected before they are written.
const BUFFER: usize = 64 * 1024;

/// What is printed, and where.
#[derive(Debug, Clone, Copy)]
pub struct Print<'a> {
    /// Where the templates are.
    pub project: &'a Arc<Project>,
    /// Of which environment.
    pub environment: &'a Environment,
    /// The plan.
    pub plan: &'a Plan,
    /// Where it goes.
    pub terminal: &'a Terminal,
    /// Which steps are looked into.
    pub look: Look,
    /// For "two hours ago".
    pub now: Timestamp,
}

impl Print<'_> {
    /// For a person; a long one through a pager.
    ///
    /// # Errors
    ///
    /// A template that cannot be read any more, a stdout that cannot be written to.
    pub fn text(self, layers: Layers, pager: Option<&str>) -> anyhow::Result<()> {
        let rows = Rows::new(self.plan, Layout { layers, width: self.terminal.width() });
        let head = plan_text::head(self.plan, self.now);
        let tail = plan_text::tail(self.plan);
        let make = move |step: &Step, compared: Compared| rows.one(step, compared.detail.as_ref());
        if self.terminal.is_shown() {
            // Only who has all of it knows whether it is longer than the screen.
            let mut text = head;
            self.each(&plan_text::in_order(self.plan), make, |row| {
                text += &row;
                Ok(true)
            })?;
            self.terminal.page(&(text + &tail), pager);
            return Ok(());
        }
        let mut out = Out::new(self.terminal, head);
        self.each(&plan_text::in_order(self.plan), make, |row| out.put(&row))?;
        out.put(&tail)?;
        out.finish()
    }

    /// As one value in JSON.
    ///
    /// # Errors
    ///
    /// As [`Print::text`].
    pub fn json(self) -> anyhow::Result<()> {
        let (head, tail) = plan_json::frame(self.plan)?;
        let mut out = Out::new(self.terminal, head);
        let make = |step: &Step, compared: Compared| plan_json::piece(step, compared.detail);
        let mut comma = "";
        self.each(&self.plan.steps.iter().collect::<Vec<_>>(), make, |piece| {
            out.put(std::mem::replace(&mut comma, ","))?;
            out.put(plan_json::BETWEEN)?;
            out.put(&piece?)
        })?;
        out.put(&tail)?;
        out.finish()
    }

    /// As a comment of at most so many bytes.
    ///
    /// # Errors
    ///
    /// As [`Print::text`].
    pub fn markdown(self, layers: Layers, max_bytes: usize) -> anyhow::Result<()> {
        let steps = plan_text::in_order(self.plan);
        let mut comment = Comment::new(self.plan, layers, max_bytes, self.now);
        let mut next = steps.iter();
        let make = |_: &Step, compared: Compared| compared.detail;
        self.each(&steps, make, |detail| Ok(next.next().is_some_and(|step| comment.add(step, detail))))?;
        let mut out = Out::new(self.terminal, comment.finish());
        out.put("")?;
        out.finish()
    }

    /// As a page.
    ///
    /// # Errors
    ///
    /// As [`Print::text`]; the page that is begun then says that it ends there.
    pub fn html(self) -> anyhow::Result<()> {
        let steps = plan_text::in_order(self.plan);
        let with_mails = steps.iter().any(|step| self.look.at(step));
        let mut out = Out::new(self.terminal, plan_html::head(self.plan, with_mails, self.now));
        let (room, mut left_out) = (Arc::new(Room::default()), 0);
        let make = {
            let (room, is_long) = (Arc::clone(&room), plan_html::is_long(self.plan));
            move |step: &Step, compared: Compared| plan_html::card(step, &compared, &room, is_long)
        };
        let all = self.each(&steps, make, |card| out.put(&card.place(&room, &mut left_out)));
        match &all {
            Ok(()) => out.put(&plan_html::tail(self.plan, left_out))?,
            Err(error) => out.put(&plan_html::broken(&error.to_string()))?,
        };
        out.finish()?;
        all
    }

    fn each<T: Send + 'static>(
        &self,
        steps: &[&Step],
        make: impl Fn(&Step, Compared) -> T + Send + Sync + 'static,
        take: impl FnMut(T) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        runtime::run(compare::each(self.project, self.environment, steps, self.look, make, take))
    }
}

/// Stdout, written in large pieces.
struct Out<'a> {
    terminal: &'a Terminal,
    text: String,
    is_read: bool,
}

impl<'a> Out<'a> {
    fn new(terminal: &'a Terminal, text: String) -> Self {
        Self { terminal, text, is_read: true }
    }

    /// Adds a piece, and says whether somebody still reads.
    fn put(&mut self, piece: &str) -> anyhow::Result<bool> {
        if self.text.len() + piece.len() > BUFFER {
            self.flush()?;
        }
        if piece.len() > BUFFER {
            self.write(piece)?;
        } else {
            self.text += piece;
        }
        Ok(self.is_read)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let text = std::mem::take(&mut self.text);
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.is_read = self.is_read && self.terminal.piece(text.as_bytes()).context("cannot write to stdout")?;
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }
}
