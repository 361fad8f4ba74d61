//! A client of the WebSocket that reports a session's changes.

use std::{io::ErrorKind, net::TcpStream, time::Duration};

use serde_json::{Value, json};
use shared_context_system::Client;
use tungstenite::{
    Error, Message, WebSocket, client::IntoClientRequest as _, handshake::HandshakeError,
    http::HeaderValue, protocol::frame::coding::CloseCode,
};

/// The maximum time to wait for a message.
const MESSAGE_MAX: Duration = Duration::from_secs(30);

/// A socket, open or closed.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: WebSocket<TcpStream>,
    /// The code with which it was closed.
    pub(crate) closed: Option<u16>,
}

impl Socket {
    /// Opens a socket on `session` as `client`. Panics if it is rejected.
    #[track_caller]
    pub(crate) fn open(client: &Client, session: &str, query: &str) -> Self {
        Self::try_open(client, session, query)
            .unwrap_or_else(|(status, body)| panic!("no socket: {status} {body}"))
    }

    /// Opens a socket; the error is the status and the body of a rejection.
    pub(crate) fn try_open(
        client: &Client,
        session: &str,
        query: &str,
    ) -> Result<Self, (u16, Value)> {
        let url = format!("ws://{}/v1/sessions/{session}/changes{query}", client.address());
        let mut request = url.into_client_request().unwrap();
        let credential = format!("Bearer {}", client.credential());
        let credential = HeaderValue::from_str(&credential).unwrap();
        request.headers_mut().insert("authorization", credential);
        let stream = TcpStream::connect(client.address()).unwrap();
        stream.set_read_timeout(Some(MESSAGE_MAX)).unwrap();
        stream.set_nodelay(true).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self { socket, closed: None }),
            Err(HandshakeError::Failure(Error::Http(response))) => {
                let body = response.body().as_deref().unwrap_or_default();
                let body = String::from_utf8_lossy(body).into_owned();
                let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
                Err((response.status().as_u16(), body))
            }
            Err(error) => panic!("no handshake: {error}"),
        }
    }

    /// Returns the next message, or `None` if the socket is closed before.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(frame)) => {
                    self.closed = frame.map(|it| CloseCode::into(it.code));
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(other) => panic!("not a text: {other:?}"),
                Err(Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_)) => {
                    return None;
                }
                Err(Error::Io(error)) if error.kind() != ErrorKind::WouldBlock => return None,
                Err(error) => panic!("nothing comes: {error}"),
            }
        }
    }

    /// Returns the next message. Panics if the socket is closed.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        self.next().unwrap_or_else(|| panic!("the socket is closed: {:?}", self.closed))
    }

    /// Returns the revision of the next message, which must be a change.
    #[track_caller]
    pub(crate) fn revision(&mut self) -> u64 {
        let message = self.message();
        assert_eq!(message["event"], "change", "{message}");
        message["revision"].as_u64().unwrap()
    }

    /// Reads the first message, which must report the position `since`.
    #[track_caller]
    pub(crate) fn opened(mut self, since: u64) -> Self {
        assert_eq!(self.message(), json!({"event": "open", "since": since}));
        self
    }

    /// Sends a text message.
    pub(crate) fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Sends a binary message.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).unwrap();
    }

    /// Closes it as a well-behaved client does.
    pub(crate) fn close(mut self) {
        drop(self.socket.close(None));
        while self.next().is_some() {}
    }
}
