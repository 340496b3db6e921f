//! Opening a page in the user's browser.

use std::process::{Command, Stdio};

/// Hands an address to the system's opener and does not wait for it.
///
/// # Errors
///
/// When the system has no opener.
pub fn open(address: &str) -> std::io::Result<()> {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let child = Command::new(program)
        .args(before)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // The opener ends by itself; a thread collects it, so that no zombie is left behind.
    std::thread::spawn(move || {
        let mut child = child;
        let _ = child.wait();
    });
    Ok(())
}
