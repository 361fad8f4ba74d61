//! A client that keeps one connection open and sends prepared requests, with as little overhead as
//! possible.

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// An open connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Returns the bytes of a request.
pub(crate) fn request(method: &str, path: &str, credential: Option<&str>, body: &str) -> Vec<u8> {
    request_with(method, path, credential, &[], body)
}

/// Returns the bytes of a request with further headers.
pub(crate) fn request_with(
    method: &str,
    path: &str,
    credential: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> Vec<u8> {
    let mut more =
        credential.map_or_else(String::new, |it| format!("Authorization: Bearer {it}\r\n"));
    for (name, value) in headers {
        more.extend([*name, ": ", *value, "\r\n"]);
    }
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Client {
    pub(crate) async fn connect(address: std::net::SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 << 10] })
    }

    /// Sends `request` and returns the body of the response. Fails unless the status is 2xx.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            let free = self.buffer.get_mut(filled..).unwrap_or_default();
            let read = self.stream.read(free).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            filled += read;
            let so_far = self.buffer.get(..filled).unwrap_or_default();
            let Some(head) = find(so_far, b"\r\n\r\n") else { continue };
            let (head, body) = so_far.split_at(head + 4);
            let length = content_length(head)?;
            if body.len() < length {
                continue;
            }
            if !head.starts_with(b"HTTP/1.1 2") {
                bail!("refused: {}", String::from_utf8_lossy(so_far));
            }
            let start = head.len();
            return self.buffer.get(start..filled).context("an answer is longer than thought");
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn content_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head)?;
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = length.context("an answer without content-length")?;
    Ok(length.trim().parse()?)
}
