"""Sends the alerts that are due: claims them, sends them side by side, notes what became of each.

Any number of processes may do it. A claim is put on rows before they are sent and is void after CLAIMED_FOR, so that a
process that dies costs a delay, and at the worst a second message with the same `webhook-id`. A channel gets its alerts
in order: while one waits to be tried again, those behind it wait, too. A channel that fails, is slow or has many alerts
delays no other: each turn takes some alerts of each channel, and sends for TURN_S at most.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import orjson
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Min, QuerySet
from django.utils.translation import override

from queues import __version__
from queues.http_client import HttpClient, HttpClientError, Resolver, client_tls, parse_target
from queues.http_client.headers import write_headers
from queues.models import AlertChannel, AlertDelivery, AlertEvent, AlertTransport
from queues.models.alert import ERROR_MAX
from queues.services.push.endpoints import address_rules, signing_keys
from queues.services.push.secrets import UnreadableSecretError
from queues.services.push.signing import sign

from .messages import mail_text, slack_payload, subject_of, webhook_payload
from .queueing import settling

logger = logging.getLogger(__name__)

CHANNELS_AT_ONCE: Final = 50
"""Channels that one turn sends to: those whose next alert has been due the longest."""

AT_ONCE: Final = 50
"""Alerts of each of them."""

TURN_S: Final = 20.0
"""After so long a turn begins no further request, so that it is over long before its claims are void."""

TIMEOUT_S: Final = 10.0
CLAIMED_FOR: Final = timedelta(seconds=90)
ATTEMPTS_MAX: Final = 12
BACKOFF_FIRST_S: Final = 10
BACKOFF_MAX_S: Final = 4 * 3_600
"""10 s, doubled each time, half of it random: the last of twelve attempts comes three to six hours after the first."""

BEHIND_FOR: Final = timedelta(hours=6)
"""So long an alert waits behind others of its channel that fail; then it is given up."""

KEPT: Final = timedelta(days=30)
PRUNE_BATCH: Final = 500


class SendError(Exception):
    """It was not sent, and why; may be tried again."""


def send_due_alerts(*, now: datetime, late_by: timedelta = timedelta(0)) -> int:
    """Send a batch of what has been due for `late_by`. How many were sent. Raises database errors."""
    claimed = _claim(now, late_by)
    if not claimed:
        return 0
    return sum(_note(outcome, now) for outcome in asyncio.run(_send_all(claimed)))


def prune_alerts(*, now: datetime) -> int:
    """Forget a batch of those that are older than KEPT. How many."""
    old = list(AlertDelivery.objects.filter(created_at__lt=now - KEPT).values_list("pk", flat=True)[:PRUNE_BATCH])
    if old:
        AlertDelivery.objects.filter(pk__in=old).delete()
    return len(old)


Batch = Sequence[AlertDelivery]
"""What one message or request tells. All of one channel."""


def _claim(now: datetime, late_by: timedelta) -> list[Batch]:
    waiting = AlertDelivery.objects.filter(sent_at=None, failed_at=None)
    due = waiting.filter(due_at__lte=now - late_by)
    with transaction.atomic():
        chosen = _choose(waiting.exclude(settling(now)), due)
        if not chosen:
            return []
        claim = secrets.token_hex(16)
        due.filter(pk__in=chosen).update(claim=claim, due_at=now + CLAIMED_FOR)
    rows = AlertDelivery.objects.filter(claim=claim, sent_at=None, failed_at=None)
    by_channel: dict[int, list[AlertDelivery]] = defaultdict(list)
    for row in rows.select_related("channel", "incident").order_by("pk"):
        by_channel[row.channel_id].append(row)
    return [batch for found in by_channel.values() for batch in _batches(found)]


def _choose(waiting: QuerySet[AlertDelivery], due: QuerySet[AlertDelivery]) -> list[int]:
    """Of each channel whose first alert is due the first ones that are. A test does not wait for others."""
    first = (
        waiting.exclude(event=AlertEvent.TEST).order_by().values("channel").annotate(first=Min("pk")).values("first")
    )
    ready = due.filter(pk__in=first).order_by("due_at", "pk").values_list("channel", flat=True)[:CHANNELS_AT_ONCE]
    tests = due.filter(event=AlertEvent.TEST).order_by("due_at", "pk").values_list("pk", flat=True)[:CHANNELS_AT_ONCE]
    chosen = set(tests)
    for channel in list(ready):
        chosen.update(due.filter(channel=channel).order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    return sorted(chosen)


def _batches(rows: list[AlertDelivery]) -> list[Batch]:
    """Webhooks one by one, messages for people together."""
    if rows[0].channel.transport == AlertTransport.WEBHOOK:
        return [[row] for row in rows]
    return [rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a batch. `error`: what went wrong; "": nothing. `is_tried` false: an earlier one of its channel
    has failed, or, without an error, the turn was over before."""

    batch: Batch
    error: str = ""
    is_tried: bool = True


async def _send_all(batches: Sequence[Batch]) -> list[_Outcome]:
    """Channels side by side; those of one channel in their order, as far as the first that fails."""
    by_channel: dict[int, list[Batch]] = defaultdict(list)
    for batch in batches:
        by_channel[batch[0].channel_id].append(batch)
    sender, until = _Sender(), time.monotonic() + TURN_S
    outcomes = await asyncio.gather(*[_send_in_order(sender, its, until) for its in by_channel.values()])
    return [outcome for found in outcomes for outcome in found]


