//! The server's certificate, which can be renewed while the server runs.

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::{Arc, PoisonError, RwLock};

/// A certificate with its key, used for all new handshakes.
#[derive(Debug)]
pub struct Certificates {
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificates {
    /// Parses a certificate chain and a key, both as PEM.
    ///
    /// # Errors
    /// If one of them is invalid, or they do not match.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Arc<Certificates>, String> {
        let current = RwLock::new(Arc::new(certified(chain, key)?));
        Ok(Arc::new(Certificates { current }))
    }

    /// Replaces them for new handshakes.
    ///
    /// # Errors
    /// As for [`Certificates::read`]; then the current ones stay in use.
    pub fn renew(&self, chain: &[u8], key: &[u8]) -> Result<(), String> {
        let renewed = Arc::new(certified(chain, key)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    /// Returns the TLS configuration of a server: versions 1.2 and 1.3, with HTTP/1.1.
    ///
    /// # Errors
    /// If the library supports neither version.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, String> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = config.with_no_client_auth().with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn certified(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, String> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate is not PEM: {error}"))?;
    if chain.is_empty() {
        return Err("there is no certificate in the file".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("there is no private key in PEM: {error}"))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|error| format!("the certificate and the private key do not match: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

    fn made() -> (String, String, RootCertStore) {
        let names = vec!["oozie".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).expect("a root");
        (made.cert.pem(), made.signing_key.serialize_pem(), roots)
    }

    /// Whether a client that trusts these roots can connect to the server.
    fn is_trusted(config: &Arc<ServerConfig>, roots: &RootCertStore) -> bool {
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let name = "oozie".try_into().expect("a name");
        let mut client = ClientConnection::new(Arc::new(client), name).expect("a client");
        let mut server = ServerConnection::new(config.clone()).expect("a server");
        for _ in 0..10 {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).expect("memory");
            server.read_tls(&mut bytes.as_slice()).expect("memory");
            if server.process_new_packets().is_err() {
                return false;
            }
            let mut bytes = Vec::new();
            server.write_tls(&mut bytes).expect("memory");
            client.read_tls(&mut bytes.as_slice()).expect("memory");
            if client.process_new_packets().is_err() {
                return false;
            }
        }
        !client.is_handshaking() && !server.is_handshaking()
    }

    #[test]
    fn a_certificate_is_renewed_while_the_server_runs() {
        let ((first, first_key, first_roots), (second, second_key, second_roots)) =
            (made(), made());
        let known = Certificates::read(first.as_bytes(), first_key.as_bytes()).expect("they fit");
        let config = known.config().expect("TLS");
        assert!(is_trusted(&config, &first_roots));
        assert!(!is_trusted(&config, &second_roots));
        for (chain, key) in [
            (&second, &first_key),
            (&second, &second),
            (&second_key, &second_key),
            (&String::new(), &second_key),
        ] {
            known.renew(chain.as_bytes(), key.as_bytes()).expect_err("they do not fit");
        }
        assert!(is_trusted(&config, &first_roots), "it goes on with what it has");
        known.renew(second.as_bytes(), second_key.as_bytes()).expect("they fit");
        assert!(is_trusted(&config, &second_roots));
        assert!(!is_trusted(&config, &first_roots));
    }
}
