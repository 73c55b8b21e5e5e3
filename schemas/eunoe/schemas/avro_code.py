"""Avro's binary encoding by functions that are made from a schema: what a general reader asks of the schema field by
field for every record is asked once, when the function's text is made.

*Measured* on an accepted record (about 55 fields, 676 bytes), the frozen types included: with fastavro 24 µs to
encode and 25 to decode, with these 6 and 10. Both must agree on every byte (a test compares them); what an older schema
wrote is read by fastavro, which resolves it. Only what the contract uses is built: null, boolean, long, double, bytes,
string, records, arrays, and unions of null with one other or of records.

The encoding is Avro 1.11, "Binary Encoding": zigzag variable-length numbers, length-prefixed bytes, arrays in blocks.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

Reader = Callable[[bytes, int], tuple[Any, int]]
"""(data, where the record begins) to the plain value and where it ends: past the end of the data where that was cut.

Records are dicts, arrays lists; a member of a union of records is ``(full name, dict)``. Raises one of `MALFORMED`."""
Writer = Callable[[Any, Callable[[bytes], Any]], None]
"""Hands the bytes of a value to a function, piece by piece. Records are objects with attributes; a member of a union of
records is found by its class's name."""

MALFORMED: Final = (IndexError, KeyError, ValueError, TypeError, OverflowError, struct.error)
"""What reading bytes that are no record ends in. A ``UnicodeDecodeError`` is a ``ValueError``."""

_LONGEST: Final = 10
"""Bytes of a 64-bit number, seven bits in each."""
_SHORT: Final = 1_024
_DOUBLE: Final = struct.Struct("<d")


def reader_of(schema: Any) -> Reader:
    """The function that reads ``schema``, which has been through `fastavro.parse_schema`.

    Raises ``NotImplementedError`` for a type that the contract does not use.
    """
    made: Reader = _Readers().made(schema)
    return made


def writer_of(schema: Any) -> Writer:
    """The function that writes ``schema``; otherwise as `reader_of`."""
    made: Writer = _Writers().made(schema)
    return made


def _number(data: bytes, at: int, low: int) -> tuple[int, int]:
    """The rest of a number of several bytes, still zigzag; ``low`` is its first byte, ``at`` where the next one is."""
    number, shift = low & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if shift >= 7 * _LONGEST or number >> 64:
        raise OverflowError("a number is longer than 64 bits")
    return number, at


def _length(data: bytes, at: int, low: int) -> tuple[int, int]:
    """As `_number`, for a length that is long or negative, which none may be."""
    number, at = _number(data, at, low) if low & 0x80 else (low, at)
    if number & 1:
        raise ValueError("a length is negative")
    return number, at


def _block(data: bytes, at: int, low: int) -> tuple[int, int]:
    """The count of an array's block that is long, or negative because the block's size in bytes follows it."""
    number, at = _number(data, at, low) if low & 0x80 else (low, at)
    if number & 1:
        number += 1
        _, at = _number(data, at + 1, data[at]) if data[at] & 0x80 else (0, at + 1)
    if number >> 1 > len(data):
        raise ValueError("an array has more items than there are bytes")
    return number, at


