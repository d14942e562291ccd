"""`kw inspect tree` beside tree-sitter: do both find the same functions and types, on our own sources and on the C++ headers of others?

tree_sitter_test.py KW FOLDER...

Files that tree-sitter itself cannot read (macros that only a preprocessor understands) are counted and left out.
"""

import json
import pathlib
import re
import subprocess
import sys

import tree_sitter
import tree_sitter_cpp

LEAST = 0.97  # of what tree-sitter finds, and of what kw finds
TYPES = {"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"}
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def short(name):
    """The last part of a name: without what qualifies it, its template's values and, of a macro, its values."""
    name = re.sub(r"\s+", "", name)
    if "operator" in name:
        return name[name.index("operator") :]
    name = name.partition("(")[0]
    while True:
        inner = re.sub(r"<[^<>]*>", "", name)
        if inner == name:
            break
        name = inner
    return name.rpartition("::")[2]


def declarator(node):
    """The declarator of a function within one of a pointer or a reference; none where it is no function."""
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (one for one in node.named_children if one.type.endswith("declarator")), None
        )
    if node is None:
        return None
    inner = node.child_by_field_name("declarator")
    # A pointer to a function is a variable.
    return None if inner is None or inner.type == "parenthesized_declarator" else inner


def scopes(node, first=None):
    """(name, first line, last line) of what tree-sitter finds, outside of functions' bodies."""
    line = (node if first is None else first).start_point[0] + 1
    last = node.end_point[0] + 1
    if node.type == "template_declaration":
        for child in node.named_children:
            yield from scopes(child, first or node)
        return
    if node.type in ("function_definition", "declaration", "field_declaration"):
        found = declarator(node.child_by_field_name("declarator"))
        if node.type == "function_definition" and found is None:  # a conversion: operator bool() {}
            found = node.child_by_field_name("declarator")
        if found is not None:
            yield short(found.text.decode()), line, last
            return
        for child in node.named_children:
            yield from scopes(child, first or node)
        return
    if node.type in TYPES and node.child_by_field_name("body") is not None:
        name = node.child_by_field_name("name")
        if name is not None:
            yield short(name.text.decode()), line, last
    if node.type in ("compound_statement", "initializer_list", "lambda_expression"):
        return
    for child in node.named_children:
        yield from scopes(child)


def unmatched(wanted, there):
    """Of `wanted` those that `there` does not have: the same name, beginning within its lines."""
    names = {}
    for name, first, last in there:
        names.setdefault(name, []).append((first, last))
    return [
        (name, first, last)
        for name, first, last in wanted
        if not any(begin <= last and first <= end for begin, end in names.get(name, []))
    ]


def compare(program, folder):
    answer = subprocess.run([program, "inspect", "tree", str(folder), "--json"], check=True, capture_output=True)
    files = skipped = ours_count = theirs_count = 0
    lost, extra = [], []
    for file in json.loads(answer.stdout)["files"]:
        tree = parser.parse((folder / file["path"]).read_bytes())
        if tree.root_node.has_error:
            skipped += 1
            continue
        files += 1
        theirs = list(scopes(tree.root_node))
        ours = [
            (short(one["name"]), one["first_line"], one["last_line"])
            for one in file["scopes"]
            if one["kind"] != "namespace" and one["name"]
        ]
        ours_count += len(ours)
        theirs_count += len(theirs)
        lost += [(file["path"], *one) for one in unmatched(theirs, ours)]
        extra += [(file["path"], *one) for one in unmatched(ours, theirs)]
    found = 1 - len(lost) / max(theirs_count, 1)
    right = 1 - len(extra) / max(ours_count, 1)
    print(
        f"{folder}: {files} files ({skipped} more that tree-sitter cannot read), {theirs_count} functions and types: "
        f"{100 * found:.1f} % found, {100 * right:.1f} % of what was found is there"
    )
    if found < LEAST or right < LEAST:
        for what, some in (("not found", lost), ("not there", extra)):
            for path, name, first, _ in some[:12]:
                print(f"  {what}: {path}:{first}: {name}")
        return False
    return theirs_count > 0


if __name__ == "__main__":
    good = [compare(sys.argv[1], pathlib.Path(folder)) for folder in sys.argv[2:]]
    sys.exit(0 if all(good) and good else 1)
