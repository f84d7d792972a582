//! A listener whose connections the test can cut.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// What the test wants of the connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cut {
    /// Connections that were accepted in an earlier generation are cut.
    pub generation: u64,
    /// New connections are closed at once.
    pub refuse: bool,
}

pub struct CuttableListener {
    listener: TcpListener,
    cut: watch::Receiver<Cut>,
}

impl CuttableListener {
    pub fn new(listener: TcpListener, cut: watch::Receiver<Cut>) -> Self {
        Self { listener, cut }
    }
}

impl axum::serve::Listener for CuttableListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else {
                tokio::task::yield_now().await;
                continue;
            };
            if self.cut.borrow().refuse {
                continue;
            }
            let _ = stream.set_nodelay(true);
            return (Connection::new(stream, self.cut.clone()), address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A TCP stream that breaks off when its generation is over.
pub struct Connection {
    stream: TcpStream,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
    cut: bool,
}

impl Connection {
    fn new(stream: TcpStream, mut cut: watch::Receiver<Cut>) -> Self {
        let mine = cut.borrow().generation;
        Self {
            stream,
            over: Box::pin(async move {
                // A sender that is gone ends the test, and the connection with it.
                let _ = cut.wait_for(|cut| cut.generation != mine).await;
            }),
            cut: false,
        }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.cut = self.cut || self.over.as_mut().poll(context).is_ready();
        if self.cut {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