def _long(value: int) -> bytes:
    """``value`` in zigzag, seven bits a byte."""
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError("a number does not fit into 64 bits")
    number, out = (value << 1) ^ (value >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class _Functions:
    """Text of one function per named record, compiled together. ``known`` is what the text may name."""

    arguments: str
    known: ClassVar[Mapping[str, Any]]

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._names: dict[str, str] = {}
        self._lines: list[str] = []
        self._depth = 0
        self._variables = 0

    def made(self, schema: Any) -> Any:
        name = self.function(schema)
        scope = dict(self.known)
        exec(compile("\n".join(self._texts), f"<avro {schema['name']}>", "exec"), scope)
        return scope[name]

    def function(self, schema: Any) -> str:
        """The function of a record, or of a name that was met before."""
        full = str(schema.get("name", schema["type"])) if isinstance(schema, dict) else str(schema)
        if full not in self._names:
            if not isinstance(schema, dict) or schema["type"] != "record":
                raise NotImplementedError(f"no code is made for Avro's {full}")
            self._names[full] = name = f"record_{len(self._names)}"
            outer = self._lines, self._depth
            self._lines, self._depth = [f"def {name}({self.arguments}):"], 1
            self.body(schema)
            self._texts += self._lines
            self._lines, self._depth = outer
        return self._names[full]

    def body(self, schema: Any) -> None:
        raise NotImplementedError

    def put(self, *lines: str) -> None:
        self._lines += [f"{' ' * self._depth}{line}" for line in lines]

    @contextmanager
    def within(self, head: str) -> Iterator[None]:
        self.put(head)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"


class _Readers(_Functions):
    """``b`` is the data, ``p`` the place, ``n`` the number read last."""

    arguments = "b, p"
    known: ClassVar[Mapping[str, Any]] = {
        "number": _number,
        "length": _length,
        "block": _block,
        "double": _DOUBLE.unpack_from,
    }

    def body(self, schema: Any) -> None:
        fields = {each["name"]: self.variable() for each in schema["fields"]}
        for each in schema["fields"]:
            self.value(each["type"], fields[each["name"]])
        self.put("return {" + ", ".join(f"{name!r}: {variable}" for name, variable in fields.items()) + "}, p")

    def value(self, schema: Any, to: str) -> None:
        if isinstance(schema, list):
            return self.union(schema, to)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                self.put(f"{to} = None")
            case "boolean":
                self.put("n = b[p]", "if n > 1: raise ValueError('no boolean')", "p += 1", f"{to} = n == 1")
            case "long":
                self.head("n > 127", "number")
                self.put(f"{to} = n >> 1 ^ -(n & 1)")
            case "double":
                self.put(f"{to} = double(b, p)[0]", "p += 8")
            case "string" | "bytes":
                self.head("n & 129", "length")
                self.put("q = p + (n >> 1)", f"{to} = b[p:q]{'.decode()' if kind == 'string' else ''}", "p = q")
            case "array":
                self.array(schema["items"], to)
            case _:
                self.put(f"{to}, p = {self.function(schema)}(b, p)")

    def head(self, otherwise: str, longer: str) -> None:
        self.put("n = b[p]", "p += 1", f"if {otherwise}: n, p = {longer}(b, p, n)")

    def array(self, items: Any, to: str) -> None:
        item = self.variable()
        self.put(f"{to} = []")
        with self.within("while True:"):
            self.head("n & 129", "block")
            self.put("if n == 0: break")
            with self.within("for _ in range(n >> 1):"):
                self.value(items, item)
                self.put(f"{to}.append({item})")

    def union(self, members: list[Any], to: str) -> None:
        self.put("n = b[p]", "p += 1")
        for index, member in enumerate(members):
            with self.within(f"{'elif' if index else 'if'} n == {index * 2}:"):
                self.value(member, to)
                if not _optional(members):
                    self.put(f"{to} = ({_full_name(member)!r}, {to})")
        self.put("else: raise ValueError('no member of the union')")


class _Writers(_Functions):
    """``v`` is the record, ``w`` takes the bytes."""

    arguments = "v, w"
    known: ClassVar[Mapping[str, Any]] = {"long": _long, "double": _DOUBLE.pack, "L": tuple(map(_long, range(_SHORT)))}

    def body(self, schema: Any) -> None:
        for each in schema["fields"]:
            variable = self.variable()
            self.put(f"{variable} = v.{each['name']}")
            self.value(each["type"], variable)
        if not schema["fields"]:
            self.put("pass")

    def value(self, schema: Any, of: str) -> None:
        if isinstance(schema, list):
            return self.union(schema, of)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                self.put("pass")
            case "boolean":
                self.put(f"w(b'\\1' if {of} else b'\\0')")
            case "long":
                self.put(f"w({_table(of, f'-1 < {of}')})")
            case "double":
                self.put(f"w(double({of}))")
            case "string" | "bytes":
                if kind == "string":
                    self.put(f"{of} = {of}.encode()")
                self.put(f"n = len({of})", f"w({_table('n', 'n')})", f"w({of})")
            case "array":
                item = self.variable()
                self.put(f"n = len({of})", f"if n: w({_table('n', 'n')})")
                with self.within(f"for {item} in {of}:"):
                    self.value(schema["items"], item)
                self.put("w(b'\\0')")
            case _:
                self.put(f"{self.function(schema)}({of}, w)")

    def union(self, members: list[Any], of: str) -> None:
        if _optional(members):
            at = 1 - members.index("null")
            self.put(f"if {of} is None: w({_long(1 - at)!r})")
            with self.within("else:"):
                self.put(f"w({_long(at)!r})")
                self.value(members[at], of)
            return
        names = {_full_name(each).rpartition(".")[2]: index for index, each in enumerate(members)}
        self.put(f"n = {names!r}[type({of}).__name__]", "w(L[n])")
        for index, member in enumerate(members):
            with self.within(f"{'elif' if index else 'if'} n == {index}:"):
                self.value(member, of)


def _table(name: str, above: str) -> str:
    """Most numbers are small and have been encoded before."""
    return f"L[{name}] if {above} < {_SHORT} else long({name})"


def _optional(members: list[Any]) -> bool:
    """Null and one other; the other unions are of records alone."""
    return len(members) == 2 and "null" in members


def _full_name(member: Any) -> str:
    name = member["name"] if isinstance(member, dict) else member
    if "." not in name:
        raise NotImplementedError(f"no code is made for a union with Avro's {name}")
    return str(name)
