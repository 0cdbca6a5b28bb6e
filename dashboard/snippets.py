"""Code to copy: how to publish, consume and acknowledge the first job, in several languages.

Go and PHP use lmstfy's clients, Python uses the package taskq; Java, Node and curl need nothing but themselves.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.services.first_day import FIRST_QUEUES

QUEUE, TASK_QUEUE = FIRST_QUEUES
TOKEN_PLACEHOLDER: Final = "YOUR_TOKEN"  # noqa: S105 - what stands where a token goes; snippets.js replaces it
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetTarget:
    """Where the code sends its requests: `origin` is `https://host[:port]`."""

    origin: str
    namespace: str
    token: str = TOKEN_PLACEHOLDER
    queue: str = QUEUE

    @property
    def url(self) -> str:
        """That of the queue."""
        return f"{self.origin}/api/{self.namespace}/{self.queue}"

    @property
    def host(self) -> str:
        return urlsplit(self.origin).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.origin)
        return parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A piece of code. `place`: the file that it belongs into, or where it is typed."""

    title: str | Promise
    place: str | Promise
    code: str

    @property
    def is_file(self) -> bool:
        """Whether the place is the name of a file, not words."""
        return isinstance(self.place, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """`install`: what has to be typed first; "" for nothing."""

    key: str
    name: str
    install: str
    snippets: Sequence[Snippet]


def origin_of(request: HttpRequest) -> str:
    """Scheme and host as the reader's browser has them; behind a trusted proxy the proxy's (`HTTPS`)."""
    return f"{request.scheme}://{request.get_host()}"


def write_snippets(target: SnippetTarget) -> list[Language]:
    """All of it, in the order in which the page shows it."""
    return [_curl(target), _python(target), _go(target), _php(target), _java(target), _node(target)]


def snippet_context(request: HttpRequest, *, namespace: str, token: str = TOKEN_PLACEHOLDER) -> dict[str, Any]:
    """What the template of the code needs."""
    target = SnippetTarget(origin=origin_of(request), namespace=namespace, token=token)
    return {"languages": write_snippets(target), "target": target}


PUBLISH: Final = _("Publish a job")
CONSUME: Final = _("Consume it")
ACK: Final = _("Acknowledge it")
WORKER: Final = _("Run a worker")
ROUND: Final = _("Publish, consume and acknowledge a job")
_SHELL: Final = _("in a terminal")
_SAME_SHELL: Final = _("in the same terminal")


def _quoted(text: str) -> str:
    """As a string of Go, Java, JavaScript or Python."""
    return json.dumps(text)


def _php_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _curl(target: SnippetTarget) -> Language:
    token, url = shlex.quote(f"X-Token: {target.token}"), target.url
    publish = f"curl -X PUT -H {token} -d 'hello' '{url}?tries=3'"
    consume = f"JOB=$(curl -s -H {token} '{url}?timeout=5&ttr=120')\necho \"$JOB\""
    ack = f'ID=$(echo "$JOB" | sed \'s/.*"job_id":"\\([^"]*\\)".*/\\1/\')\ncurl -X DELETE -H {token} "{url}/job/$ID"'
    worker = (
        "while true; do\n"
        f"  JOB=$(curl -s -H {token} '{url}?timeout=30&ttr=120')\n"
        '  ID=$(echo "$JOB" | sed -n \'s/.*"job_id":"\\([^"]*\\)".*/\\1/p\')\n'
        '  if [ -z "$ID" ]; then sleep 1; continue; fi\n'
        '  echo "done: $ID"\n'
        f'  curl -X DELETE -H {token} "{url}/job/$ID"\n'
        "done"
    )
    return Language(
        key="curl",
        name="curl",
        install="",
        snippets=[
            Snippet(title=PUBLISH, place=_SHELL, code=publish),
            Snippet(title=CONSUME, place=_SAME_SHELL, code=consume),
            Snippet(title=ACK, place=_SAME_SHELL, code=ack),
            Snippet(title=WORKER, place=_SHELL, code=worker),
        ],
    )


def _python(target: SnippetTarget) -> Language:
    origin, namespace, token = map(_quoted, (target.origin, target.namespace, target.token))
    queue = _quoted(target.queue)
    publish = (
        "from taskq import Client\n\n"
        f"client = Client({origin}, namespace={namespace}, token={token})\n"
        f'print(client.publish({queue}, "hello", tries=3))'
    )
    worker = (
        "from taskq import App\n\n"
        f"app = App({origin}, namespace={namespace}, token={token})\n\n\n"
        f"@app.task(queue={_quoted(TASK_QUEUE)})\n"
        "def hello(name: str) -> None:\n"
        '    print(f"Hello, {name}!")'
    )
    return Language(
        key="python",
        name="Python",
        install="pip install 'taskq[http]'",
        snippets=[
            Snippet(title=PUBLISH, place="first.py", code=publish),
            Snippet(
                title=CONSUME, place="first.py", code=f"(job,) = client.consume({queue}, timeout=5)\nprint(job.body)"
            ),
            Snippet(title=ACK, place="first.py", code="client.ack(job)"),
            Snippet(title=WORKER, place="tasks.py", code=worker),
            Snippet(title="", place=_SHELL, code="taskq enqueue tasks.hello you\ntaskq worker tasks"),
        ],
    )


def _go(target: SnippetTarget) -> Language:
    is_plain = target.origin.startswith("http:")
    host = _quoted(target.host if is_plain else f"https://{target.host}")
    connect = (
        f"\tc := client.NewLmstfyClient({host}, {target.port}, {_quoted(target.namespace)}, {_quoted(target.token)})\n"
    )
    queue = _quoted(target.queue)
    check = "\tif err != nil {\n\t\tpanic(err)\n\t}\n"
    first = (
        'package main\n\nimport (\n\t"fmt"\n\n\t"github.com/bitleak/go-lmstfy-client/client"\n)\n\nfunc main() {\n'
        f'{connect}\tid, err := c.Publish({queue}, []byte("hello"), 0, 3, 0)\n{check}'
        f"\tfmt.Println(id)\n\tjob, err := c.Consume({queue}, 120, 5)\n{check}"
        "\tfmt.Println(string(job.Data))\n"
        f"\tif err := c.Ack({queue}, job.ID); err != nil {{\n\t\tpanic(err)\n\t}}\n}}"
    )
    worker = (
        'package main\n\nimport (\n\t"fmt"\n\t"time"\n\n'
        '\t"github.com/bitleak/go-lmstfy-client/client"\n)\n\nfunc main() {\n'
        f"{connect}\tfor {{\n\t\tjob, err := c.Consume({queue}, 120, 30)\n"
        "\t\tif err != nil || job == nil {\n\t\t\ttime.Sleep(time.Second)\n\t\t\tcontinue\n\t\t}\n"
        f"\t\tfmt.Println(string(job.Data))\n\t\tc.Ack({queue}, job.ID)\n\t}}\n}}"
    )
    return Language(
        key="go",
        name="Go",
        install="go mod init first && go get github.com/bitleak/go-lmstfy-client/client",
        snippets=[
            Snippet(title=ROUND, place="main.go", code=first),
            Snippet(title=WORKER, place="worker/main.go", code=worker),
        ],
    )


def _php(target: SnippetTarget) -> Language:
    origin, namespace, token, queue = map(_php_quoted, (target.origin, target.namespace, target.token, target.queue))
    connect = (
        f"<?php\nrequire 'vendor/autoload.php';\n\n$client = new Lmstfy\\Client({origin}, {namespace}, {token});\n"
    )
    first = (
        f"{connect}echo $client->Publish({queue}, 'hello', 0, 3), PHP_EOL;\n"
        f"$job = $client->Consume({queue}, 120, 5);\necho $job['data'], PHP_EOL;\n"
        f"$client->Ack({queue}, $job['job_id']);"
    )
    worker = (
        f"{connect}while (true) {{\n    $job = $client->Consume({queue}, 120, 30);\n"
        "    if ($job === null) {\n        sleep(1);\n        continue;\n    }\n"
        f"    echo $job['data'], PHP_EOL;\n    $client->Ack({queue}, $job['job_id']);\n}}"
    )
    install = (
        "composer init --no-interaction --name=first/day\n"
        "composer config repositories.lmstfy vcs https://github.com/bitleak/php-lmstfy-client\n"
        "composer require platform/php-lmstfy-client:dev-master"
    )
    return Language(
        key="php",
        name="PHP",
        install=install,
        snippets=[
            Snippet(title=ROUND, place="first.php", code=first),
            Snippet(title=WORKER, place="worker.php", code=worker),
        ],
    )


_JAVA_HEAD: Final = """import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.regex.Pattern;
"""

_JAVA_CALL: Final = """    static HttpResponse<String> call(String method, String path, String body) throws Exception {
        var content = HttpRequest.BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(QUEUE + path)).header("X-Token", TOKEN).method(method, content);
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    static String field(String name, String json) {
        var found = Pattern.compile("\\"" + name + "\\":\\"([^\\"]*)\\"").matcher(json);
        return found.find() ? found.group(1) : "";
    }
"""


def _java(target: SnippetTarget) -> Language:
    fields = (
        "    static final HttpClient HTTP = HttpClient.newHttpClient();\n"
        f"    static final String QUEUE = {_quoted(target.url)};\n"
        f"    static final String TOKEN = {_quoted(target.token)};\n\n"
    )
    show = 'System.out.println(new String(Base64.getDecoder().decode(field("data", job))));\n'
    ack = 'call("DELETE", "/job/" + field("job_id", job), "");\n'
    main = "    public static void main(String[] args) throws Exception {\n"
    first = (
        f"{_JAVA_HEAD}\npublic class First {{\n{fields}{main}"
        '        System.out.println(call("PUT", "?tries=3", "hello").body());\n'
        '        String job = call("GET", "?timeout=5&ttr=120", "").body();\n'
        f"        {show}        {ack}    }}\n\n{_JAVA_CALL}}}"
    )
    worker = (
        f"{_JAVA_HEAD}\npublic class Worker {{\n{fields}{main}        while (true) {{\n"
        '            var answer = call("GET", "?timeout=30&ttr=120", "");\n'
        "            if (answer.statusCode() != 200) {\n                Thread.sleep(1000);\n"
        "                continue;\n            }\n            String job = answer.body();\n"
        f"            {show}            {ack}        }}\n    }}\n\n{_JAVA_CALL}}}"
    )
    return Language(
        key="java",
        name="Java",
        install="",
        snippets=[
            Snippet(title=ROUND, place="First.java", code=first),
            Snippet(title=WORKER, place="Worker.java", code=worker),
        ],
    )


def _node(target: SnippetTarget) -> Language:
    connect = f'const queue = {_quoted(target.url)};\nconst headers = {{ "X-Token": {_quoted(target.token)} }};\n\n'
    show = 'console.log(Buffer.from(job.data, "base64").toString());\n'
    ack = 'await fetch(`${queue}/job/${job.job_id}`, { method: "DELETE", headers });\n'
    first = (
        f'{connect}const published = await fetch(`${{queue}}?tries=3`, {{ method: "PUT", headers, body: "hello" }});\n'
        "console.log(await published.json());\n"
        "const job = await (await fetch(`${queue}?timeout=5&ttr=120`, { headers })).json();\n"
        f"{show}{ack}"
    )
    worker = (
        f"{connect}for (;;) {{\n  const answer = await fetch(`${{queue}}?timeout=30&ttr=120`, {{ headers }});\n"
        "  if (answer.status !== 200) {\n    await new Promise((wake) => setTimeout(wake, 1000));\n    continue;\n  }\n"
        f"  const job = await answer.json();\n  {show}  {ack}}}"
    )
    return Language(
        key="node",
        name="Node",
        install="",
        snippets=[
            Snippet(title=ROUND, place="first.mjs", code=first.rstrip()),
            Snippet(title=WORKER, place="worker.mjs", code=worker),
        ],
    )
