"""Bytes as cases and vectors write them: strings, repetitions and hexadecimal digits, joined."""


def to_bytes(parts):
    """A string, one part, or a list of parts: "text", {repeat = "a", times = 3}, {hex = "ff"}."""
    if isinstance(parts, list):
        return b"".join(to_bytes(part) for part in parts)
    if isinstance(parts, str):
        return parts.encode()
    if "hex" in parts:
        return bytes.fromhex(parts["hex"])
    return parts["repeat"].encode() * parts["times"]
