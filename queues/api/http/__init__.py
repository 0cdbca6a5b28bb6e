"""HTTP requests and responses as the operations see them: query, headers and body of a request, limits of what is read
and held in memory, responses, and the table from error code to status. Used by everything in `queues.api`, and for
its own answers by the web server; knows nothing of routes, tokens' checks or operations."""
