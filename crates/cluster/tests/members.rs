//! Members in one process: transfers, failures, and what must be there afterwards.

#[path = "members/backup.rs"]
mod backup;
#[path = "members/bank.rs"]
mod bank;
#[path = "members/client.rs"]
mod client;
#[path = "members/etcd.rs"]
mod etcd;
#[path = "members/late.rs"]
mod late;
#[path = "members/power.rs"]
mod power;
#[path = "members/replay.rs"]
mod replay;
#[path = "members/steer.rs"]
mod steer;
#[path = "members/taken_out.rs"]
mod taken_out;
#[path = "members/tcp.rs"]
mod tcp;
#[path = "members/views.rs"]
mod views;
