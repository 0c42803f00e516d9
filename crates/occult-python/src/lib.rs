//! The client of Occult for Python: [`scaledb_occult_client`], with its sessions and transactions, behind a lock each.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scaledb_occult_client as occult;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

create_exception!(_occult, Error, PyException, "An operation has failed.");
create_exception!(_occult, ConflictError, Error, "A transaction has met conflicts each time it was tried.");
create_exception!(
    _occult,
    LossUnknownError,
    Error,
    "A write that the session knew may be lost: its slot has forgotten the failover."
);
create_exception!(_occult, LostWriteError, Error, "A failover has lost a write that the session knew.");
create_exception!(
    _occult,
    UnknownError,
    Error,
    "It is not known whether the write, or the commit, has happened."
);

/// One for the process, as its clients share it; it starts with the first.
static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build());

fn runtime() -> PyResult<&'static Runtime> {
    RUNTIME.as_ref().map_err(|error| Error::new_err(error.to_string()))
}

fn raised(error: occult::Error) -> PyErr {
    let text = error.to_string();
    if error.is_conflict() {
        ConflictError::new_err(text)
    } else if error.is_lost_write() {
        LostWriteError::new_err(text)
    } else if error.is_loss_unknown() {
        LossUnknownError::new_err(text)
    } else if error.is_unknown() {
        UnknownError::new_err(text)
    } else if matches!(error, occult::Error::Certificates(_)) {
        PyValueError::new_err(text)
    } else {
        Error::new_err(text)
    }
}

thread_local! {
    /// Whether this thread runs the function of a transaction: the session is lent to it.
    static IN_TRANSACTION: Cell<bool> = const { Cell::new(false) };
}

/// A key or a value: bytes as they are, a text in UTF-8.
struct Data(Vec<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Data {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(bytes.as_bytes().to_vec()));
        }
        let text = object.extract::<String>();
        text.map(|text| Self(text.into_bytes()))
            .map_err(|_| PyValueError::new_err("keys and values are bytes or str"))
    }
}

fn bytes(py: Python<'_>, value: Option<occult::Bytes>) -> Option<Py<PyBytes>> {
    value.map(|value| PyBytes::new(py, &value).unbind())
}

/// Connections to a cluster.
#[pyclass(frozen)]
struct Client(occult::Client);

#[pymethods]
impl Client {
    /// Client(seeds, datacenter=None, addresses=None): `addresses` says where servers are reached, if not where they
    /// announce to be: `{"host:port": "host:port"}`. For seeds `rediss://...`: the PEM text of the authorities that are
    /// trusted, instead of the system's, and of this client's certificate and key.
    #[new]
    #[pyo3(signature = (seeds, datacenter=None, addresses=None, authorities=None, certificate=None, key=None))]
    fn new(
        py: Python<'_>,
        seeds: Vec<String>,
        datacenter: Option<u8>,
        addresses: Option<HashMap<String, String>>,
        authorities: Option<Data>,
        certificate: Option<Data>,
        key: Option<Data>,
    ) -> PyResult<Self> {
        let mut options = occult::Options::new(seeds);
        options.datacenter = datacenter;
        options.tls.authorities = authorities.map(|pem| pem.0);
        options.tls.identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate.0, key.0)),
            (None, None) => None,
            _ => return Err(PyValueError::new_err("a certificate needs its key, and a key its certificate")),
        };
        for (announced, reached) in addresses.unwrap_or_default() {
            let pair = occult::Address::parse(&announced).zip(occult::Address::parse(&reached));
            let (announced, reached) =
                pair.ok_or_else(|| PyValueError::new_err("an address is host:port"))?;
            options.addresses.insert(announced, reached);
        }
        let runtime = runtime()?;
        let client = py.detach(|| runtime.block_on(occult::Client::connect(options)));
        client.map(Self).map_err(raised)
    }

    /// A session that knows of nothing, or what the token says.
    #[pyo3(signature = (token=None))]
    fn session(&self, token: Option<&str>) -> PyResult<Session> {
        let session = match token {
            None => self.0.session(),
            Some(token) => self.0.session_from(token).map_err(raised)?,
        };
        Ok(Session(Arc::new(Mutex::new(session))))
    }
}

/// What one client does, one thing after the other.
#[pyclass(frozen)]
struct Session(Arc<Mutex<occult::Session>>);

impl Session {
    /// The session of a transaction cannot be used by the transaction's function: it would wait for itself.
    fn check(&self) -> PyResult<()> {
        if IN_TRANSACTION.get() && self.0.try_lock().is_err() {
            return Err(Error::new_err("inside of a transaction use the transaction, and not its session"));
        }
        Ok(())
    }

    /// Runs with the session, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        run: impl AsyncFnOnce(&mut occult::Session) -> Result<T, occult::Error> + Send,
    ) -> PyResult<T> {
        let runtime = runtime()?;
        self.check()?;
        let done = py.detach(|| runtime.block_on(async { run(&mut *self.0.lock().await).await }));
        done.map_err(raised)
    }
}

