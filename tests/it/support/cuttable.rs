//! A listener whose connections the test can cut, or that cuts idle ones itself.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Instant, Sleep},
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
    idle: Option<Duration>,
}

impl CuttableListener {
    pub fn new(listener: TcpListener, cut: watch::Receiver<Cut>, idle_ms: Option<u64>) -> Self {
        Self {
            listener,
            cut,
            idle: idle_ms.map(Duration::from_millis),
        }
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
            return (
                Connection::new(stream, self.cut.clone(), self.idle),
                address,
            );
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
    idle: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl Connection {
    fn new(stream: TcpStream, mut cut: watch::Receiver<Cut>, idle: Option<Duration>) -> Self {
        let mine = cut.borrow().generation;
        Self {
            stream,
            over: Box::pin(async move {
                // A sender that is gone ends the test, and the connection with it.
                let _ = cut.wait_for(|cut| cut.generation != mine).await;
            }),
            cut: false,
            idle: idle.map(|idle| (idle, Box::pin(tokio::time::sleep(idle)))),
        }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.cut = self.cut || self.over.as_mut().poll(context).is_ready();
        if self.cut {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    fn stir(&mut self) {
        if let Some((idle, sleep)) = &mut self.idle {
            sleep.as_mut().reset(Instant::now() + *idle);
        }
    }

    fn is_idle(&mut self, context: &mut Context<'_>) -> bool {
        match &mut self.idle {
            Some((_, sleep)) => sleep.as_mut().poll(context).is_ready(),
            None => false,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            // The end of the stream, from the server's point of view: it closes its side.
            Poll::Pending if self.is_idle(context) => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
            ready @ Poll::Ready(_) => {
                self.stir();
                ready
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        self.stir();
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
