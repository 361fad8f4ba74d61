//! A forwarder that adds a credential to every request, for programs that cannot send one. All
//! other bytes pass unchanged, including `Host` and `Origin`, and streams are not buffered.
//!
//! It parses only as much of HTTP as it needs to find the end of a request; `Content-Length` gives
//! the length of a body. Responses are not parsed.

use std::{
    io::{self, BufRead, BufReader, Read as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

/// Maximum length of a request head, in bytes.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Forwards connections from a free loopback port to `server`, such as `127.0.0.1:40001`, with
/// `credential`, until this process ends. Returns the address of that port.
pub(crate) fn start(server: &str, credential: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.to_owned();
    let header = format!("Authorization: Bearer {credential}\r\n");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, header) = (server.clone(), header.clone());
            thread::spawn(move || {
                // On an error the client sees a closed connection.
                let _ = forward(&client, &server, &header);
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// Forwards the requests and responses of one connection until either side closes it, then closes
/// both.
fn forward(client: &TcpStream, server: &str, header: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut responses, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let responding = thread::spawn(move || {
        let _ = io::copy(&mut responses, &mut to_client);
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
    let _ = responding.join();
    forwarded
}

/// Forwards one request. Returns `false` at the end of the connection.
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
