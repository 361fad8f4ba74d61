//! TLS in front of a server, on loopback: an authority, certificates, and a proxy that ends TLS.

use std::{fs, path::Path, sync::Arc};

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// An authority, and the file with its certificate.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The path of its certificate.
    pub file: String,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: Certificate,
    key: KeyPair,
}

/// A TLS proxy in front of a server, on loopback.
#[derive(Debug)]
pub struct Proxy {
    /// Its URL.
    pub url: String,
    _runtime: Runtime,
}

impl Authority {
    /// Creates an authority. Its certificate is in `folder`.
    pub fn new(folder: &Path) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = folder.join("ca.pem");
        fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, file: file.to_str().unwrap().to_owned() }
    }

    /// Signs a certificate.
    pub fn signed(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate, key }
    }
}

/// Returns the parameters of a certificate for the server `name`.
pub fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

/// Creates a certificate that signs itself.
pub fn self_signed(params: &CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Identity { certificate, key }
}

impl Proxy {
    /// Starts a proxy with this certificate in front of the server at `address`.
    pub fn start(address: &str, identity: &Identity) -> Self {
        let key = PrivateKeyDer::try_from(identity.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let server = address.to_owned();
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, server) = (acceptor.clone(), server.clone());
                tokio::spawn(async move {
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let mut server = TcpStream::connect(server).await.unwrap();
                    drop(copy_bidirectional(&mut client, &mut server).await);
                });
            }
        });
        Self { url, _runtime: runtime }
    }
}
