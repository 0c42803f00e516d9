//! The disk of one node is full: the node ends with a sentence, the others go on, and it comes back when there is room.

use crate::load::run;
use crate::{NAMES, Trial, rounds};
use postgres::error::SqlState;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, of some megabytes.
struct Small(PathBuf);

impl Small {
    /// None, with a message, where this process may mount nothing.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=64m", "scaledb-test"];
        let mounted = Command::new("mount").args(arguments).arg(at).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: this process may not mount a file system: a full disk is not tested");
            return None;
        }
        Some(Self(at.to_owned()))
    }

    /// Leaves no room.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Who works at the node may be told that its disk is full.
static FULL: [SqlState; 3] =
    [SqlState::DISK_FULL, SqlState::IO_ERROR, SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN];

#[test]
fn a_node_whose_disk_is_full_ends_and_comes_back_when_there_is_room() {
    if !crate::is_long() {
        return;
    }
    let Some(cluster) = crate::Cluster::new() else { return };
    let Some(disk) = Small::mount(&cluster.data(NAMES[2])) else { return };
    let nodes = NAMES.iter().map(|name| cluster.durable_node(name)).collect();
    let mut trial = Trial::of(cluster, true, nodes);
    trial.allowed = &FULL;
    let large = "CREATE TABLE large (id int4 PRIMARY KEY, bytes text)";
    run(&mut crate::client_of(&trial.at, 0), large).unwrap();
    for round in 0..rounds(1) {
        let load = trial.load();
        load.progress(10);
        disk.fill();
        let mut client = crate::client_of(&trial.at, 0);
        let mut row = 0;
        while trial.nodes[2].0.try_wait().unwrap().is_none() {
            row += 1;
            let sql = format!("INSERT INTO large VALUES ({round} * 1000 + {row}, repeat('x', 400000))");
            run(&mut client, &sql).unwrap();
            assert!(row < 400, "the disk takes more than it has");
        }
        assert!(!trial.nodes[2].ends(), "a node whose disk is full has failed");
        trial.is_put_out();
        load.progress(10);
        disk.empty();
        run(&mut client, "DELETE FROM large").unwrap();
        trial.restart(2);
        trial.settle();
        load.progress(10);
        trial.check(load);
    }
}