#[pymethods]
impl Session {
    /// The value of a key, or None.
    fn get(&self, py: Python<'_>, key: Data) -> PyResult<Option<Py<PyBytes>>> {
        let value = self.with(py, async |session| session.get(key.0).await)?;
        Ok(bytes(py, value))
    }

    /// The values of several keys, in one round.
    fn get_many(&self, py: Python<'_>, keys: Vec<Data>) -> PyResult<Vec<Option<Py<PyBytes>>>> {
        let values = self.with(py, async |session| session.get_many(keys.iter().map(|key| &key.0)).await)?;
        Ok(values.into_iter().map(|value| bytes(py, value)).collect())
    }

    /// Gives a key a value.
    fn set(&self, py: Python<'_>, key: Data, value: Data) -> PyResult<()> {
        self.with(py, async |session| session.set(key.0, value.0).await)
    }

    /// Deletes a key: whether it was there.
    fn delete(&self, py: Python<'_>, key: Data) -> PyResult<bool> {
        self.with(py, async |session| session.delete(key.0).await)
    }

    /// Calls `run(transaction)`, commits, and returns what it has returned. After a conflict it is called again; an
    /// exception rolls back.
    fn transaction(&self, py: Python<'_>, run: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let runtime = runtime()?;
        self.check()?;
        let mut raised_by_run = None;
        let (run, by_run) = (&run, &mut raised_by_run);
        let done = py.detach(|| {
            runtime.block_on(async {
                let mut session = self.0.lock().await;
                let by_run = std::cell::RefCell::new(by_run);
                let by_run = &by_run;
                session
                    .transaction(|transaction| async move {
                        // Python code blocks this thread, and asks the runtime from it
                        let result = tokio::task::block_in_place(|| {
                            let before = IN_TRANSACTION.replace(true);
                            let result = Python::attach(|py| run.call1(py, (Transaction(transaction),)));
                            IN_TRANSACTION.set(before);
                            result
                        });
                        result.map_err(|error| {
                            **by_run.borrow_mut() = Some(error);
                            occult::Error::TransactionOver
                        })
                    })
                    .await
            })
        });
        match (done, raised_by_run) {
            (Err(occult::Error::TransactionOver), Some(error)) => Err(error),
            (done, _) => done.map_err(raised),
        }
    }

    /// What the session knows, as a short text for another one.
    fn token(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, async |session| Ok(session.token()))
    }

    /// Adds what another session knew when it made the token.
    fn add_token(&self, py: Python<'_>, token: &str) -> PyResult<()> {
        self.with(py, async |session| session.add_token(token))
    }

    /// What it has counted.
    fn metrics(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let metrics = self.with(py, async |session| Ok(*session.metrics()))?;
        let dictionary = PyDict::new(py);
        for (name, value) in metrics.each() {
            dictionary.set_item(name, value)?;
        }
        Ok(dictionary.unbind())
    }
}

/// A transaction, for as long as the function that it was given to runs.
#[pyclass(frozen)]
struct Transaction(occult::Transaction);

#[pymethods]
impl Transaction {
    /// The value of a key, or None.
    fn get(&self, py: Python<'_>, key: Data) -> PyResult<Option<Py<PyBytes>>> {
        let runtime = runtime()?;
        let value = py.detach(|| runtime.block_on(self.0.get(key.0)));
        Ok(bytes(py, value.map_err(raised)?))
    }

    /// The values of several keys, in one round.
    fn get_many(&self, py: Python<'_>, keys: Vec<Data>) -> PyResult<Vec<Option<Py<PyBytes>>>> {
        let runtime = runtime()?;
        let values = py.detach(|| runtime.block_on(self.0.get_many(keys.iter().map(|key| &key.0))));
        Ok(values.map_err(raised)?.into_iter().map(|value| bytes(py, value)).collect())
    }

    /// Gives a key a value, at the commit.
    fn set(&self, py: Python<'_>, key: Data, value: Data) -> PyResult<()> {
        let runtime = runtime()?;
        py.detach(|| runtime.block_on(self.0.set(key.0, value.0))).map_err(raised)
    }

    /// Deletes a key, at the commit.
    fn delete(&self, py: Python<'_>, key: Data) -> PyResult<()> {
        let runtime = runtime()?;
        py.detach(|| runtime.block_on(self.0.delete(key.0))).map_err(raised)
    }
}

/// The module.
#[pymodule]
fn _occult(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Client>()?;
    module.add_class::<Session>()?;
    module.add_class::<Transaction>()?;
    module.add("Error", py.get_type::<Error>())?;
    module.add("ConflictError", py.get_type::<ConflictError>())?;
    module.add("LossUnknownError", py.get_type::<LossUnknownError>())?;
    module.add("LostWriteError", py.get_type::<LostWriteError>())?;
    module.add("UnknownError", py.get_type::<UnknownError>())
}
