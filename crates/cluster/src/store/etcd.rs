//! The metadata store in etcd, over the JSON gateway of its version 3.4 and later.
//!
//! ```text
//!   scaledb/CLUSTER/view           the newest view          replaced if it still has the bytes of the last
//!   scaledb/CLUSTER/name/NAME      the number of a node     made once, together with
//!   scaledb/CLUSTER/number/N       its name
//!   scaledb/CLUSTER/life/N         the node's last life     the incarnation is etcd's revision of the write
//!   scaledb/CLUSTER/alive/N        an incarnation           with a lease
//!   scaledb/CLUSTER/report/N       what it says of itself   written again and again
//!   scaledb/CLUSTER/backup         what is to be backed up  replaced as the view
//! ```
//!
//! Values of our own are in the format of messages, behind its version: a node of another version is refused.

use super::{BackupWish, ClusterView, Life, MAX_NAME, MetadataStore, NodeReport, StoreError};
use crate::codec::{self, FORMAT};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use scaledb_scar::link::Incarnation;
use scaledb_scar::{NodeId, NodeSet};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use ureq::Agent;

/// The bytes of an answer, at most.
const MAX_ANSWER: u64 = 8 << 20;

/// A cluster's metadata in etcd.
#[derive(Debug)]
pub struct Etcd {
    agent: Agent,
    /// Addresses of etcd's members: `http://host:port`.
    endpoints: Vec<String>,
    /// The one that answered last.
    good: AtomicUsize,
    prefix: String,
    lease: Mutex<Option<Lease>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lease {
    id: String,
    node: NodeId,
    life: Incarnation,
}

fn error(what: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!("etcd: {what}"))
}

/// It may answer later.
fn away(what: impl std::fmt::Display) -> StoreError {
    StoreError::Away(format!("etcd: {what}"))
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// A number, which the gateway writes as a string.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The value of an entry of an answer.
fn bytes(entry: &Value) -> Result<Vec<u8>, StoreError> {
    // none is written if it is empty
    let value = entry.get("value").and_then(Value::as_str).unwrap_or_default();
    BASE64_STANDARD.decode(value).map_err(error)
}

/// What the name of a cluster or a node may be made of, as it is a part of keys and certificates.
fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(fine)
}

fn pack<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    let mut packed = FORMAT.to_le_bytes().to_vec();
    packed.extend(codec::encode(value).map_err(error)?);
    Ok(packed)
}

fn unpack<T: serde::de::DeserializeOwned>(packed: &[u8]) -> Result<T, StoreError> {
    let (format, rest) = packed.split_first_chunk().ok_or_else(|| error("a value is cut off"))?;
    let format = u32::from_le_bytes(*format);
    if format != FORMAT {
        return Err(error(format!("the cluster has format {format}, this node has {FORMAT}")));
    }
    codec::decode(rest).map_err(error)
}

