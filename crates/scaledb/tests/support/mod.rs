//! What tests of several programs share: the engines that they run on, and directories.

use scaledb::engine::FromOptions;
use scaledb::{Database, Options};
use std::path::PathBuf;

/// A test on every engine for each of these functions. A new engine is one more module here.
macro_rules! on_every_engine {
    ($($name:ident)*) => {
        mod acc {
            $(#[test]
            fn $name() {
                super::$name::<scaledb::engine::Acc>();
            })*
        }
        mod cicada {
            $(#[test]
            fn $name() {
                super::$name::<scaledb::engine::Cicada>();
            })*
        }
    };
}

/// A directory that goes with the test.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("scaledb-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        Self(path)
    }

    pub(crate) fn open<E: FromOptions>(&self) -> Database<E> {
        let options = Options::new().memory_budget(256 << 20).directory(&self.0).unwrap();
        Database::with_options(options).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
