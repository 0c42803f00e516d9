//! The demonstration, in its short form.

use crate::process::{SILENCE, scaledb};

#[test]
fn the_demonstration_loses_nothing() {
    if std::process::Command::new("etcd").arg("--version").output().is_err() {
        eprintln!("SKIPPED: etcd is not installed: the demonstration is not tested");
        return;
    }
    let arguments = ["--seconds", "2", "--clients", "2", "--warehouses", "1", "--silence", SILENCE];
    let output = scaledb().args(["cluster", "demo"]).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("twelve conditions hold").count(), 3, "{text}");
    assert!(text.contains("Nothing that was answered is lost"), "{text}");
}

#[test]
fn the_demonstration_says_what_it_lacks() {
    let output = scaledb().args(["cluster", "demo", "--etcd", "/nowhere/etcd"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("apt-get install etcd-server"), "{error}");
}