impl Etcd {
    /// Metadata of a cluster at etcd's members: `HOST:PORT`, several with commas between. Nothing is asked yet.
    ///
    /// # Errors
    /// A name or an address cannot be one.
    pub fn new(addresses: &str, cluster: &str, timeout: Duration) -> Result<Self, StoreError> {
        if !is_name(cluster) {
            return Err(error(format!(
                "`{cluster}` cannot be the name of a cluster: use letters, digits, - _ ."
            )));
        }
        let endpoint = |address: &str| {
            let port =
                address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']');
            match port {
                Some((host, _)) if !host.is_empty() && address.chars().all(plain) => {
                    Ok(format!("http://{address}"))
                }
                _ => Err(error(format!("`{address}` is not HOST:PORT"))),
            }
        };
        let endpoints =
            addresses.split(',').map(|address| endpoint(address.trim())).collect::<Result<_, _>>()?;
        let config = Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false);
        Ok(Self {
            agent: config.build().into(),
            endpoints,
            good: AtomicUsize::new(0),
            prefix: format!("scaledb/{cluster}/"),
            lease: Mutex::new(None),
        })
    }

    /// Asks the member that answered last, then the others.
    fn ask(&self, path: &str, body: &Value) -> Result<Value, StoreError> {
        let first = self.good.load(Ordering::Relaxed); // a hint
        let mut last = error("no address");
        for i in 0..self.endpoints.len() {
            let at = (first + i) % self.endpoints.len();
            let Some(endpoint) = self.endpoints.get(at) else { continue };
            match self.ask_at(endpoint, path, body) {
                Ok(answer) => {
                    self.good.store(at, Ordering::Relaxed); // a hint
                    return Ok(answer);
                }
                Err(failed) => last = failed,
            }
        }
        Err(last)
    }

    fn ask_at(&self, endpoint: &str, path: &str, body: &Value) -> Result<Value, StoreError> {
        let request = self.agent.post(format!("{endpoint}/v3/{path}"));
        let sent = request.header("content-type", "application/json").send(body.to_string());
        let mut response = sent.map_err(|failed| away(format!("{endpoint}: {failed}")))?;
        let status = response.status();
        let read = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
        let answer = read.map_err(|failed| away(format!("{endpoint}: {failed}")))?;
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|failed| error(format!("{endpoint}: {failed}")))?;
        if !status.is_success() || answer.get("error").is_some() {
            let why: String = answer.get("error").unwrap_or(&answer).to_string().chars().take(200).collect();
            // a member that has no leader says so with a status of its own fault
            let why = format!("{endpoint}: {why}");
            return Err(if status.is_server_error() { away(why) } else { error(why) });
        }
        Ok(answer)
    }

    fn key(&self, rest: impl std::fmt::Display) -> String {
        text(format!("{}{rest}", self.prefix))
    }

    fn get(&self, rest: impl std::fmt::Display) -> Result<Option<Vec<u8>>, StoreError> {
        let answer = self.ask("kv/range", &json!({ "key": self.key(rest) }))?;
        answer.pointer("/kvs/0").map(bytes).transpose()
    }

    /// The values below a part of the keys, by the number that follows it, and the revision of each.
    fn numbered(&self, part: &str) -> Result<Vec<(NodeId, Vec<u8>, u64)>, StoreError> {
        let below = format!("{}{part}/", self.prefix);
        let end = format!("{}{part}0", self.prefix); // '0' follows '/'
        let answer = self.ask("kv/range", &json!({ "key": text(&below), "range_end": text(end) }))?;
        let none = Vec::new();
        let entries = answer.get("kvs").and_then(Value::as_array).unwrap_or(&none);
        let mut found = Vec::new();
        for entry in entries {
            let key = entry.get("key").and_then(Value::as_str).unwrap_or_default();
            let key = BASE64_STANDARD.decode(key).map_err(error)?;
            let node = key.strip_prefix(below.as_bytes()).and_then(|node| std::str::from_utf8(node).ok());
            let node = node.and_then(|node| node.parse().ok()).filter(|&node| node < NodeSet::LIMIT);
            let revision = entry.get("mod_revision").and_then(number).unwrap_or_default();
            if let Some(node) = node {
                found.push((NodeId(node), bytes(entry)?, revision));
            }
        }
        Ok(found)
    }

    /// The number of a name: found, or taken.
    fn number_of(&self, name: &str) -> Result<NodeId, StoreError> {
        loop {
            if let Some(known) = self.get(format_args!("name/{name}"))? {
                let node: NodeId = unpack(&known)?;
                return if node.0 < NodeSet::LIMIT {
                    Ok(node)
                } else {
                    Err(error("a node's number is too large"))
                };
            }
            let taken: NodeSet = self.numbered("number")?.into_iter().map(|(node, ..)| node).collect();
            let free = (0..NodeSet::LIMIT).map(NodeId).find(|&node| !taken.has(node));
            let node = free.ok_or_else(|| error("there are too many nodes"))?;
            let (by_name, by_number) =
                (self.key(format_args!("name/{name}")), self.key(format_args!("number/{}", node.0)));
            let absent = |key: &String| json!({ "key": key, "target": "VERSION", "version": "0" });
            let put =
                |key: &String, value: Vec<u8>| json!({ "request_put": { "key": key, "value": text(value) } });
            // another may take the name or the number in between: then it is looked up again
            self.ask(
                "kv/txn",
                &json!({
                    "compare": [absent(&by_name), absent(&by_number)],
                    "success": [put(&by_name, pack(&node)?), put(&by_number, name.as_bytes().to_vec())],
                }),
            )?;
        }
    }

    /// Gives a key a value in the place of the last one; none is none. Whether it had that one.
    fn exchange(&self, key: &str, last: Option<Vec<u8>>, next: Option<Vec<u8>>) -> Result<bool, StoreError> {
        let key = self.key(key);
        let compare = match last {
            None => json!({ "key": key, "target": "VERSION", "version": "0" }),
            Some(last) => json!({ "key": key, "target": "VALUE", "value": text(last) }),
        };
        let change = match next {
            Some(next) => json!({ "request_put": { "key": key, "value": text(next) } }),
            None => json!({ "request_delete_range": { "key": key } }),
        };
        let answer = self.ask("kv/txn", &json!({ "compare": [compare], "success": [change] }))?;
        // false is not written
        Ok(answer.get("succeeded").and_then(Value::as_bool).unwrap_or_default())
    }

    fn grant(&self, node: NodeId, life: Incarnation, lease: Duration) -> Result<Lease, StoreError> {
        let seconds = lease.as_secs().max(1).to_string();
        let answer = self.ask("lease/grant", &json!({ "TTL": seconds }))?;
        let id = answer.get("ID").and_then(Value::as_str).ok_or_else(|| error("a lease without a number"))?;
        let key = self.key(format_args!("alive/{}", node.0));
        self.ask("kv/put", &json!({ "key": key, "value": text(pack(&life)?), "lease": id }))?;
        Ok(Lease { id: id.to_owned(), node, life })
    }
}

