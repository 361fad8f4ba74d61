//! TLS of the client: the authorities that it trusts, and errors about certificates.
//!
//! # Invariant
//!
//! Certificates are always verified. No option turns that off.

use std::{fs, io, path::Path, sync::Arc};

use rustls::{CertificateError, Error as TlsError, crypto::ring};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::problem::{Kind, Problem};

/// A failure of TLS as text: the cause and the next step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TlsFailure {
    cause: &'static str,
    next: &'static str,
}

/// Returns the settings of a client that trusts the authorities in the file `ca`, or those
/// of this machine.
///
/// # Errors
///
/// The file or the machine has no certificate of an authority.
pub(super) fn config(ca: Option<&Path>) -> Result<TlsConfig, Problem> {
    let roots = match ca {
        Some(file) => authorities_in(file)?,
        None => authorities_of_machine()?,
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::from(roots))
        .build())
}

fn authorities_in(file: &Path) -> Result<Vec<Certificate<'static>>, Problem> {
    let unusable = |why: &str| {
        Problem::usage(format!("--ca {}: {why}", file.display()))
            .next("name a PEM file with the certificate of the authority that signed the server's")
    };
    let text = fs::read(file).map_err(|error| {
        unusable(match error.kind() {
            io::ErrorKind::NotFound => "there is no such file",
            io::ErrorKind::PermissionDenied => "you may not read this file",
            _ => "this file cannot be read",
        })
    })?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(it)) if is_certificate(&it) => certificates.push(it),
            Ok(PemItem::Certificate(_)) | Err(_) => {
                return Err(unusable("a certificate in this file is damaged"));
            }
            Ok(_) => {}
        }
    }
    if certificates.is_empty() {
        return Err(unusable("this file has no certificate"));
    }
    Ok(certificates)
}

/// Returns true if `certificate` can be trusted as an authority. The client would skip one
/// that cannot.
fn is_certificate(certificate: &Certificate<'_>) -> bool {
    rustls::RootCertStore::empty().add(certificate.der().to_vec().into()).is_ok()
}

fn authorities_of_machine() -> Result<Vec<Certificate<'static>>, Problem> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err(Problem::usage("this machine has no certificates of authorities")
            .next("install them (Debian: `ca-certificates`), or name a PEM file with --ca"));
    }
    Ok(found.iter().map(|it| Certificate::from_der(it).to_owned()).collect())
}

/// Returns the error of TLS behind `error`.
fn tls_error(error: &ureq::Error) -> Option<&TlsError> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Returns true if the server's certificate was rejected: no request was sent.
pub(super) fn is_certificate_rejected(error: &ureq::Error) -> bool {
    matches!(tls_error(error), Some(TlsError::InvalidCertificate(_)))
}

/// Returns the failure of TLS behind `error`, if it is one.
pub(super) fn failure(error: &ureq::Error) -> Option<TlsFailure> {
    let error = tls_error(error)?;
    let (cause, next) = match error {
        TlsError::InvalidCertificate(error) => certificate_failure(error),
        TlsError::InvalidMessage(_) => {
            ("it does not speak TLS", "write the address with http:// if it is a plain HTTP server")
        }
        _ => (
            "no secure connection could be agreed on",
            "check that the address is right and that the server offers TLS 1.2 or 1.3",
        ),
    };
    Some(TlsFailure { cause, next })
}

fn certificate_failure(error: &CertificateError) -> (&'static str, &'static str) {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "its certificate has expired",
            "renew the server's certificate; if it is valid, set the clock of this machine",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet", "set the clock of this machine and of the server")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "its certificate is for another name",
            "use the name that is in the certificate with --url, or correct the certificate",
        ),
        CertificateError::UnknownIssuer => (
            "its certificate is self-signed, or signed by an authority that is not trusted here",
            "if you trust it, name the authority's certificate with --ca FILE",
        ),
        CertificateError::Revoked => {
            ("its certificate was revoked", "replace the server's certificate")
        }
        _ => (
            "its certificate is not valid for a server; often it is self-signed as an authority",
            "create it without CA:TRUE (openssl req -x509 … -addext \
             basicConstraints=critical,CA:FALSE) or have an authority sign it, and name it or the \
             authority's with --ca FILE",
        ),
    }
}

impl TlsFailure {
    /// Converts the failure of a connection to `url` into a problem.
    pub(super) fn problem(&self, url: &str) -> Problem {
        let message = format!("no secure connection to {url}: {}", self.cause);
        Problem::new(Kind::Unreachable, "TLS_FAILED", message).next(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let rejected = |part: &str| {
            let problem = config(Some(&file)).unwrap_err();
            assert_eq!(problem.code(), "USAGE");
            assert!(problem.message().contains(part), "{}", problem.message());
        };
        rejected("there is no such file");
        fs::write(&file, "no certificate").unwrap();
        rejected("this file has no certificate");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(&file, broken).unwrap();
        rejected("a certificate in this file is damaged");
    }

    #[test]
    fn only_an_error_of_tls_is_a_failure() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(failure(&ureq::Error::Io(refused)), None);
        let error = TlsError::InvalidCertificate(CertificateError::Expired);
        let expired = ureq::Error::Io(io::Error::new(io::ErrorKind::InvalidData, error));
        assert_eq!(failure(&expired).unwrap().cause, "its certificate has expired");
    }
}
