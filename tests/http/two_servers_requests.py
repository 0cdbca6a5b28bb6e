"""Requests of every sort, good and bad, for the routes that both servers serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.http.two_servers import TOKEN
from tests.http.two_servers_connection import request

MIB = 1024 * 1024
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sent:
    """A request as it goes out. `{queue}` and the like in `target` stand for what each server calls it."""

    method: str
    target: str
    headers: Headers = (("Host", "localhost"), ("X-Token", TOKEN))
    body: bytes | None = None
    chunk: int = 0
    version: str = "1.1"

    def __repr__(self) -> str:
        size = "no body" if self.body is None else f"{len(self.body)} bytes {self.body[:80]!r}"
        headers = [(name, value[:200]) for name, value in self.headers]
        return f"<{self.method} {self.target[:600]} HTTP/{self.version} {headers} {size} in chunks of {self.chunk}>"

    def to_bytes(self, names: Mapping[str, str]) -> bytes:
        target = self.target
        for name, value in names.items():
            target = target.replace(f"{{{name}}}", value)
        line = f"{self.method} {target}"
        return request(line, *self.headers, body=self.body, chunk=self.chunk, version=self.version)

    @property
    def request_id(self) -> str | None:
        return next((value for name, value in self.headers if name.lower() == "x-request-id"), None)

    @property
    def expects_continue(self) -> bool:
        return ("Expect", "100-continue") in self.headers

    @property
    def to_head(self) -> bool:
        return self.method == "HEAD"


def raw(text: str) -> str:
    """Text as its UTF-8 bytes go out."""
    return text.encode().decode("latin-1")


def _mostly(usual: str, *odd: str) -> st.SearchStrategy[str]:
    """The usual in five of six cases: a request with one thing odd tells more than one with five."""
    return st.integers(0, 5).flatmap(lambda dice: st.sampled_from(odd) if dice == 0 else st.just(usual))


METHODS = st.sampled_from(
    ("PUT",) * 5
    + ("GET",) * 5
    + ("DELETE",) * 4
    + ("POST",) * 5
    + ("HEAD", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "LINK")
)

NAMESPACES = _mostly(
    *("demo", "%64emo", "other", "Demo", "demo.", "de%2Fmo", "de mo".replace(" ", "%20"), "", ".", "..", "%00"),
    *("%ff", "%C3%A9", "n" * 255, "n" * 256, "_demo", "demo,other", "demo;x=1", "%2e%2e", "%", "de%zzmo"),
)
QUEUES = _mostly(
    *("{queue}", "{queue}b", "{queue},{queue}b", "{queue},,{queue}b,", ",{queue}", ",", ",,", "{queue},_b", "_{queue}"),
    *("{queue}%2C{queue}b", "%71", "q%2Fx", "q.x", "q%20x", "q+x", "%C3%A9", "%ff", "%00", "q%0Ax", "q" * 255),
    *(
        "q" * 256,
        "",
        ".",
        "..",
        "%2e",
        "%2e%2e",
        "%",
        "%7",
        "%zz",
        "%25",
        "q%252Fx",
        "queues",
        "queues,",
        "bulk",
        "job",
    ),
    *("deadletter", "size", "q;x=1", "q:x", "q@x", "q~", "q'x", 'q"x', "q|x", "{queue},{queue}", "~", "q!$&()*=x"),
    *("%E4%B8%AD", ",".join(f"q{n}" for n in range(64)), ",".join(f"q{n}" for n in range(65))),
)
JOB_IDS = _mostly(
    *("{job}", UNKNOWN, UNKNOWN.lower(), UNKNOWN[:-1], UNKNOWN + "X", "x", "0", "", "%2F", "%20%ff%0A", "%C3%A9", "."),
    *("..", "-", "_", "%30", "j" * 300, "j%00", "null", "%D9%A3", "bulk", "job", "{job}%20", "%7B%7D", "*"),
)
_SHAPES = (
    *("/api/{ns}/{q}",) * 8,
    *("/api/{ns}/{q}/bulk",) * 4,
    *("/api/{ns}/{q}/job/{id}",) * 4,
    *("/api/{ns}/{q}/job/{id}/fail",) * 4,
    *("/api/{ns}/{q}/job/{id}/extend",) * 4,
    *("/api/{ns}/{q}/ack", "/api/{ns}/{q}/job/{id}/cancel", "/api/{ns}/{q}/job/{id}/note", "/api/{ns}/workers"),
    *("/api/{ns}/{q}/jobs/run", "/api/{ns}/{q}/jobs", "/api/{ns}/workers/command", "/api/{ns}/workers/pause"),
    *("/api/{ns}/{q}/job/{id}/release", "/api/{ns}/{q}/peek", "/api/{ns}/{q}/size", "/api/{ns}/queues"),
    *("/api/{ns}/{q}/", "/api//{ns}/{q}", "//api/{ns}/{q}", "/api/{ns}//{q}", "/api/{ns}/{q}//bulk", "/api/{ns}"),
    *("/api/{ns}/{q}/bulk/", "/api/{ns}/{q}/job", "/api/{ns}/{q}/job/", "/api/{ns}/{q}/job/{id}/", "/api/./{ns}/{q}"),
    *("/api/{ns}/{q}/../{q}", "/api/{ns}/{q}/job/{id}/fail/x", "/api/{ns}/{q}/job/{id}/FAIL", "/API/{ns}/{q}", "/api"),
    *("/%61pi/{ns}/{q}", "/api/{ns}/{q}%2Fbulk", "/api/{ns}/{q}/%62ulk", "/api/{ns}/{q}/%6Aob/{id}/f%61il", "/"),
    *("/api/{ns}/{q}/job%2F{id}", "/api%2F{ns}/{q}", "http://localhost/api/{ns}/{q}", "/api/{ns}/{q}/job/{id}%2Ffail"),
    *("/api/{ns}/{q}#fragment", "/api\\{ns}\\{q}", "/api/{ns}/{q}/j%6Fb/{id}/ext%65nd", "//x/api/{ns}/{q}"),
)


@st.composite
def paths(draw: st.DrawFn) -> str:
    shape = draw(st.sampled_from(_SHAPES))
    return shape.replace("{ns}", draw(NAMESPACES)).replace("{q}", draw(QUEUES)).replace("{id}", draw(JOB_IDS))


_NUMBERS = (
    "-1",
    "x",
    "",
    "1.5",
    "4294967295",
    "4294967296",
    "9" * 30,
    "0x10",
    "%2B1",
    "+1",
    "1e3",
    "%D9%A1",
    "%31",
    "01",
)
_VALUES: Mapping[str, tuple[str, ...]] = {
    "delay": ("0", "0.25", "5", "1.", ".5", "1,5", "0.0001", "1.0000000001", "4294967295", *_NUMBERS),
    "ttl": ("0", "60", "86400", *_NUMBERS),
    "tries": ("0", "1", "3", "65535", "65536", *_NUMBERS),
    "priority": ("0", "100", "-100", "101", "-101", "%2B5", "x", "", "-", "--1"),
    "at": (
        *("1", "4000000000", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00%2B01:00", "2026-01-01T00:00:00+01:00"),
        *("2026-01-01", "2026-13-01T00:00:00Z", "x", "", "-1", "9" * 12, "9999-12-31T23:59:59-23:59", "NaN"),
    ),
    "backoff": (
        "none",
        "fixed:5",
        "linear:1",
        "exponential:1:60",
        "sidekiq",
        "fixed",
        "fixed:0",
        "x",
        "",
        "fixed:1:2:3",
    ),
    "retention": ("0", "60", *_NUMBERS),
    "key": ("k1", "k2", "", "k" * 255, "k" * 256, "%C3%A9", "%ff", "%00", "a+b", "a%2Bb", "%", "%zz"),
    "key_ttl": ("5", "0", "x", ""),
    "ttr": ("30", "1", "0", *_NUMBERS),
    # None that would make a consumer wait for long.
    "timeout": ("0", "00", "601", *(value for value in _NUMBERS if value not in ("01", "+1", "%31"))),
    "count": ("1", "2", "5", "1000", "1001", "0", *_NUMBERS),
    "freeze_tries": ("true", "false", "1", "0", "t", "yes", "", "TRUE", "tRUE"),
    "attempt": ("1", "2", "0", *_NUMBERS),
    "key_mode": ("window", "until_done", "until_started", "replace", "x", "", "WINDOW"),
    "key_max_wait": ("0", "1.5", *_NUMBERS),
    "data": ("true", "0", "x", ""),
    "group": ("g",),
    "depends_on": ("a,b", ":a", ":a,other:b", "{job0}", "", "%00", "q/x", "{queue}:k"),
    "on_dependency_failure": ("wait", "fail", "continue", "x", ""),
    "once": ("a", "b", "", "x" * 201, "%ff"),
    "wait": ("0", "00", "601", "x", "-1"),
    "token": (TOKEN, f"default:{TOKEN}", "wrong", "", "nowhere:x", ":", ":x", "%00", "%ff"),
    "unknown": ("", "x", "%00", "%ff%fe", "x" * 500, "%E4%B8%AD", "a;b", "a=b", "a%26b", "{x}"),
    "": ("", "x"),
    "%64elay": ("1", "x"),
    "DELAY": ("x",),
    "delay[]": ("x",),
    " ttl".replace(" ", "+"): ("x",),
    "tries%00": ("x",),
    "%C3%A9": ("x",),
}
_PARAMETERS = st.sampled_from([f"{name}={value}" for name, values in _VALUES.items() for value in values])
_LOOSE = st.sampled_from(
    ["", "&", "delay", "=", "==", "&&&", "?", "??delay=1", "%", ";", "+", "%00", "tries=2;ttl=5", "a&a"]
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """The question mark included; "" for none."""
    kind = draw(st.sampled_from(("none", "none", "one", "one", "one", "some", "some", "loose", "repeated", "many")))
    if kind == "none":
        return ""
    if kind == "loose":
        return "?" + draw(_LOOSE)
    if kind == "many":
        return "?" + "&".join([draw(_PARAMETERS)] * draw(st.sampled_from((64, 65, 300))))
    if kind == "repeated":
        name = draw(st.sampled_from(("delay", "ttl", "tries", "ttr", "count", "attempt", "priority", "key")))
        chosen = draw(st.lists(st.sampled_from(_VALUES[name]), min_size=2, max_size=3))
        return "?" + "&".join(f"{name}={value}" for value in chosen)
    some = draw(st.lists(_PARAMETERS, min_size=1, max_size=1 if kind == "one" else 4))
    return "?" + draw(st.sampled_from(("&", "&", "&", "&", ";"))).join(some)


TOKENS: st.SearchStrategy[Headers] = st.integers(0, 4).flatmap(
    lambda dice: (
        st.just((("X-Token", TOKEN),))
        if dice
        else st.sampled_from(
            [
                (),
                (("X-Token", ""),),
                (("X-Token", "wrong"),),
                (("X-Token", f"default:{TOKEN}"),),
                (("X-Token", f"nowhere:{TOKEN}"),),
                (("X-Token", f":{TOKEN}"),),
                (("X-Token", "default:"),),
                (("X-Token", f"default:default:{TOKEN}"),),
                (("X-Token", TOKEN.upper()),),
                (("X-Token", f"{TOKEN} x"),),
                (("X-Token", f"  {TOKEN}  "),),
                (("X-Token", "\xe9\xff"),),
                (("X-Token", "t" * 5_000),),
                (("X-Token", TOKEN), ("X-Token", "wrong")),
                (("X-Token", "wrong"), ("X-Token", TOKEN)),
                (("X-Token", ""), ("X-Token", TOKEN)),
                (("x-TOKEN", TOKEN),),
                (("X_Token", TOKEN),),
                (("Authorization", f"Bearer {TOKEN}"),),
                (("Authorization", "Basic YWRtaW46eA=="), ("X-Token", TOKEN)),
            ]
        )
    )
)

_EXTRA: st.SearchStrategy[Headers] = st.sampled_from(
    [
        (("X-Request-ID", "trace:00-af_1.2/3"),),
        (("X-Request-ID", "with space"),),
        (("X-Request-ID", ""),),
        (("X-Request-ID", "i" * 128),),
        (("X-Request-ID", "i" * 129),),
        (("X-Request-ID", "\xe9"),),
        (("X-Request-ID", "first"), ("X-Request-ID", "second")),
        (("Cookie", "taskq_session=x; taskq_csrf=y"),),
        (("Cookie", ""),),
        (("If-None-Match", "*"), ("If-Modified-Since", "Sat, 01 Jan 2028 00:00:00 GMT")),
        (("If-Match", '"x"'), ("If-Unmodified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")),
        (("Range", "bytes=0-1"),),
        (("Accept", "text/html"), ("Accept-Language", "zh-hans"), ("Accept-Encoding", "gzip, br")),
        (("Content-Type", "application/x-www-form-urlencoded"),),
        (("Content-Type", "multipart/form-data; boundary=x"),),
        (("Content-Type", "application/json; charset=utf-16"), ("Content-Encoding", "gzip")),
        (("Origin", "https://example.org"), ("Referer", "https://example.org/x")),
        (("Access-Control-Request-Method", "PUT"), ("Origin", "null")),
        (("X-HTTP-Method-Override", "DELETE"), ("X-CSRFToken", "x")),
        (("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil")),
        (("X-Consumer", "worker-7"),),
        (("X-Consumer", raw("é") * 100),),
        (("Enable-Job-Version", "YES"), ("Job-Attr-Trace-ID", "abc"), ("Job-Attr-Trace-ID", "def")),
        (("Enable-Job-Version", "yes"), ("Job-Attr-Name", raw("中" * 50)), ("Job-Attr-Latin", "\xe9")),
        (("Enable-Job-Version", "NO"), ("Job-Attr-A", "v")),
        (("Enable-Job-Version", "YES"), *[(f"Job-Attr-{n}", "v") for n in range(16)]),
        (("Enable-Job-Version", "YES"), *[(f"Job-Attr-{n}", "v") for n in range(17)]),
        (
            ("Enable-Job-Version", "YES"),
            ("Job-Attr-", "v"),
            ("Job-Attr-Empty", ""),
            ("Job-Attr-" + "n" * 40, "v" * 200),
        ),
        (("Expect", "100-continue"),),
        (("Expect", "something"),),
        (("Connection", "close"),),
        (("Connection", "Upgrade"), ("Upgrade", "websocket")),
        (("X-Long", "x" * 10_000),),
    ]
)
EXTRAS = st.integers(0, 2).flatmap(lambda dice: _EXTRA if dice == 0 else st.just(()))
HOSTS = _mostly("localhost", "taskq.internal:7777", "", "a b", "evil.example\\x", "[::1]:80", "_")

_DEEP = 100_000
_JSON = st.sampled_from(
    [
        *(b"[1]", b"[1,2,3]", b' [ {"a": 1} , "x" ] \n', b"[]", b"[ ]", b"{}", b"null", b"1", b'"x"', b"[1,]", b"[,1]"),
        *(b"[1", b"1]", b"[1][2]", b"[NaN]", b"[1e999]", b"[01]", b'["\\ud800"]', b'["\xed\xa0\x80"]', b'["\xff"]'),
        *(b"\xef\xbb\xbf[1]", b"[1]\x00", b"[\x001]", "[1]".encode("utf-16"), b"[null,true,false]", b'[{"a":1,"a":2}]'),
        *(b"[" * _DEEP, b"[" * _DEEP + b"]" * _DEEP, b'[{"a":' * 500, b"[[[[[[[]]]]]]]", b'["a]b","\\"],"]'),
        *(
            b"[" + b"1," * 999 + b"1]",
            b"[" + b"1," * 1000 + b"1]",
            b"['x']",
            b"[1 2]",
            b"[tru]",
            b'["\n"]',
            b"[1.0,-0,1E5]",
        ),
        *(b'{"error": "boom"}', b'{"error": "\\ud800"}', b'{"error": "\xff"}', b'{"error": null}', b'{"error": 1}'),
        *(b'{"error": "x", "error": "y"}', b'{"delay": 2.5}', b'{"delay": 0}', b'{"delay": -1}', b'{"delay": "1"}'),
        *(b'{"delay": 1e400}', b'{"delay": true}', b'{"delay": 4294967296}', b'{"delay": 0.0001}', b'{"dead": true}'),
        *(b'{"dead": 1}', b'{"dead": false, "unknown": []}', b'{"a":' * _DEEP, b'{"error": "' + b"e" * 3000 + b'"}'),
        *(b'{"jobs": [{"id": "x"}]}', b'{"jobs": [{"id": "x", "attempt": 1, "result": "AA=="}]}', b'{"jobs": [1]}'),
        *(b'{"jobs": [{"id": "\\ud800"}]}', b'{"jobs": [{"id": "x", "result": "\\u00e9"}]}', b'{"keep_ms": 5}'),
        *(b'{"keep_ms": 5, "fields": {"a": "\\ud800"}, "lines": ["\\u0000"]}', b'{"kind": "stop", "target": "w"}'),
        *(
            b"",
            b" ",
            b"{",
            b"{}x",
            b'{"error": "\\u0000"}',
            b'{"\\ud800": 1}',
            "{}".encode("utf-16"),
            b"\xef\xbb\xbf{}",
        ),
    ]
)
_LARGE = st.sampled_from((MIB - 1, MIB, MIB + 1)).map(lambda size: b"x" * size)
BODIES = st.integers(0, 24).flatmap(
    lambda dice: _LARGE if dice == 0 else st.none() if dice < 8 else _JSON if dice < 20 else st.binary(max_size=200)
)
CHUNKS = st.sampled_from((0, 0, 0, 1_000, 65_536))


@st.composite
def wild_requests(draw: st.DrawFn) -> Sent:
    """Anything."""
    method, path, query, body = draw(METHODS), draw(paths()), draw(queries()), draw(BODIES)
    host, version = draw(HOSTS), draw(st.sampled_from(("1.1",) * 9 + ("1.0",)))
    return Sent(
        method=method,
        target=path + query,
        headers=(("Host", host), *draw(TOKENS), *draw(EXTRAS)),
        body=body,
        chunk=draw(CHUNKS) if version == "1.1" else 0,
        version=version,
    )


_FAST_PATH = (
    ("PUT", "", ("delay", "ttl", "tries", "priority", "at", "backoff", "retention", "key", "depends_on")),
    ("PUT", "/bulk", ("delay", "ttl", "tries", "priority", "retention", "key", "depends_on")),
    ("GET", "", ("ttr", "count", "timeout", "freeze_tries")),
    ("DELETE", "/job/{id}", ("attempt",)),
    ("POST", "/ack", ()),
    ("POST", "/job/{id}/cancel", ()),
    ("POST", "/job/{id}/note", ()),
    ("POST", "/job/{id}/fail", ("attempt",)),
    ("POST", "/job/{id}/extend", ("attempt", "ttr")),
)


@st.composite
def fast_path_requests(draw: st.DrawFn) -> Sent:
    """A request for a route of the fast path in which at most a few things are odd."""
    method, rest, names = draw(st.sampled_from(_FAST_PATH))
    given = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
    query = "&".join(f"{name}={draw(st.sampled_from(_VALUES[name]))}" for name in given)
    path = f"/api/{draw(NAMESPACES)}/{draw(QUEUES)}{rest.replace('{id}', draw(JOB_IDS))}"
    return Sent(
        method=method,
        target=path + ("?" + query if query else ""),
        headers=(("Host", "localhost"), *draw(TOKENS), *draw(EXTRAS)),
        body=draw(BODIES),
        chunk=draw(CHUNKS),
    )


_STEPS = (
    *("PUT /api/demo/{queue}",) * 4,
    "PUT /api/demo/{queue}?tries=3&retention=60",
    "PUT /api/demo/{queue}?tries=2&backoff=fixed:60",
    "PUT /api/demo/{queue}?delay=60&ttl=600",
    "PUT /api/demo/{queue}?key=k1&ttl=0",
    "PUT /api/demo/{queue}?priority=5&tries=2",
    "PUT /api/demo/{queue}b?tries=2",
    "PUT /api/demo/{queue}/bulk?tries=2",
    "PUT /api/demo/{queue}/job/{JOB}",
    *("GET /api/demo/{queue}?ttr=60",) * 4,
    "GET /api/demo/{queue}?count=2&ttr=60",
    "GET /api/demo/{queue}b,{queue}?count=3&ttr=600",
    "GET /api/demo/{queue}?freeze_tries=1",
    *("DELETE /api/demo/{queue}/job/{JOB}?attempt={N}",) * 2,
    "DELETE /api/demo/{queue}/job/{JOB}",
    *("POST /api/demo/{queue}/job/{JOB}/fail?attempt={N}",) * 2,
    "POST /api/demo/{queue}/job/{JOB}/fail",
    *("POST /api/demo/{queue}/job/{JOB}/extend?attempt={N}&ttr=90",) * 2,
    "POST /api/demo/{queue}/job/{JOB}/extend",
    "POST /api/demo/{queue}/job/{JOB}/release?attempt={N}",
    "GET /api/demo/{queue}/job/{JOB}/result",
    "GET /api/demo/{queue}/job/{JOB}/detail",
    "POST /api/demo/{queue}/pause",
    "POST /api/demo/{queue}/resume",
    "PUT /api/demo/{queue}/deadletter",
    "DELETE /api/demo/{queue}?all=1",
)
_FAIL_BODIES = (None, b"{}", b'{"error": "boom"}', b'{"delay": 30}', b'{"dead": true}', b"[]")
JOBS_MAX = 4


@st.composite
def steps(draw: st.DrawFn) -> Sent:
    """A step in the lives of a few jobs: `{job0}` is the first that was published, and so on."""
    method, target = draw(st.sampled_from(_STEPS)).split(" ")
    target = target.replace("{JOB}", f"{{job{draw(st.integers(0, JOBS_MAX - 1))}}}")
    target = target.replace("{N}", draw(st.sampled_from(("1", "1", "1", "2", "3"))))
    body = None
    if target.endswith("/fail") or "/fail?" in target:
        body = draw(st.sampled_from(_FAIL_BODIES))
    elif "/bulk" in target:
        body = draw(st.sampled_from((b"[1,2]", b"[3]", b"[]")))
    elif method in ("PUT", "DELETE"):
        body = draw(st.sampled_from((None, b"", b"job", b"\x00\xff")))
    return Sent(method=method, target=target, body=body)
