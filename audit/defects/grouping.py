"""Buckets with their classes become defects: one for each operation, rule, argument and class.

The vjp and the jvp of one argument that are wrong in one way are one rule. A jvp along several arguments, and a second
derivative, belong to the argument whose first derivative is wrong in that way; if none is, they stand for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from audit.defects.classes import Class
from audit.defects.defect import Defect, missing_rule, rule_of
from audit.defects.evidence import Bucket, Cell, Evidence
from audit.defects.subjects import Subject, Subjects

# One cause whichever argument or rule shows it.
WHOLE = (Class.VMAP, Class.CONSISTENCY, Class.CRASH)

# Classes that differ by how far off a number is: several of them at one argument are one wrong rule.
NUMBERS = (Class.VALUE, Class.DROPPED, Class.CONJUGATE, Class.CANCELLATION, Class.PRECISION)
# Where the value itself cannot be had, its derivatives cannot either.
NOTHING = (Class.SHAPE, Class.MISSING, Class.CRASH)

Found = dict[tuple[str, Class, str], Defect]


def group(evidence: Evidence, subjects: Subjects, classify: Callable[[Bucket], Class]) -> list[Defect]:
    """Distinct defects, missing rules included, by operation and id.

    Args:
        evidence: what a run says.
        subjects: what its rows are about.
        classify: gives a bucket its class.
    """
    found: Found = {}
    own: list[tuple[Bucket, Class, Subject]] = []
    others: list[tuple[Bucket, Class, Subject]] = []
    for bucket in evidence.buckets.values():
        subject = subjects[bucket.key.cell.case, bucket.key.cell.function]
        entry = (bucket, classify(bucket), subject)
        repaired = _primitive(bucket.key.repaired_by)
        (others if subject.within or repaired not in ("", subject.operation) else own).append(entry)
    # Values first, since a derivative may be wrong because of them; then single arguments, then the rest.
    own.sort(key=lambda entry: _turn(entry[0].key.cell))
    for bucket, kind, subject in own:
        _put(found, bucket, kind, subject.operation)
    _join_zeros(found)
    for bucket, kind, subject in others:
        _put_composition(found, bucket, kind, subject)
    _name_missing(found, evidence, subjects)
    return sorted(found.values(), key=lambda defect: (defect.operation, defect.name))


def _turn(cell: Cell) -> tuple[int, bool]:
    return ({"forward": 0, "vjp": 1, "jvp": 2}.get(rule_of(cell.mode), 3), "," in cell.traced)


def _primitive(implementation: str) -> str:
    """The operation whose rule an implementation repairs: ``"mlx+divide"`` repairs ``"mx.divide"``."""
    return f"mx.{implementation.removeprefix('mlx+')}" if implementation else ""


def _put(found: Found, bucket: Bucket, kind: Class, operation: str) -> None:
    kind = _kind(found, bucket, kind, operation)
    argument = _argument(found, bucket, kind, operation)
    key = (operation, kind, argument)
    found.setdefault(key, Defect(operation, kind, argument)).buckets.append(bucket)


def _join_zeros(found: Found) -> None:
    """A parameter that is dropped shows as a number where zero is due, too: where it is zero itself."""
    for (operation, kind, argument), defect in list(found.items()):
        other = found.get((operation, Class.DROPPED, argument))
        if kind is not Class.VALUE or other is None:
            continue
        functions = {bucket.key.cell.function.partition("(")[0] for bucket in other.buckets}
        if all(
            b.key.verdict == "nonzero" and b.key.cell.function.partition("(")[0] in functions for b in defect.buckets
        ):
            other.buckets.extend(defect.buckets)
            del found[operation, kind, argument]


def _kind(found: Found, bucket: Bucket, kind: Class, operation: str) -> Class:
    """The class of a sum of several derivatives is that of the one that is wrong by itself."""
    cell = bucket.key.cell
    if kind not in NUMBERS or ("," not in cell.traced and rule_of(cell.mode) != "second"):
        return kind
    names = cell.traced.split(",")
    if any((operation, kind, name) in found for name in names):
        return kind
    others = [other for name in names for other in NUMBERS if (operation, other, name) in found]
    return others[0] if others and rule_of(cell.mode) in ("jvp", "second") else kind


def _argument(found: Found, bucket: Bucket, kind: Class, operation: str) -> str:
    """The argument under which a bucket's rows stand; that of a wrong value is empty."""
    cell, rule = bucket.key.cell, rule_of(bucket.key.cell.mode)
    if kind in WHOLE or (rule == "forward" and kind is not Class.MISSING):
        return ""
    # Of a missing rule the name of the rule stands for the argument until all are known.
    of_value = "forward" if kind is Class.MISSING else ""
    value = found.get((operation, kind, of_value))
    same_function = value is not None and any(b.key.cell.function == cell.function for b in value.buckets)
    if (kind in NOTHING and same_function) or (value is not None and bucket.forward_wrong == bucket.count):
        return of_value
    if kind is Class.MISSING:
        return missing_rule(bucket)
    if rule == "vjp":
        return cell.argument
    traced = cell.traced.split(",")
    named = [name for name in cell.argument.split(",") if name != "output"] or traced
    for name in (*named, *traced):
        if (operation, kind, name) in found:
            return name
    return named[0] if len(set(named)) == 1 else ",".join(dict.fromkeys(named))