impl MetadataStore for Etcd {
    fn register(&self, name: &str, address: &str) -> Result<(NodeId, Incarnation), StoreError> {
        if !is_name(name) || address.len() > MAX_NAME {
            return Err(error(format!("`{name}` cannot be the name of a node: use letters, digits, - _ .")));
        }
        let node = self.number_of(name)?;
        let key = self.key(format_args!("life/{}", node.0));
        let value = text(pack(&(name, address))?);
        let answer = self.ask("kv/put", &json!({ "key": key, "value": value }))?;
        let revision = answer.pointer("/header/revision").and_then(number);
        Ok((node, Incarnation(revision.ok_or_else(|| error("an answer without a revision"))?)))
    }

    fn nodes(&self) -> Result<BTreeMap<NodeId, Life>, StoreError> {
        let mut nodes = BTreeMap::new();
        for (node, packed, revision) in self.numbered("life")? {
            let (name, address): (String, String) = unpack(&packed)?;
            let life = Life { incarnation: Incarnation(revision), name, address };
            if life.is_sane() {
                nodes.insert(node, life);
            }
        }
        Ok(nodes)
    }

    fn view(&self) -> Result<Option<ClusterView>, StoreError> {
        let Some(packed) = self.get("view")? else { return Ok(None) };
        let view: ClusterView = unpack(&packed)?;
        if !view.is_sane() {
            return Err(error("the view is not one that a cluster can have"));
        }
        Ok(Some(view))
    }

    fn replace(&self, last: Option<&ClusterView>, next: &ClusterView) -> Result<bool, StoreError> {
        self.exchange("view", last.map(pack).transpose()?, Some(pack(next)?))
    }

    fn renew(&self, node: NodeId, life: Incarnation, lease: Duration) -> Result<(), StoreError> {
        let held = self.lease.lock().clone().filter(|held| (held.node, held.life) == (node, life));
        if let Some(held) = held {
            let answer = self.ask("lease/keepalive", &json!({ "ID": held.id }))?;
            if answer.pointer("/result/TTL").and_then(number).is_some_and(|rest| rest > 0) {
                return Ok(());
            }
        }
        let held = self.grant(node, life, lease)?;
        *self.lease.lock() = Some(held);
        Ok(())
    }

    fn alive(&self) -> Result<BTreeMap<NodeId, Incarnation>, StoreError> {
        let found = self.numbered("alive")?;
        found.into_iter().map(|(node, packed, _)| Ok((node, unpack(&packed)?))).collect()
    }

    fn report(&self, node: NodeId, report: &NodeReport) -> Result<(), StoreError> {
        let key = self.key(format_args!("report/{}", node.0));
        self.ask("kv/put", &json!({ "key": key, "value": text(pack(report)?) })).map(drop)
    }

    fn reports(&self) -> Result<BTreeMap<NodeId, NodeReport>, StoreError> {
        let found = self.numbered("report")?;
        found.into_iter().map(|(node, packed, _)| Ok((node, unpack(&packed)?))).collect()
    }

    fn backup(&self) -> Result<Option<BackupWish>, StoreError> {
        self.get("backup")?.map(|packed| unpack(&packed)).transpose()
    }

    fn replace_backup(
        &self,
        last: Option<&BackupWish>,
        next: Option<&BackupWish>,
    ) -> Result<bool, StoreError> {
        self.exchange("backup", last.map(pack).transpose()?, next.map(pack).transpose()?)
    }
}
