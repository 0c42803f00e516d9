//! `scaledb shell` at a pseudo-terminal: editing, completion, history, Ctrl-C.

use rexpect::session::{PtySession, spawn_command};
use std::path::Path;
use std::process::Command;

/// How long an answer may take: it bounds a failure, no success waits for it.
const PATIENCE_MS: u64 = 60_000;

fn shell(history: &Path) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaledb"));
    command.args(["shell"]).env("SCALEDB_HISTORY", history).env("TERM", "xterm").env("USER", "ann");
    let mut shell = spawn_command(command, Some(PATIENCE_MS)).unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    shell
}

/// Types keys, without a line feed.
fn keys(shell: &mut PtySession, keys: &str) {
    shell.send(keys).unwrap();
    shell.flush().unwrap();
}

fn end(mut shell: PtySession) {
    keys(&mut shell, "\\q\r");
    shell.exp_eof().unwrap();
}

#[test]
fn lines_are_edited_and_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let history = directory.path().join("history");
    let mut one = shell(&history);
    // a typing error, taken back; to the beginning of the line and to its end
    keys(&mut one, "lect 40 + x\x7f2\x01se\x05 as sum\r");
    one.exp_string("scaledb-> ").unwrap();
    keys(&mut one, ";\r");
    one.exp_string("(1 row)").unwrap();
    one.exp_string("scaledb=> ").unwrap();
    end(one);

    // another shell finds the whole statement by one key up
    let mut two = shell(&history);
    keys(&mut two, "\x1b[A");
    two.exp_string("as sum").unwrap();
    keys(&mut two, "\r");
    two.exp_string(" 42").unwrap();
    two.exp_string("scaledb=> ").unwrap();
    end(two);
}

#[test]
fn tab_completes_keywords_tables_columns_and_commands() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = shell(&directory.path().join("history"));
    keys(&mut shell, "create table customers (customer_id int, surname text);\r");
    shell.exp_string("CREATE TABLE").unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    // each word by its first letters
    keys(&mut shell, "sele\t 'rows: ' || count(*) fro\t cust\t c wher\t c.sur\t is null;\r");
    shell.exp_string("rows: 0").unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    keys(&mut shell, "\\conn\t\r");
    shell.exp_string("You are connected to database").unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    end(shell);
}

#[test]
fn an_interrupt_cancels_the_statement_and_not_the_shell() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = shell(&directory.path().join("history"));
    // the first result says that the line runs: the terminal makes a signal of Ctrl-C from then on
    keys(&mut shell, "select 'sta' || 'rted'; select count(*) from generate_series(1, 1000000000000);\r");
    shell.exp_string("started").unwrap();
    shell.send_control('c').unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    keys(&mut shell, "select 'ali' || 've';\r");
    shell.exp_string("alive").unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    // a line that is being typed is given up
    keys(&mut shell, "select 'gone'");
    shell.send_control('c').unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    end(shell);
}

#[test]
fn the_prompt_shows_the_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = shell(&directory.path().join("history"));
    keys(&mut shell, "begin;\r");
    shell.exp_string("scaledb=*> ").unwrap();
    keys(&mut shell, "select 1/0;\r");
    shell.exp_string("22012").unwrap();
    shell.exp_string("scaledb=!> ").unwrap();
    keys(&mut shell, "roll\t;\r");
    shell.exp_string("ROLLBACK").unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    keys(&mut shell, "select (\r");
    shell.exp_string("scaledb(> ").unwrap();
    keys(&mut shell, "'\r");
    shell.exp_string("scaledb'> ").unwrap();
    shell.send_control('c').unwrap();
    shell.exp_string("scaledb=> ").unwrap();
    end(shell);
}
