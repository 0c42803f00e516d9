//! `scaledb password`: what the server's configuration keeps of a password.

use crate::Result;
use crate::output::{say, show};
use scaledb_pgwire::Verifier;
use std::io::{IsTerminal, stdin};

pub(crate) fn run() -> Result {
    if stdin().is_terminal() {
        show!("Password (it is shown): ");
    }
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    let password = line.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err("an empty password is none".into());
    }
    say!("{}", Verifier::of(password)?);
    Ok(true)
}
