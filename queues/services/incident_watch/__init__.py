"""The watch over all pools: reads surveys, finds what is wrong, and has it recorded as incidents.

`pool_findings` says what is wrong with a pool and its queues, also for pages, which show what they find themselves even
where no watch runs. `watch` takes the looks; `runpump` calls it, and the pages process does when no `runpump` has
lately: so it is noticed that there is no pump.
"""
