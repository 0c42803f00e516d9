//! A backup under load, restored into another cluster: a moment of the history, behind all that was answered before.

use crate::load::run;
use crate::process::{Process, scaledb};
use crate::{Cluster, Load, Trial, client_of};
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

fn restore(from: &Path, cluster: &Cluster, names: &[&str]) -> Output {
    let mut command = scaledb();
    command.args(["cluster", "restore"]).arg(from).arg(cluster.directory.path().join("restored"));
    for name in names {
        command.args(["--node", name]);
    }
    command.args(["--cluster", &cluster.url]).output().unwrap()
}

fn refused(output: &Output, words: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains(words), "{error}");
}

#[test]
fn a_backup_under_load_is_a_moment_behind_all_that_was_answered_before() {
    let Some(mut trial) = Trial::begin(true) else { return };
    let load = trial.load();
    load.progress(20);
    let before = load.end();
    let load = trial.load();
    load.progress(5);
    trial.cluster.command(&["backup", "monday"]);
    load.progress(5);
    let again =
        scaledb().args(["cluster", "backup", "monday", "--cluster", &trial.cluster.url]).output().unwrap();
    refused(&again, "is not empty");
    assert!(trial.cluster.says().contains("durable: up to epoch"), "{}", trial.cluster.says());
    let during = load.end();
    trial.history.extend(before);
    let before = std::mem::take(&mut trial.history);

    let from = trial.cluster.backups().join("monday");
    refused(&restore(&from, &trial.cluster, &["a"]), "has a cluster of this name");
    let Some(other) = Cluster::new() else { return };
    // f = 1: a copy may be lost, and not two
    fs::rename(from.join("b"), trial.cluster.backups().join("b")).unwrap();
    fs::rename(from.join("c"), trial.cluster.backups().join("c")).unwrap();
    refused(&restore(&from, &other, &["d", "b", "a"]), "1 of 3 copies");
    fs::rename(trial.cluster.backups().join("c"), from.join("c")).unwrap();
    fs::remove_file(from.join("c/BACKUP")).unwrap();
    refused(&restore(&from, &other, &["d", "b", "a"]), "no complete copy");
    fs::remove_dir_all(from.join("c")).unwrap();
    fs::rename(trial.cluster.backups().join("b"), from.join("b")).unwrap();
    let output = restore(&from, &other, &["d", "b", "a"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = ["d", "b", "a"];
    names.iter().for_each(|name| {
        fs::rename(other.directory.path().join("restored").join(name), other.data(name)).unwrap();
    });
    let mut nodes: Vec<Process> = names.iter().map(|name| other.durable_node(name)).collect();
    let at = Arc::new(Mutex::new(nodes.iter_mut().map(Process::address).collect::<Vec<_>>()));
    crate::until("three members", || other.is_well());
    for node in 0..3 {
        let mut client = client_of(&at, node);
        before.check_there(&mut client);
        during.check_moment(&mut client);
    }
    let mut client = client_of(&at, 1);
    run(&mut client, "CREATE TABLE later (id int4 PRIMARY KEY)").unwrap();
    run(&mut client, "INSERT INTO later VALUES (1)").unwrap();
    let load = Load::begin(&at, &[], false);
    load.progress(5);
    load.end();
    crate::load::check_sums(&mut client);
}
