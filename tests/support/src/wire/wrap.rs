//! What may be wrapped around a connection's bytes: TLS, compression. Written for tests, apart from
//! what the proxy has.
//!
//! `LOCKSTEAD_WRAP` wraps all connections of a run: `tls`, `zlib`, `zstd`, or TLS and one of them
//! with a comma.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rustls::ClientConnection;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

/// What is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wrap {
    pub tls: bool,
    pub zlib: bool,
    pub zstd: bool,
}

/// A connection with its wrapping.
pub struct Wrapped {
    pub stream: TcpStream,
    tls: Option<ClientConnection>,
    packing: Option<Packing>,
}

/// The state of the compressed protocol.
struct Packing {
    zstd: bool,
    /// Received and not yet unpacked, unpacked and not yet read.
    raw: Vec<u8>,
    plain: Vec<u8>,
    next: u8,
}

impl Wrapped {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, tls: None, packing: None }
    }

    /// Begins TLS, with whichever server answers, and shows this certificate.
    pub fn encrypt(&mut self, certificate: Option<&[PathBuf; 2]>) -> io::Result<()> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAny(provider)));
        let config = match certificate {
            Some([chain, key]) => {
                let chain = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect);
                let key = PrivateKeyDer::from_pem_file(key).expect("a key");
                config.with_client_auth_cert(chain.expect("certificates"), key).expect("a pair")
            }
            None => config.with_no_client_auth(),
        };
        let name = ServerName::try_from("localhost").expect("a name");
        let mut tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut self.stream)?;
        }
        self.tls = Some(tls);
        Ok(())
    }

    /// Begins compression.
    pub fn pack(&mut self, zstd: bool) {
        self.packing = Some(Packing { zstd, raw: Vec::new(), plain: Vec::new(), next: 0 });
    }

    /// Whether a password may cross.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether it has gone over to pieces.
    pub fn is_packed(&self) -> bool {
        self.packing.is_some()
    }

    /// A command begins: pieces are counted again.
    pub fn begin(&mut self) {
        if let Some(packing) = &mut self.packing {
            packing.next = 0;
        }
    }

    fn read_below(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.read(chunk);
        };
        loop {
            match tls.reader().read(chunk) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            tls.read_tls(&mut self.stream)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }

    fn write_below(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return self.stream.write_all(bytes);
        };
        for piece in bytes.chunks(16 * 1024) {
            tls.writer().write_all(piece)?;
            while tls.wants_write() {
                tls.write_tls(&mut self.stream)?;
            }
        }
        Ok(())
    }

    pub fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        if self.packing.is_none() {
            return self.read_below(chunk);
        }
        loop {
            let packing = self.packing.as_mut().expect("looked");
            if !packing.plain.is_empty() {
                let n = chunk.len().min(packing.plain.len());
                chunk[..n].copy_from_slice(&packing.plain[..n]);
                packing.plain.drain(..n);
                return Ok(n);
            }
            if packing.unpack()? {
                continue;
            }
            let mut raw = [0; 16384];
            let n = self.read_below(&mut raw)?;
            if n == 0 {
                return Ok(0);
            }
            self.packing.as_mut().expect("looked").raw.extend_from_slice(&raw[..n]);
        }
    }

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(packing) = &mut self.packing else {
            return self.write_below(bytes);
        };
        let mut out = Vec::new();
        for piece in bytes.chunks(1 << 20) {
            packing.piece(piece, &mut out);
        }
        self.write_below(&out)
    }
}

impl Packing {
    /// Unpacks a piece, if one is whole. Its sequence id must be the next.
    fn unpack(&mut self) -> io::Result<bool> {
        let Some(header) = self.raw.first_chunk::<7>() else {
            return Ok(false);
        };
        let length = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize
        };
        let (packed, seq, plain) = (length(0), header[3], length(4));
        if self.raw.len() < 7 + packed {
            return Ok(false);
        }
        if seq != self.next {
            return Err(io::Error::other(format!("piece {seq} where {} was due", self.next)));
        }
        self.next = seq.wrapping_add(1);
        let piece: Vec<u8> = self.raw.drain(..7 + packed).skip(7).collect();
        self.plain = match (plain, self.zstd) {
            (0, _) => piece,
            (_, true) => zstd::decode_all(piece.as_slice())?,
            (_, false) => {
                let mut out = Vec::new();
                ZlibDecoder::new(piece.as_slice()).read_to_end(&mut out)?;
                out
            }
        };
        assert!(plain == 0 || plain == self.plain.len(), "a piece of another length");
        Ok(true)
    }

    fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let packed = if bytes.len() < 50 {
            None
        } else if self.zstd {
            Some(zstd::encode_all(bytes, 3).expect("packed"))
        } else {
            let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).expect("packed");
            Some(encoder.finish().expect("packed"))
        };
        let plain = if packed.is_some() { bytes.len() } else { 0 };
        let packed = packed.as_deref().unwrap_or(bytes);
        out.extend_from_slice(&packed.len().to_le_bytes()[..3]);
        out.push(self.next);
        out.extend_from_slice(&plain.to_le_bytes()[..3]);
        out.extend_from_slice(packed);
        self.next = self.next.wrapping_add(1);
    }
}

impl std::fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wrapped").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// Trusts any server.
#[derive(Debug)]
struct TrustAny(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for TrustAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
