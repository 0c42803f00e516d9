//! `scaledb password`: what the server's configuration keeps of a password.

use crate::Result;
use scaledb_pgwire::Verifier;
use std::io::{IsTerminal, Write, stdin, stdout};

pub(crate) fn run() -> Result {
    if stdin().is_terminal() {
        print!("Password (it is shown): ");
        stdout().flush()?;
    }
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    let password = line.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err("an empty password is none".into());
    }
    println!("{}", Verifier::of(password)?);
    Ok(true)
}
