//! Who may connect from where, and what they must prove: the first rule that fits decides.

use ipnet::IpNet;
use scaledb_pgwire::{Method, Report, Result, SqlState, Startup};
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// By the Unix socket.
    Local,
    /// By TCP.
    Tcp(SocketAddr),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("[local]"),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// Which connections a rule is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// All.
    #[default]
    Any,
    /// Connections of the Unix socket.
    Local,
    /// Connections of TCP, encrypted or not.
    Tcp,
    /// Connections of TCP that are encrypted.
    Tls,
    /// Connections of TCP that are not encrypted.
    Plain,
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The client is admitted without a proof: PostgreSQL's `trust`.
    Trust,
    /// A password, sent as it is.
    Password,
    /// A password, by SCRAM-SHA-256.
    Scram,
    /// Stay out.
    Reject,
}

/// A rule. Lists that are empty fit everything.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// For which connections it is.
    #[serde(default)]
    pub over: Over,
    /// Networks; an address alone is a network of one.
    #[serde(default, deserialize_with = "network")]
    pub address: Option<IpNet>,
    /// Databases.
    #[serde(default)]
    pub databases: Vec<String>,
    /// Users.
    #[serde(default)]
    pub users: Vec<String>,
    /// What the rule decides.
    pub method: Verdict,
}

impl Rule {
    /// A rule for all users, databases and addresses.
    pub fn of(method: Verdict) -> Self {
        Self { over: Over::Any, address: None, databases: Vec::new(), users: Vec::new(), method }
    }

    fn fits(&self, startup: &Startup, peer: Peer) -> bool {
        let tcp = matches!(peer, Peer::Tcp(_));
        let over = match self.over {
            Over::Any => true,
            Over::Local => !tcp,
            Over::Tcp => tcp,
            Over::Tls => tcp && startup.encrypted,
            Over::Plain => tcp && !startup.encrypted,
        };
        let address = match (&self.address, peer) {
            (None, _) => true,
            (Some(network), Peer::Tcp(address)) => network.contains(&address.ip().to_canonical()),
            (Some(_), Peer::Local) => false,
        };
        let listed = |list: &[String], name: &String| list.is_empty() || list.contains(name);
        over && address && listed(&self.databases, &startup.database) && listed(&self.users, &startup.user)
    }
}

/// What the client must prove.
///
/// # Errors
///
/// 28000: a rule rejects it, or none fits.
pub(crate) fn decide(rules: &[Rule], startup: &Startup, peer: Peer) -> Result<Method> {
    let rule = rules.iter().find(|rule| rule.fits(startup, peer));
    let encryption = if startup.encrypted { "TLS encryption" } else { "no encryption" };
    let (user, database) = (&startup.user, &startup.database);
    let refused = |why: &str| {
        let what = format!("{why} host \"{peer}\", user \"{user}\", database \"{database}\", {encryption}");
        Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, what)
    };
    match rule.map(|rule| rule.method) {
        Some(Verdict::Trust) => Ok(Method::Trust),
        Some(Verdict::Password) => Ok(Method::Password),
        Some(Verdict::Scram) => Ok(Method::Scram),
        Some(Verdict::Reject) => Err(refused("a rule rejects connection for")),
        None => Err(refused("no rule for")),
    }
}

fn network<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<IpNet>, D::Error> {
    let text = String::deserialize(from)?;
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map(Some).map_err(|_| serde::de::Error::custom(format!("{text} is no address or network")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn startup(user: &str, encrypted: bool) -> Startup {
        Startup {
            user: user.to_owned(),
            database: "shop".to_owned(),
            parameters: Vec::new(),
            minor: 0,
            encrypted,
        }
    }

    fn tcp(address: &str) -> Peer {
        Peer::Tcp(address.parse().unwrap())
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = [
            Rule { users: vec!["eve".to_owned()], ..Rule::of(Verdict::Reject) },
            Rule { over: Over::Local, ..Rule::of(Verdict::Trust) },
            Rule {
                over: Over::Tls,
                address: Some("10.0.0.0/8".parse().unwrap()),
                ..Rule::of(Verdict::Scram)
            },
            Rule { databases: vec!["other".to_owned()], ..Rule::of(Verdict::Trust) },
        ];
        let decided = |user, encrypted, peer| decide(&rules, &startup(user, encrypted), peer).ok();
        assert_eq!(decided("ann", false, Peer::Local), Some(Method::Trust));
        assert_eq!(decided("eve", false, Peer::Local), None);
        assert_eq!(decided("ann", true, tcp("10.1.2.3:4")), Some(Method::Scram));
        assert_eq!(decided("ann", true, tcp("[::ffff:10.1.2.3]:4")), Some(Method::Scram));
        assert_eq!(decided("ann", false, tcp("10.1.2.3:4")), None);
        assert_eq!(decided("ann", true, tcp("11.1.2.3:4")), None);
    }

    #[test]
    fn who_is_refused_is_told_what_was_looked_for() {
        let report = decide(&[], &startup("ann", false), tcp("10.1.2.3:4")).unwrap_err();
        assert_eq!(report.code, SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        for part in ["ann", "shop", "10.1.2.3", "no encryption"] {
            assert!(report.message.contains(part), "{}", report.message);
        }
    }
}
