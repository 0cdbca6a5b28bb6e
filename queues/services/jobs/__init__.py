"""Jobs: publishing, delivery, finding them, acting on them, and what the page of a job shows.

The API and the pages call these. They fill in the queue's policy and make operations of the engine, or run them."""
