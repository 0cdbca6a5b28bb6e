"""The HTTP server: sockets, HTTP/1.1 on uvicorn, and the hand-over of connections to the pages process.

`serve` (in `server`) starts worker processes and the process of the pages. In a worker, `connection` and `reader` make
`exchange`s of what clients send; `applications` says what is served there. A connection on which a page is asked for
goes from `connection_sender` (worker) to `pages_process`, where `pages_handler` runs Django. Called by the commands
`serve` and `servepages`; calls `queues.api` and, below it, `queues.supervision`.
"""
