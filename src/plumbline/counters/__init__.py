"""What Lustre counts on a server, a client or a router, as metrics: text -> counts."""
