"""The end of a Parquet file: its footer, and before it a seal with checksums of the footer and of all before the seal.

Parquet has checksums of pages, but none of the footer, of page headers and of their order: a flipped bit there can make
rows disappear without an error. The seal lies between the last page and the footer, where no other reader looks.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple

from .schema import SEALED_SINCE, VERSION_KEY

MAGIC: Final = b"\x00taskq\x01\x00"
_SEAL: Final = struct.Struct("<8sQIII")
"""MAGIC, rows, CRC-32 of all before the seal, CRC-32 of all behind it, CRC-32 of the seal up to here."""

SEAL_SIZE: Final = _SEAL.size

_PARQUET: Final = b"PAR1"
END: Final = 8
"""Bytes behind the footer: its length, and _PARQUET."""

_READ_AT_ONCE: Final = 65_536
_CHUNK: Final = 1 << 20


class Seal(NamedTuple):
    """What a seal says: events in the file, and CRC-32 of what is before and behind the seal."""

    rows: int
    data_crc: int
    footer_crc: int

    def packed(self) -> bytes:
        """As it is in the file."""
        head = _SEAL.pack(MAGIC, *self, 0)[:-4]
        return head + struct.pack("<I", zlib.crc32(head))

    @classmethod
    def unpacked(cls, content: bytes) -> Seal | None:
        """None if there is none, or if it is damaged."""
        if len(content) != SEAL_SIZE or not content.startswith(MAGIC):
            return None
        _, rows, data_crc, footer_crc, own_crc = _SEAL.unpack(content)
        return cls(rows, data_crc, footer_crc) if own_crc == zlib.crc32(content[:-4]) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """`metadata`: a `pyarrow.parquet.FileMetaData`; `version` of the schema, None if the file does not say it; `start`:
    the place in the file where the seal begins, or, without a seal, the footer."""

    metadata: Any
    version: int | None
    seal: Seal | None
    start: int

    @property
    def rows(self) -> int:
        """Events in the file."""
        return int(self.metadata.num_rows)


class DamagedFooterError(Exception):
    """The end of a file is not as it should be. `rows`: events that the file had, None if that is not known."""

    def __init__(self, text: str, rows: int | None = None) -> None:
        super().__init__(text)
        self.rows = rows


def read_footer(file: IO[bytes]) -> Footer:
    """The footer of an open file, checked against its seal. Raises DamagedFooterError, and what the file raises."""
    import pyarrow.parquet as pq  # here, as in `files`
    from pyarrow import BufferReader

    file.seek(0, io.SEEK_END)  # not every file system's answers with the place
    size = file.tell()
    tail = _tail(file, size, _READ_AT_ONCE)
    if not tail.endswith(_PARQUET) or size < len(_PARQUET) + END:
        raise DamagedFooterError(_unreadable(f"no Parquet footer at the end of {size:,} bytes"), _rows_in(tail))
    behind = int.from_bytes(tail[-END:-4], "little") + END
    if behind > size - len(_PARQUET):
        raise DamagedFooterError(_unreadable("the footer is longer than the file"), _rows_in(tail))
    if behind + SEAL_SIZE > len(tail):
        tail = _tail(file, size, behind + SEAL_SIZE)
    end = tail[-behind:]
    seal = Seal.unpacked(tail[-behind - SEAL_SIZE : -behind])
    if seal is not None and seal.footer_crc != zlib.crc32(end):
        raise DamagedFooterError("is damaged: its footer is not the one that was written", seal.rows)
    try:
        metadata = pq.read_metadata(BufferReader(end))
        version = _version_of(metadata.metadata or {})
    except Exception as error:  # pyarrow's errors share no base class of their own
        raise DamagedFooterError(_unreadable(error), _rows_in(tail)) from error
    if seal is None and version is not None and version >= SEALED_SINCE:
        raise DamagedFooterError("is damaged: there is no seal before its footer", int(metadata.num_rows))
    rows = int(metadata.num_rows)
    # (To look at its column chunks aborts the process if their number is wrong.)
    if rows != sum(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)):
        raise DamagedFooterError("is damaged: its footer contradicts itself about the number of rows")
    start = size - behind - (SEAL_SIZE if seal else 0)
    return Footer(metadata=metadata, version=version, seal=seal, start=start)


def has_sound_data(file: IO[bytes], footer: Footer) -> bool:
    """Whether all before the seal is as it was written; True if there is no seal. Reads the whole file."""
    if footer.seal is None:
        return True
    file.seek(0)
    crc = 0
    for chunk in _chunks(file, footer.start):
        crc = zlib.crc32(chunk, crc)
    return crc == footer.seal.data_crc


class SealingFile(io.RawIOBase):
    """A file for a writer of Parquet, which passes everything on to another file, and puts the seal before the footer.

    Call `begin_footer` before the writer is closed, and `finish` after it.
    """

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file
        self._crc = 0
        self._end: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._end is None:
            self._pass_on(content)
        else:
            self._end += content
        return len(content)

    def begin_footer(self) -> None:
        """All pages have been written: hold back what comes now."""
        self._end = bytearray()

    def finish(self) -> None:
        """Write the seal and the footer."""
        import pyarrow.parquet as pq
        from pyarrow import BufferReader

        held = bytes(self._end or b"")
        behind = int.from_bytes(held[-END:-4], "little") + END
        self._pass_on(held[:-behind])
        footer = held[-behind:]
        rows = int(pq.read_metadata(BufferReader(footer)).num_rows)
        self._file.write(Seal(rows, self._crc, zlib.crc32(footer)).packed() + footer)

    def _pass_on(self, content: Any) -> None:
        self._crc = zlib.crc32(content, self._crc)
        self._file.write(content)


def _tail(file: IO[bytes], size: int, length: int) -> bytes:
    file.seek(max(size - length, 0))
    return file.read(length)


def _chunks(file: IO[bytes], length: int) -> Iterator[bytes]:
    while length and (chunk := file.read(min(_CHUNK, length))):
        length -= len(chunk)
        yield chunk


def _rows_in(tail: bytes) -> int | None:
    """As a seal says that lies anywhere in the end of a file whose footer cannot be read."""
    at = tail.rfind(MAGIC)
    seal = Seal.unpacked(tail[at : at + SEAL_SIZE]) if at >= 0 else None
    return None if seal is None else seal.rows


def _version_of(metadata: dict[bytes, bytes]) -> int | None:
    said = metadata.get(VERSION_KEY.encode())
    return None if said is None else int(said)


def _unreadable(reason: object) -> str:
    return f"not readable as Parquet: {' '.join(str(reason).split())}"
