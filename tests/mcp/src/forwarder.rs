//! A forwarder that adds a credential to every request, for strangers that can
//! show none. All else passes byte by byte as it comes, `Host` and `Origin` too,
//! and streams stream.
//!
//! It reads no more of HTTP than it needs to find where a request ends: bodies
//! are as long as `Content-Length` says. An answer is not read at all.

use std::{
    io::{self, BufRead, BufReader, Read as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

/// A head is as long at most, in bytes.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Forwards what comes to a free port of loopback to `server`, such as
/// `127.0.0.1:40001`, with `credential`, until this process ends. Returns the
/// address of that port.
pub(crate) fn start(server: &str, credential: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.to_owned();
    let header = format!("Authorization: Bearer {credential}\r\n");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, header) = (server.clone(), header.clone());
            thread::spawn(move || {
                // Whoever hung up knows why; whoever did not gets no answer.
                let _ = forward(&client, &server, &header);
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// Forwards the requests of one connection, and their answers, until either side
/// hangs up; then both are.
fn forward(client: &TcpStream, server: &str, header: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut answers, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let answering = thread::spawn(move || {
        let _ = io::copy(&mut answers, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut requests = BufReader::new(client);
    let forwarded = loop {
        match forward_one(&mut requests, &mut server, header) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    server.shutdown(Shutdown::Both)?;
    let _ = answering.join();
    forwarded
}

/// Forwards one request; `false` when there is none any more.
fn forward_one(
    requests: &mut impl BufRead,
    server: &mut impl io::Write,
    header: &str,
) -> io::Result<bool> {
    let mut line = Vec::new();
    if requests.take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
        return Ok(false);
    }
    let mut head = line.clone();
    head.extend_from_slice(header.as_bytes());
    let mut body_bytes = 0;
    loop {
        line.clear();
        requests.take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)?;
        head.extend_from_slice(&line);
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        match text.trim_end().split_once(':') {
            None => break,
            Some(("content-length", value)) => {
                body_bytes = value.trim().parse().map_err(io::Error::other)?;
            }
            Some(("transfer-encoding", _)) => {
                return Err(io::Error::other("a body without a length is not forwarded"));
            }
            Some(_) => {}
        }
    }
    server.write_all(&head)?;
    io::copy(&mut requests.take(body_bytes), server)?;
    server.flush()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(requests: &str) -> (Vec<bool>, String) {
        let (mut requests, mut server) = (requests.as_bytes(), Vec::new());
        let mut results = Vec::new();
        while results.last() != Some(&false) {
            results.push(forward_one(&mut requests, &mut server, "Authorization: a\r\n").unwrap());
        }
        (results, String::from_utf8(server).unwrap())
    }

    #[test]
    fn a_credential_is_added_and_nothing_else_changed() {
        let first =
            "POST /mcp HTTP/1.1\r\n|HOST: evil.example\r\ncontent-Length:  5\r\n\r\n{\n\r\n}";
        let second = "GET /mcp HTTP/1.1\r\n|Origin: http://a\r\nHost: b\r\n\r\n";
        let both = format!("{first}{second}");
        assert_eq!(
            forwarded(&both.replace('|', "")),
            (vec![true, true, false], both.replace('|', "Authorization: a\r\n"))
        );
    }
}
