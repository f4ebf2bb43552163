//! The certificate of the server, read again when its files change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use super::TlsFiles;

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot read {}: run as a user that can read it", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not PEM with a certificate or a private key", path.display())]
    Malformed { path: PathBuf, source: pem::Error },
    #[error("the certificate {} and the key {} do not belong together", certificate.display(), key.display())]
    Unusable { certificate: PathBuf, key: PathBuf, source: rustls::Error },
}

/// The certificate in force.
#[derive(Debug)]
pub(super) struct Certificate {
    files: TlsFiles,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    /// The times of both files when they were read.
    times: Times,
    acceptor: TlsAcceptor,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("times", &self.times).finish_non_exhaustive()
    }
}

type Times = (Option<SystemTime>, Option<SystemTime>);

impl Certificate {
    pub(super) fn load(files: TlsFiles) -> Result<Self, CertificateError> {
        let times = times(&files);
        let loaded = Mutex::new(Loaded { times, acceptor: acceptor(&files)? });
        Ok(Self { files, loaded })
    }

    /// Returns the acceptor for a new connection. Files that cannot be used now, perhaps because
    /// only one of them was replaced yet, leave the former certificate in force.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let times = times(&self.files);
        if times != loaded.times
            && let Ok(acceptor) = acceptor(&self.files)
        {
            *loaded = Loaded { times, acceptor };
        }
        loaded.acceptor.clone()
    }
}

fn times(files: &TlsFiles) -> Times {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    (time(&files.certificate), time(&files.key))
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, CertificateError> {
    let read = |path: &Path| fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source });
    let malformed = |path: &Path| {
        let path = path.to_owned();
        move |source| CertificateError::Malformed { path, source }
    };
    let chain = CertificateDer::pem_slice_iter(&read(&files.certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(malformed(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(malformed(&files.key))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let unusable =
        |source| CertificateError::Unusable { certificate: files.certificate.clone(), key: files.key.clone(), source };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(unusable)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
