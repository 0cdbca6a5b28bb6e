"""Builds the Lua scripts: reads `queues/engine/lua/`, writes `queues/engine/lua/built/` (`make scripts`).

`build.py` reads a script's header and the libraries that it includes; `names.py` says which name stands for what;
`inline.py` puts functions where they are called, and `expressions.py` tells it in which order Lua evaluates. All of
them work on the syntax tree of luaparser.
"""
