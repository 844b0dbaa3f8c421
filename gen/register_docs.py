"""The register map for people and for C, printed from the manifest."""

from collections.abc import Iterator, Mapping
from typing import Any

from gen.plan import identifier

Manifest = Mapping[str, Any]

_RULES = """\
Registers and array words have 32 bits; word i of an array lies at base + 4*i. Only whole words
are written: a write with any strobe low is refused. Bits above an array's width read as 0 and
are ignored when written.

An access answers SLVERR and changes nothing when it is outside every register and array, reads a
write-only or writes a read-only place, writes a shape above its capacity, or, while a run is under
way, does anything but read a register. A refused start also sets the error register. The error
register and the overflow bit are sticky; the next accepted start clears them.
"""


def markdown(manifest: Manifest) -> str:
    """Return the register map as Markdown."""
    lines = [
        f"# Register map of {manifest['graph']}",
        "",
        f"Graph hash `{manifest['hash']}`, value type {manifest['value']['name']}, "
        f"{manifest['address_bits']} address bits.",
        "",
        _RULES,
        "| address | register | access | meaning |",
        "|---|---|---|---|",
    ]
    for entry in manifest["registers"]:
        address, name, access = entry["address"], entry["name"], entry["access"]
        lines.append(f"| 0x{address:03x} | {name} | {access} | {entry['doc']} |")
    lines += ["", "| base | array | access | words | width |", "|---|---|---|---|---|"]
    for array in manifest["arrays"]:
        lines.append(
            f"| 0x{array['base']:x} | {array['tensor']}.{array['name']} | {array['access']} "
            f"| {array['words']} | {array['width']} |"
        )
    return "\n".join(lines) + "\n"


def c_header(manifest: Manifest) -> str:
    """Return the register map as a C header."""
    top = manifest["top"].upper()
    guard = f"{top}_H"
    lines = [
        f"/* Register map of FuseFlow graph {manifest['graph']}, hash {manifest['hash']}. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(f"#define {top}_{name} {value}" for name, value in _constants(manifest)),
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _constants(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield names and values; names of the graph keep their case, which may tell them apart."""
    yield "HASH", f"0x{manifest['hash']}ULL"
    for entry in manifest["registers"]:
        yield f"REG_{entry['name']}", f"0x{entry['address']:x}u"
    yield "CONTROL_START", "0x1u"
    yield "STATUS_BUSY", "0x1u"
    yield "STATUS_DONE", "0x2u"
    yield "STATUS_OVERFLOW", "0x4u"
    for array in manifest["arrays"]:
        name = f"{identifier(array['tensor'])}_{array['name']}"
        yield f"BASE_{name}", f"0x{array['base']:x}u"
        yield f"WORDS_{name}", f"{array['words']}u"
