//! Who serves which slot, and where the servers stand.

use redis::Value;
use std::collections::HashMap;

/// The slots of a Redis cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// A server's address as the cluster announces it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// A name or a number.
    pub host: String,
    /// The port for clients.
    pub port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Address {
    /// From `host:port`; the host may be an IPv6 number with or without brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }
}

/// The servers of a range of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    last: u16,
    master: Address,
    replicas: Vec<Address>,
}

/// What `CLUSTER SLOTS` said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    /// By the first slot.
    ranges: std::collections::BTreeMap<u16, Range>,
}

impl Topology {
    /// Reads the reply of `CLUSTER SLOTS`; `asked` is the server that gave it, whose host it may leave out.
    pub(crate) fn parse(reply: &Value, asked: &Address) -> Option<Self> {
        let mut topology = Self::default();
        for range in items(reply)? {
            let range = items(range)?;
            let [first, last, servers @ ..] = range else { return None };
            let (first, last) = (slot(first)?, slot(last)?);
            let servers: Option<Vec<Address>> = servers.iter().map(|server| address(server, asked)).collect();
            let mut servers = servers?.into_iter();
            let master = servers.next()?;
            if first > last {
                return None;
            }
            topology.ranges.insert(first, Range { last, master, replicas: servers.collect() });
        }
        Some(topology)
    }

    fn range(&self, slot: u16) -> Option<&Range> {
        self.ranges.range(..=slot).next_back().map(|(_, range)| range).filter(|range| slot <= range.last)
    }

    /// The master of a slot, unless nobody serves it.
    pub(crate) fn master(&self, slot: u16) -> Option<&Address> {
        self.range(slot).map(|range| &range.master)
    }

    /// The replicas of a slot.
    pub(crate) fn replicas(&self, slot: u16) -> &[Address] {
        self.range(slot).map_or(&[], |range| &range.replicas)
    }

    /// All servers, each once.
    pub(crate) fn servers(&self) -> Vec<&Address> {
        let each =
            self.ranges.values().flat_map(|range| std::iter::once(&range.master).chain(&range.replicas));
        let mut servers: Vec<&Address> = each.collect();
        servers.sort();
        servers.dedup();
        servers
    }
}

fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn slot(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok().filter(|slot| *slot < SLOTS),
        _ => None,
    }
}

fn address(value: &Value, asked: &Address) -> Option<Address> {
    let [host, Value::Int(port), ..] = items(value)? else { return None };
    let host = match host {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok()?,
        Value::SimpleString(text) => text.clone(),
        Value::Nil => String::new(),
        _ => return None,
    };
    // a server that does not know its own address means the one that was asked
    let host = if host.is_empty() || host == "?" { asked.host.clone() } else { host };
    Some(Address { host, port: u16::try_from(*port).ok()? })
}

/// Which datacenter each server stands in.
pub(crate) type Places = HashMap<Address, u8>;

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.into()), Value::Int(port), Value::BulkString("id".into())])
    }

    fn range(first: i64, last: i64, servers: &[(&str, i64)]) -> Value {
        let mut items = vec![Value::Int(first), Value::Int(last)];
        items.extend(servers.iter().map(|(host, port)| server(host, *port)));
        Value::Array(items)
    }

    fn asked() -> Address {
        Address { host: "seed".to_owned(), port: 1 }
    }

    #[test]
    fn slots_between_ranges_are_served_by_nobody() {
        let reply = Value::Array(vec![range(0, 5, &[("a", 1), ("b", 2)]), range(7, 9, &[("c", 3)])]);
        let topology = Topology::parse(&reply, &asked()).unwrap();
        assert_eq!(topology.master(5).unwrap().host, "a");
        assert_eq!(topology.replicas(0)[0].host, "b");
        assert_eq!(topology.master(6), None);
        assert_eq!(topology.master(7).unwrap().host, "c");
        assert_eq!(topology.master(10), None);
        assert_eq!(topology.servers().len(), 3);
    }

    #[test]
    fn a_server_without_a_host_is_the_one_that_was_asked() {
        let reply = Value::Array(vec![range(0, 5, &[("", 6)])]);
        assert_eq!(Topology::parse(&reply, &asked()).unwrap().master(0).unwrap().host, "seed");
    }

    #[test]
    fn a_reply_of_another_shape_is_refused() {
        for reply in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 16_384, &[("a", 1)])]),
            Value::Array(vec![range(-1, 3, &[("a", 1)])]),
            Value::Array(vec![range(4, 3, &[("a", 1)])]),
            Value::Array(vec![range(0, 3, &[])]),
            Value::Array(vec![range(0, 3, &[("a", 65_536)])]),
        ] {
            assert_eq!(Topology::parse(&reply, &asked()), None, "{reply:?}");
        }
    }

    #[test]
    fn addresses_are_read() {
        let read = |text| Address::parse(text).map(|address| (address.host, address.port));
        assert_eq!(read("a:1"), Some(("a".to_owned(), 1)));
        assert_eq!(read("[::1]:2"), Some(("::1".to_owned(), 2)));
        assert_eq!(read("::1:2"), Some(("::1".to_owned(), 2)));
        assert_eq!(read("a"), None);
        assert_eq!(read("a:70000"), None);
    }
}