def _put_composition(found: Found, bucket: Bucket, kind: Class, subject: Subject) -> None:
    """List a composition under the primitive whose repair makes it right, or whose case it belongs to."""
    cell, repaired = bucket.key.cell, _primitive(bucket.key.repaired_by)
    primitive = subject.within or repaired
    why = f"repaired by {bucket.key.repaired_by}" if repaired else "a function of its case"
    causes = [d for (operation, _, _), d in found.items() if operation == primitive and d.kind is not Class.MISSING]
    same = [d for d in causes if d.kind == kind]
    # What the repair of one rule makes right has that rule's cause, even where it shows as something else.
    cause = same[0] if same else causes[0] if causes and repaired == primitive and len(causes) == 1 else None
    if cause is not None:
        key = (subject.title or subject.operation, rule_of(cell.mode), why)
        cause.seen.setdefault(key, []).append(bucket)
        return
    if subject.within:
        # Its arguments are not those of the operation that its case is about.
        key = (subject.within, kind, "")
        found.setdefault(key, Defect(subject.within, kind, "")).buckets.append(bucket)
        return
    _put(found, bucket, kind, subject.operation)
    for (name, _, _), defect in found.items():
        if name == subject.operation and bucket in defect.buckets:
            defect.suspected.add(primitive)


def _name_missing(found: Found, evidence: Evidence, subjects: Subjects) -> None:
    """Say which arguments a missing rule is missing for, if it is not all of them."""
    for (operation, kind, rule), defect in list(found.items()):
        if kind is not Class.MISSING:
            continue
        if rule == "second" and any((operation, kind, other) in found for other in ("vjp", "jvp")):
            # It follows from the first order.
            first = next(found[operation, kind, other] for other in ("vjp", "jvp") if (operation, kind, other) in found)
            first.seen.setdefault((operation, "second", "follows"), []).extend(defect.buckets)
            del found[operation, kind, rule]
            continue
        defect.argument = _lacking(defect.buckets, evidence, subjects)


def _lacking(buckets: Sequence[Bucket], evidence: Evidence, subjects: Subjects) -> str:
    """The arguments that are missing by themselves; empty if all are, or if that cannot be told."""
    cells = [bucket.key.cell for bucket in buckets]
    case, function = cells[0].case, cells[0].function
    names = subjects[case, function].function.arguments
    alone = {cell.traced for cell in cells if "," not in cell.traced}
    right = {
        cell.traced
        for cell, tally in evidence.tallies.items()
        if cell.case == case and cell.mode == cells[0].mode and "," not in cell.traced and tally.right.any()
    }
    lacking = [name for name in names if name in alone]
    return "" if not lacking or not right - alone else ",".join(lacking)


def conserved(evidence: Evidence, defects: Iterable[Defect]) -> Mapping[str, int]:
    """Wrong rows in all, and those that belong to a defect: the two must be equal."""
    held = sum(
        bucket.count for defect in defects for buckets in (defect.buckets, *defect.seen.values()) for bucket in buckets
    )
    return {"mismatches": sum(bucket.count for bucket in evidence.buckets.values()), "in_defects": held}
