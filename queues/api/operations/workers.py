"""Workers of a namespace: what they say of themselves, commands to them, notes on the jobs that they run."""

from __future__ import annotations

from typing import Final

from queues.engine import WorkerCommandKind, annotate, read_note, worker_beat
from queues.engine import hold_key as hold_key_of_job
from queues.engine import list_workers as list_workers_of
from queues.services.workers.requests import cancel, command_worker

from ..context import ApiContext
from ..http.errors import ParameterError
from ..http.json_body import number_of, read_object
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response
from .worker_json import BEAT_MAX_BYTES, KEEP_MAX_MS, NOTE_MAX_BYTES, lines_of, note_fields_of, read_beat, worker_id_of

NO_SUCH_JOB: Final = json_response(404, {"error": "job not found"})
NO_SUCH_WORKER: Final = json_response(404, {"error": "worker not found"})
_COMMANDS: Final = {kind.value: kind for kind in WorkerCommandKind if kind is not WorkerCommandKind.CANCEL}


async def cancel_job(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Delete a job that waits; have the worker that runs it end it."""
    job_id = request.path["job_id"]
    state = await context.run(request, lambda queue: cancel(queue=queue, job_id=job_id))
    return NO_SUCH_JOB if state is None else json_response(200, {"state": state.value})


async def hold_key(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Have a job that is worked on hold a key, unless another one that is worked on does."""
    job_id, key = request.path["job_id"], request.query.get("key") or ""
    holder = await context.run(request, lambda queue: hold_key_of_job(queue, key, job_id))
    return json_response(200, {"holder": holder})


async def show_note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """What a worker said of a job; an empty object if nothing."""
    job_id = request.path["job_id"]
    note = await context.run(request, lambda queue: read_note(queue, job_id))
    return json_response(200, {name: text.decode("utf-8", "replace") for name, text in note.items()})


async def add_note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Keep what a worker says of a job: fields replace those of before, lines are added to its log."""
    content = await read_object(request, NOTE_MAX_BYTES)
    fields, lines = note_fields_of(content), lines_of(content)
    keep_ms = number_of(content, "keep_ms", 0)
    if not 1 <= keep_ms <= KEEP_MAX_MS:
        raise ParameterError("invalid keep_ms")
    job_id = request.path["job_id"]
    await context.run(request, lambda queue: annotate(queue, job_id, fields, lines=lines, keep_ms=keep_ms))
    return json_response(200, {"msg": "noted"})


async def list_workers(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The namespace's workers that were heard of within the last 30 s."""
    access = request.granted
    engine = await context.engine(access.pool)
    beats = await engine.run(list_workers_of(access.namespace))
    return json_response(200, {"namespace": access.namespace, "workers": beats})


async def beat(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Record what a worker says of itself; the reply has the commands that concern it."""
    content = await read_object(request, BEAT_MAX_BYTES)
    beat_of_worker, since_ms, ends = read_beat(content, namespace=request.granted.namespace)
    engine = await context.engine_after_body(request)
    reply = await engine.run(worker_beat(beat_of_worker, since_ms=since_ms, ends=ends))
    commands = [
        {"kind": one.kind.value, "target": one.target, "given": one.given, "attempt": one.attempt}
        for one in reply.commands
    ]
    return json_response(200, {"since_ms": reply.since_ms, "commands": commands})


async def command(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Tell a worker to take no more jobs, to take jobs again, or to end."""
    content = await read_object(request)
    kind = _COMMANDS.get(content["kind"]) if isinstance(content.get("kind"), str) else None
    if kind is None:
        raise ParameterError("invalid kind")
    worker = worker_id_of(content, "target")
    engine = await context.engine_after_body(request)
    told = await engine.run(command_worker(namespace=request.granted.namespace, kind=kind, worker=worker))
    return json_response(200, {"msg": "told"}) if told else NO_SUCH_WORKER
