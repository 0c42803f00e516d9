//! Every engine is opened in one way, is called what its kind is called, and refuses what it does not understand.

use scaledb_base::{Error, Result};
use scaledb_engine::{EngineOptions, OptionSpec, OptionType};
use scaledb_engines::{EngineKind, Open, Settings, WithEngine};
use std::time::Duration;

/// What an engine says that it is.
struct Names;

impl WithEngine for Names {
    type Output = (EngineKind, &'static str);

    fn with<E: Open>(self, engine: E) -> Self::Output {
        (E::KIND, engine.name())
    }
}

fn open(kind: EngineKind, options: EngineOptions) -> Result<(EngineKind, &'static str)> {
    let settings =
        Settings { memory_budget: Some(256 << 20), background: Some(false), options, ..Settings::default() };
    scaledb_engines::open(kind, settings, Names)
}

#[test]
fn a_kind_opens_the_engine_of_its_name() {
    for kind in EngineKind::ALL {
        assert_eq!(open(kind, EngineOptions::new()).unwrap(), (kind, kind.name()));
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    let why = "third".parse::<EngineKind>().unwrap_err().to_string();
    assert_eq!(why, "engine third is not one of this program: use a version that has it");
}

#[test]
fn an_option_that_an_engine_does_not_have_is_refused() {
    for kind in EngineKind::ALL {
        let refused = open(kind, EngineOptions::new().with("no_such", 1)).unwrap_err();
        assert!(
            matches!(&refused, Error::UnknownOption { engine, name, .. } if *engine == kind.name() && name == "no_such")
        );
    }
    // of one engine, and not of the other
    let epoch = EngineOptions::new().with("merge_epoch", Duration::from_millis(1));
    assert!(open(EngineKind::Acc, epoch.clone()).is_ok());
    assert!(matches!(open(EngineKind::Cicada, epoch), Err(Error::UnknownOption { .. })));
    let wrong = EngineOptions::new().with("merge_epoch", 1);
    assert!(matches!(open(EngineKind::Acc, wrong), Err(Error::BadOption { .. })));
}

#[test]
fn what_an_engine_lists_it_takes() {
    let all = [(EngineKind::Acc, scaledb_acc::OPTIONS), (EngineKind::Cicada, scaledb_cicada::OPTIONS)];
    for (kind, specs) in all {
        for OptionSpec { name, takes, help } in specs {
            assert!(help.ends_with('.'), "{name}: {help}");
            match takes {
                OptionType::Integer => _ = open(kind, EngineOptions::new().with(name, 64)).unwrap(),
                OptionType::Time => {
                    _ = open(kind, EngineOptions::new().with(name, Duration::from_micros(50))).unwrap();
                }
                OptionType::Word(words) => {
                    for word in *words {
                        open(kind, EngineOptions::new().with(name, *word)).unwrap();
                    }
                }
            }
        }
    }
}
