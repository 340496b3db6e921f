//! `subscribe`: a renewal mail to a former subscriber, never sent twice (`interface §4.4`).

use std::path::PathBuf;

use super::addresses;
use super::bulk::Deed;
use super::change::{self, Many};
use crate::cli::{Context, Exit, Failure, service};

/// Have the service mail a renewal link to a former subscriber
///
/// For people who unsubscribed or complained, and who ask to be back: following the link restores their subscription. By default the
/// service sends one such mail a day. It is never sent twice: when the answer is lost, that is what is reported.
#[derive(Debug, clap::Args)]
pub struct SubscribeArgs {
    /// The sender's address
    #[arg(long, value_name = "EMAIL")]
    sender_email: String,
    /// The sender's name
    #[arg(long, value_name = "NAME")]
    sender_name: String,
    /// The former subscriber
    #[arg(long, value_name = "EMAIL", required_unless_present = "from_file", conflicts_with = "from_file")]
    recipient_email: Option<String>,
    /// A list of former subscribers: csv with a column `email`, jsonl, or one address a line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    /// Do not ask before mails to a list
    #[arg(short, long, env = "LETTERPRESS_SUBSCRIBE_YES")]
    yes: bool,
    #[command(flatten)]
    many: Many,
}

/// Runs `subscribe`.
///
/// # Errors
///
/// Exit 3 when a line of the list is wrong, 6 when some recipients were refused, 7 when the key is.
pub fn run(context: &Context, args: &SubscribeArgs) -> anyhow::Result<Exit> {
    addresses::address(&args.sender_email)
        .map_err(|why| Failure::new(Exit::Usage, format!("`--sender-email`: {why}")))?;
    if args.sender_name.trim().is_empty() || args.sender_name.contains(char::is_control) {
        return Err(Failure::new(Exit::Usage, "`--sender-name` is empty or has a control character").into());
    }
    let deed = Deed::Subscribe { sender_email: args.sender_email.clone(), sender_name: args.sender_name.clone() };
    change::run(
        context,
        &deed,
        args.recipient_email.as_deref(),
        args.from_file.as_deref(),
        &args.many,
        |service, rows| {
            let question = format!("Have {} mail {rows} people", service::describe(&service.account));
            change::ask(context, args.yes || args.recipient_email.is_some(), &question)
        },
    )
}
