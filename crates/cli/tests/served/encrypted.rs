//! The shell and a server that encrypts.

use crate::process::{Server, scaledb};
use std::path::Path;
use std::process::Output;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shell(server: &Server, mode: &str, args: &[&str]) -> Output {
    let port = server.address().port();
    let conninfo = format!("host=localhost hostaddr=127.0.0.1 port={port} user=ann dbname=postgres {mode}");
    let mut command = scaledb();
    command.args(["shell", "--connect", &conninfo, "-At", "-c", "select 42"]).args(args);
    command.env("PGPASSWORD", "secret").output().expect("the shell runs")
}

fn certificate(directory: &Path, name: &str, host: &str) {
    let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]).expect("a certificate");
    std::fs::write(directory.join(format!("{name}.crt")), made.cert.pem()).expect("a file");
    std::fs::write(directory.join(format!("{name}.key")), made.signing_key.serialize_pem()).expect("a file");
}

#[test]
fn the_shell_encrypts_and_believes_whom_it_is_told_to() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    certificate(directory.path(), "right", "127.0.0.1");
    certificate(directory.path(), "other", "127.0.0.1");
    let verifier = scaledb_pgwire::Verifier::of("secret").expect("a verifier");
    let server = Server::configured(&format!(
        "[tls]\ncertificate = '{}'\nkey = '{}'\n[users]\nann = '{verifier}'\n\
         [[rule]]\nover = 'plain'\nmethod = 'reject'\n[[rule]]\nover = 'tls'\nmethod = 'scram'\n",
        path("right.crt"),
        path("right.key"),
    ));
    for (mode, args, expected) in [
        ("", &[][..], Ok("42\n")),
        ("sslmode=require", &[], Ok("42\n")),
        ("", &["--tls"], Ok("42\n")),
        ("", &["--tls-ca", &path("right.crt")], Ok("42\n")),
        ("sslmode=disable", &["--tls"], Ok("42\n")),
        ("sslmode=disable", &[], Err("28000")),
        ("", &["--tls-ca", &path("other.crt")], Err("certificate")),
        ("", &["--tls-ca", &path("right.key")], Err("no certificate")),
        ("", &["--tls-ca", &path("none")], Err("No such file")),
    ] {
        let output = shell(&server, mode, args);
        match expected {
            Ok(rows) => assert_eq!(text(&output.stdout), rows, "{mode} {args:?} {}", text(&output.stderr)),
            Err(why) => {
                assert_eq!(output.status.code(), Some(2), "{mode} {args:?}");
                assert!(text(&output.stderr).contains(why), "{mode} {args:?} {}", text(&output.stderr));
            }
        }
    }
    // what stands in the clear behind the request is not taken for what is encrypted
    let mut client = crate::raw::Raw::connect(server.address());
    client.send(&[b"\0\0\0\x08\x04\xd2\x16\x2f", &crate::raw::login()[..]].concat());
    assert_eq!(crate::raw::outcome(&client.batch()), "08P01");
}

#[test]
fn a_server_that_does_not_encrypt_is_left_if_that_is_asked_for() {
    let server = Server::configured("");
    assert_eq!(text(&shell(&server, "", &[]).stdout), "42\n");
    let output = shell(&server, "", &["--tls"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("does not encrypt"), "{}", text(&output.stderr));
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let verifier = scaledb_pgwire::Verifier::of("secret").expect("a verifier");
    let rule = "[[rule]]\nmethod = 'scram'\n";
    let server = Server::configured(&format!("[users]\nann = '{verifier}'\n{rule}"));
    let conninfo = format!("host=127.0.0.1 port={} user=ann", server.address().port());
    let mut command = scaledb();
    command.args(["shell", "--connect", &conninfo, "-At", "-c", "select 6 * 7"]).env("TERM", "xterm");
    command.env_remove("PGPASSWORD");
    let mut shell = rexpect::session::spawn_command(command, Some(60_000)).expect("a terminal");
    shell.exp_string("Password for user ann: ").expect("it asks");
    shell.send_line("secret").expect("a terminal");
    let shown = shell.exp_string("42").expect("it answers");
    assert!(!shown.contains("secret"), "{shown}");
    shell.exp_eof().expect("it ends");
}