async def _send_in_order(sender: _Sender, batches: Sequence[Batch], until: float) -> list[_Outcome]:
    """At least the first one, and those that can be begun `until` then."""
    outcomes: list[_Outcome] = []
    error = ""
    for batch in batches:
        if error or (outcomes and time.monotonic() >= until):
            outcomes.append(_Outcome(batch=batch, error=error, is_tried=False))
            continue
        error = await sender.send(batch)
        outcomes.append(_Outcome(batch=batch, error=error))
    return outcomes


class _Sender:
    """Sends batches from one event loop."""

    def __init__(self) -> None:
        self._resolver = Resolver()
        self._tls = client_tls(settings.TASKQ_PUSH_CA_FILE)

    async def send(self, batch: Batch) -> str:
        """What went wrong; "": nothing."""
        channel = batch[0].channel
        try:
            if not channel.enabled:
                raise SendError("the channel is disabled")
            if channel.transport == AlertTransport.EMAIL:
                await asyncio.to_thread(_mail, channel, batch)  # the server has EMAIL_TIMEOUT
            else:
                await self._post(channel, batch)
        except (SendError, HttpClientError, UnreadableSecretError, OSError, ValueError) as error:
            return str(error) or type(error).__name__
        except Exception as error:  # a mail server's refusal, or a defect: other channels go on
            logger.exception("alert not sent", extra={"action": "alerts.send", "channel": channel.pk})
            return f"{type(error).__name__}: {error}"
        return ""

    async def _post(self, channel: AlertChannel, batch: Batch) -> None:
        target = parse_target(channel.url)
        client = HttpClient(target, rules=address_rules(), resolver=self._resolver, tls=self._tls, max_kept=0)
        headers, body = _request(channel, batch)
        response = await client.post(write_headers(headers), body, timeout_s=TIMEOUT_S)
        if not 200 <= response.status < 300:
            raise SendError(f"{response.status} {response.reason}".strip())


def _request(channel: AlertChannel, batch: Batch) -> tuple[Sequence[tuple[str, str]], bytes]:
    with override(settings.LANGUAGE_CODE):
        is_slack = channel.transport == AlertTransport.SLACK
        payload: Mapping[str, object] = slack_payload(batch) if is_slack else webhook_payload(batch[0])
    body = orjson.dumps(payload)
    headers = [
        ("user-agent", f"taskq/{__version__}"),
        ("accept", "*/*"),
        ("content-type", "application/json"),
    ]
    if is_slack:
        return headers, body
    message_id, timestamp_s = f"alert-{batch[0].pk}", int(time.time())
    keys = signing_keys(channel.secrets)
    signature = sign(keys, message_id=message_id, timestamp_s=timestamp_s, body=body)
    return [
        *headers,
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp_s)),
        ("webhook-signature", signature),
    ], body


NO_SERVER: Final = "django.core.mail.backends.dummy.EmailBackend"


def _mail(channel: AlertChannel, batch: Batch) -> None:
    if settings.EMAIL_BACKEND == NO_SERVER:
        raise SendError("EMAIL_URL is not set: no server takes mails")
    with override(settings.LANGUAGE_CODE):
        EmailMessage(subject_of(batch), mail_text(batch), to=list(channel.addresses)).send()


def _note(outcome: _Outcome, now: datetime) -> int:
    # Of a stranger's answer: PostgreSQL takes no text with a NUL, and the other channels' alerts are still to be noted.
    channel, error = outcome.batch[0].channel, outcome.error.replace("\0", "")[:ERROR_MAX]
    is_sent = outcome.is_tried and not error
    # All of a batch are due again at the same time, so that they stay in order.
    pause = _backoff(outcome.batch[0].attempts + 1) if outcome.is_tried else timedelta(0)
    for row in outcome.batch:
        row.attempts += outcome.is_tried
        row.claim, row.error = "", error
        if is_sent:
            row.sent_at = now
        elif _is_given_up(row, outcome, now):
            row.failed_at = now
        else:
            row.due_at = now + pause
    AlertDelivery.objects.bulk_update(outcome.batch, ["attempts", "claim", "error", "sent_at", "failed_at", "due_at"])
    if not outcome.is_tried:
        return 0
    changed: dict[str, object] = {"last_error": error} | ({} if error else {"last_sent_at": now})
    AlertChannel.objects.filter(pk=channel.pk).update(**changed)
    fields = {"action": "alerts.send", "channel": channel.pk, "alerts": len(outcome.batch)}
    if error:
        logger.warning("alert not sent", extra=fields | {"reason": error})
        return 0
    logger.info("alert sent", extra=fields)
    return len(outcome.batch)


def _is_given_up(row: AlertDelivery, outcome: _Outcome, now: datetime) -> bool:
    if not outcome.error:
        return False
    if not outcome.is_tried:
        return not row.channel.enabled or now - row.created_at >= BEHIND_FOR
    return not row.channel.enabled or row.attempts >= ATTEMPTS_MAX


def _backoff(attempts: int) -> timedelta:
    """Half of it is random."""
    full = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (attempts - 1))
    return timedelta(seconds=full / 2 + random.random() * full / 2)  # noqa: S311  jitter, not a secret
