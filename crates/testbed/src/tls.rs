//! TLS on loopback: a CA for the tests, the certificates it signs, and a server that passes its
//! connections on.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// A CA whose certificates are trusted only by clients that were given its own certificate.
#[derive(Debug)]
pub struct Authority {
    pem: String,
    key: KeyPair,
}

/// A certificate with its key, both as PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn fresh() -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = authority_parameters().self_signed(&key).expect("the parameters are valid");
        Self { pem: certificate.pem(), key }
    }

    /// Loads a CA that another process created and wrote to files.
    pub(crate) fn read(certificate: String, key: &str) -> Self {
        Self { pem: certificate, key: KeyPair::from_pem(key).expect("it was written by `key_pem`") }
    }

    /// Returns its certificate.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Signs a certificate for a server on loopback.
    pub fn for_loopback(&self) -> Pair {
        self.for_hosts(&["127.0.0.1", "localhost"])
    }

    /// Signs a certificate for a server with these names or addresses.
    pub fn for_hosts(&self, hosts: &[&str]) -> Pair {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
        let mut parameters = CertificateParams::new(hosts).expect("the names are valid");
        parameters.distinguished_name.push(DnType::CommonName, "loopback");
        self.sign(&parameters)
    }

    /// Signs a certificate for a client; a Kubernetes API server reads the names as a user and a
    /// group.
    pub fn for_client(&self, name: &str, organization: Option<&str>) -> Pair {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        if let Some(organization) = organization {
            parameters.distinguished_name.push(DnType::OrganizationName, organization);
        }
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&parameters)
    }

    fn sign(&self, parameters: &CertificateParams) -> Pair {
        let key = KeyPair::generate().expect("a key can be made");
        let issuer = Issuer::new(authority_parameters(), &self.key);
        let certificate = parameters.signed_by(&key, &issuer).expect("the parameters are valid");
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    fn server(&self) -> ServerConfig {
        let Pair { certificate, key } = self.for_loopback();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("it was just made");
        let key = PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()).expect("it was just made");
        ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))
            .expect("key and certificate belong together")
    }

    /// Returns a configuration that trusts this CA and no other.
    pub(crate) fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("it is PEM");
        roots.add(certificate).expect("it is an authority's certificate");
        ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The same for every CA, so that one can be recreated from its key alone.
fn authority_parameters() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(DnType::CommonName, "setpoint-testbed");
    parameters
}

/// A server on loopback that ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct TlsServer {
    address: SocketAddr,
    /// `None` only during the drop.
    runtime: Option<Runtime>,
}

impl TlsServer {
    /// Starts the server; every connection with a successful handshake is passed to `serve`.
    #[expect(clippy::disallowed_methods, reason = "a server of tests has a runtime of its own")]
    pub(crate) fn start<S, F>(authority: &Authority, serve: S) -> Self
    where
        S: Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let acceptor = TlsAcceptor::from(Arc::new(authority.server()));
        let runtime = runtime();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        runtime.spawn(accept(listener, acceptor, serve));
        Self { address, runtime: Some(runtime) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        // Connections that hang on purpose must not keep the test from ending.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A runtime with its own thread: a test may block the thread it runs on.
pub(crate) fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime can be started")
}

#[expect(clippy::disallowed_methods, reason = "a server of tests serves connections concurrently")]
async fn accept<S, F>(listener: std::net::TcpListener, acceptor: TlsAcceptor, serve: S)
where
    S: Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::from_std(listener).expect("the socket is non-blocking");
    let serve = Arc::new(serve);
    while let Ok((connection, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let serve = serve.clone();
        tokio::spawn(async move {
            // Tests provoke clients that do not trust us or close the connection: nothing to report
            // here.
            if let Ok(stream) = acceptor.accept(connection).await {
                serve(stream).await;
            }
        });
    }
}
