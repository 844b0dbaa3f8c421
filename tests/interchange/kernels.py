"""Kernels as Custard draws them, in a short form that `to_gv` spells out.

The first line gives the formats; ``id type attribute=value ...`` is a node, ``id id kind name``
an edge.  Scans and writers say ``B0s``: tensor, mode, and s or d for the format.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kernel:
    """A graph, what it computes, and our own formats and order for the same statement.

    ``truth`` takes dense operands in the order of the file's formats.
    """

    statement: str
    formats: dict[str, str]
    order: str
    graph: str
    truth: Callable[..., Any]


FORMATS = {"s": "compressed", "d": "dense"}
KINDS = ("crd", "ref", "val", "repsig")


def to_gv(short: str) -> str:
    """Spell a graph out in the dialect, decoration included."""
    header, *lines = short.strip().splitlines()
    nodes: list[str] = []
    edges: list[str] = []
    for line in filter(None, lines):
        words = line.split()
        if words[2:] and words[2] in KINDS:
            edges.append(_edge(*words))
        else:
            nodes.append(_node(*words))
    comment = f'    comment="{header.strip()}"'
    return "\n".join(["digraph SAM {", comment, *nodes, *edges, "}"]) + "\n"


def _node(name: str, kind: str, *words: str) -> str:
    attributes = {"type": kind}
    for word in words:
        key, equals, text = word.partition("=")
        if equals:
            attributes[key] = text
        else:
            attributes |= {"tensor": key[:-2], "mode": key[-2], "format": FORMATS[key[-1]]}
    comment = ",".join(f"{key}={text}" for key, text in attributes.items())
    listed = " ".join(f'{key}="{text}"' for key, text in attributes.items())
    return (
        f'    {name} [comment="{comment}" label="{kind}\n{name}=0 \\n" color=green4 shape=box '
        f"style=filled {listed}]"
    )


def _edge(source: str, target: str, kind: str, name: str = "") -> str:
    label = f"{kind}_{name}" if name else kind
    return f'    {source} -> {target} [label="{label}" style=dashed type="{kind}" comment="{name}"]'


def _sides(joiner: str, tensor: str, scan: str) -> str:
    return f"{scan} {joiner} crd in-{tensor}\n{scan} {joiner} ref in-{tensor}\n"


def _inputs(joiner: str, **scans: str) -> str:
    return "".join(_sides(joiner, tensor, scan) for tensor, scan in scans.items())


MATMUL_IJK = """
X=ss01,B=ss01,C=ss10
17 fiberlookup index=i B0s src=true root=true
16 broadcast
2 fiberwrite index=i X0s sink=true
15 repsiggen index=i
14 repeat index=i tensor=C root=true
13 fiberlookup index=j C1s src=true root=false
12 broadcast
1 fiberwrite index=j X1s sink=true
11 repsiggen index=j
10 repeat index=j tensor=B root=false
8 fiberlookup index=k B1s src=true root=false
9 fiberlookup index=k C0s src=true root=false
7 intersect index=k
5 arrayvals tensor=B
6 arrayvals tensor=C
4 mul
3 reduce
0 fiberwrite tensor=X mode=vals sink=true
17 16 crd
16 2 crd
16 15 crd
15 14 repsig
14 13 ref
13 12 crd
12 1 crd
12 11 crd
11 10 repsig
17 10 ref
10 8 ref
13 9 ref
7 5 ref out-B
7 6 ref out-C
5 4 val
6 4 val
4 3 val
3 0 val
""" + _inputs("7", B="8", C="9")

MATMUL_IKJ = """
X=ss01,B=ss01,C=ss01
19 fiberlookup index=i B0s root=true
18 broadcast
5 crdhold outer=i inner=k
4 crdhold outer=i inner=j
3 spaccumulator order=1 in0=j in1=i
0 fiberwrite tensor=X mode=vals
1 fiberwrite index=j X1s
2 fiberwrite index=i X0s
17 repsiggen index=i
16 repeat index=i tensor=C root=true
15 fiberlookup index=k C0s root=false
14 fiberlookup index=k B1s root=false
13 intersect index=k
12 fiberlookup index=j C1s root=false
11 broadcast
10 repsiggen index=j
9 repeat index=j tensor=B root=false
7 arrayvals tensor=B
8 arrayvals tensor=C
6 mul
19 18 crd
18 5 crd i
5 4 crd outer-i
4 3 crd outer-i
4 3 crd inner-j
5 3 crd inner-k
3 0 val
3 1 crd out-j
3 2 crd out-i
18 17 crd
17 16 repsig
16 15 ref
19 14 ref
13 5 crd k
13 9 ref out-B
13 12 ref out-C
12 11 crd
11 4 crd j
11 10 crd
10 9 repsig
9 7 ref
12 8 ref
7 6 val
8 6 val
6 3 val
""" + _inputs("13", C="15", B="14")

MATMUL_KIJ = """
X=ss01,B=ss10,C=ss01
17 fiberlookup index=k B1s root=true
18 fiberlookup index=k C0s root=true
16 intersect index=k
3 spaccumulator order=2 in0=j in1=i
0 fiberwrite tensor=X mode=vals
1 fiberwrite index=j X1s
2 fiberwrite index=i X0s
15 fiberlookup index=i B0s root=false
14 broadcast
4 crdhold outer=i inner=j
13 repsiggen index=i
12 repeat index=i tensor=C root=false
11 fiberlookup index=j C1s root=false
10 broadcast
9 repsiggen index=j
8 repeat index=j tensor=B root=false
6 arrayvals tensor=B
7 arrayvals tensor=C
5 mul
16 3 crd k
3 0 val
3 1 crd out-j
3 2 crd out-i
16 15 ref out-B
15 14 crd
14 4 crd i
4 3 crd outer-i
4 3 crd inner-j
14 13 crd
13 12 repsig
12 11 ref
11 10 crd
10 4 crd j
10 9 crd
9 8 repsig
8 6 ref
6 5 val
5 3 val
11 7 ref
7 5 val
15 8 ref
16 12 ref out-C
""" + _inputs("16", B="17", C="18")


def _elementwise(joiner: str, op: str, tensors: str, drop: bool) -> str:
    """Join two levels of matrices, combine their values left to right."""
    graph = f"X=ss01,{','.join(f'{name}=ss01' for name in tensors)}\n"
    graph += f"20 {joiner} index=i\n21 {joiner} index=j\n"
    graph += "0 fiberwrite tensor=X mode=vals\n1 fiberwrite index=j X1s\n2 fiberwrite index=i X0s\n"
    for k, name in enumerate(tensors):
        graph += f"3{k} fiberlookup index=i {name}0s root=true\n"
        graph += f"4{k} fiberlookup index=j {name}1s root=false\n5{k} arrayvals tensor={name}\n"
        graph += _sides("20", name, f"3{k}") + _sides("21", name, f"4{k}")
        graph += f"20 4{k} ref out-{name}\n21 5{k} ref out-{name}\n"
    last = "50"
    for k in range(1, len(tensors)):
        graph += f"6{k} {op}\n{last} 6{k} val\n5{k} 6{k} val\n"
        last = f"6{k}"
    graph += f"{last} 0 val\n"
    if drop:
        return graph + (
            "22 crddrop outer=i inner=j\n20 22 crd in-i\n21 22 crd in-j\n"
            "22 2 crd outer-i\n22 1 crd inner-j\n"
        )
    return graph + "20 2 crd\n21 1 crd\n"


MAT_VECMUL_IJ = """
x=s0,B=ss01,c=s0
12 fiberlookup index=i B0s root=true
11 broadcast
1 fiberwrite index=i x0s
10 repsiggen index=i
9 repeat index=i tensor=c root=true
8 fiberlookup index=j c0s root=false
7 fiberlookup index=j B1s root=false
6 intersect index=j
4 arrayvals tensor=B
5 arrayvals tensor=c
3 mul
2 reduce
0 fiberwrite tensor=x mode=vals
12 11 crd
11 1 crd
11 10 crd
10 9 repsig
9 8 ref
12 7 ref
6 4 ref out-B
6 5 ref out-c
4 3 val
5 3 val
3 2 val
2 0 val
""" + _inputs("6", c="8", B="7")

MAT_VECMUL_JI = """
x=s0,B=ss10,c=s0
11 fiberlookup index=j B1s root=true
12 fiberlookup index=j c0s root=true
10 intersect index=j
2 spaccumulator order=1 in0=i
0 fiberwrite tensor=x mode=vals
1 fiberwrite index=i x0s
9 fiberlookup index=i B0s root=false
8 broadcast
7 repsiggen index=i
6 repeat index=i tensor=c root=false
5 arrayvals tensor=c
4 arrayvals tensor=B
3 mul
10 2 crd j
2 0 val
2 1 crd out-i
10 9 ref out-B
9 8 crd
8 2 crd i
8 7 crd
7 6 repsig
6 5 ref
5 3 val
3 2 val
9 4 ref
4 3 val
10 6 ref out-c
""" + _inputs("10", B="11", c="12")

MAT_RESIDUAL = (
    """
x=s0,b=s0,C=ss01,d=s0
17 fiberlookup index=i b0s root=true
18 fiberlookup index=i C0s root=true
16 union index=i
15 broadcast
1 fiberwrite index=i x0s
14 repsiggen index=i
13 repeat index=i tensor=d root=true
12 fiberlookup index=j d0s root=false
11 fiberlookup index=j C1s root=false
10 intersect index=j
4 arrayvals tensor=b
6 arrayvals tensor=C
7 arrayvals tensor=d
5 mul
2 reduce
3 add sub=1
0 fiberwrite tensor=x mode=vals
16 15 crd
15 1 crd
15 14 crd
14 13 repsig
13 12 ref
4 3 val
3 0 val
2 3 val
10 6 ref out-C
6 5 val
5 2 val
10 7 ref out-d
7 5 val
16 4 ref out-b
16 11 ref out-C
"""
    + _inputs("10", d="12", C="11")
    + _inputs("16", b="17", C="18")
)

VEC_ELEMMUL = """
x=s0,b=s0,c=s0
6 fiberlookup index=i b0s root=true
7 fiberlookup index=i c0s root=true
5 intersect index=i
1 fiberwrite index=i x0s
3 arrayvals tensor=b
4 arrayvals tensor=c
2 mul
0 fiberwrite tensor=x mode=vals
5 1 crd
5 3 ref out-b
5 4 ref out-c
3 2 val
4 2 val
2 0 val
""" + _inputs("5", b="6", c="7")

VEC_SCALAR_MUL = """
x=s0,b=none,c=s0
8 fiberlookup index=i c0s root=true
7 broadcast
1 fiberwrite index=i x0s
6 repsiggen index=i
5 repeat index=i tensor=b root=true
3 arrayvals tensor=b
4 arrayvals tensor=c
2 mul
0 fiberwrite tensor=x mode=vals
8 7 crd
7 1 crd
7 6 crd
6 5 repsig
5 3 ref
3 2 val
2 0 val
8 4 ref
4 2 val
"""

TENSOR3_TTV = """
X=ss01,B=sss012,c=s0
17 fiberlookup index=i B0s root=true
16 broadcast
2 fiberwrite index=i X0s
15 repsiggen index=i
14 repeat index=i tensor=c root=true
10 repeat index=j tensor=c root=false
9 fiberlookup index=k c0s root=false
8 fiberlookup index=k B2s root=false
7 intersect index=k
5 arrayvals tensor=B
6 arrayvals tensor=c
4 mul
3 reduce
0 fiberwrite tensor=X mode=vals
13 fiberlookup index=j B1s root=false
12 broadcast
1 fiberwrite index=j X1s
11 repsiggen index=j
17 16 crd
16 2 crd
16 15 crd
15 14 repsig
14 10 ref
10 9 ref
7 5 ref out-B
7 6 ref out-c
5 4 val
6 4 val
4 3 val
3 0 val
17 13 ref
13 12 crd
12 1 crd
12 11 crd
11 10 repsig
13 8 ref
""" + _inputs("7", c="9", B="8")

MAT_SDDMM = (
    """
X=ss01,B=ss01,C=dd01,D=dd10
25 fiberlookup index=i B0s root=true
26 fiberlookup index=i C0d root=true
24 intersect index=i
23 broadcast
9 crddrop outer=i inner=j
2 fiberwrite index=i X0s
1 fiberwrite index=j X1s
22 repsiggen index=i
21 repeat index=i tensor=D root=true
20 fiberlookup index=j D1d root=false
19 fiberlookup index=j B1s root=false
18 intersect index=j
17 broadcast
16 repsiggen index=j
15 repeat index=j tensor=C root=false
13 fiberlookup index=k C1d root=false
14 fiberlookup index=k D0d root=false
12 intersect index=k
11 repsiggen index=k
10 repeat index=k tensor=B root=false
6 arrayvals tensor=B
7 arrayvals tensor=C
8 arrayvals tensor=D
5 mul
4 mul
3 reduce
0 fiberwrite tensor=X mode=vals
24 23 crd i
23 9 crd i
9 2 crd outer-i
9 1 crd inner-j
23 22 crd
22 21 repsig
21 20 ref
18 17 crd j
17 9 crd j
17 16 crd
16 15 repsig
15 13 ref
12 11 crd
11 10 repsig
10 6 ref
6 5 val
5 4 val
4 3 val
3 0 val
12 7 ref out-C
7 5 val
12 8 ref out-D
8 4 val
18 10 ref out-B
18 14 ref out-D
24 19 ref out-B
24 15 ref out-C
"""
    + _inputs("12", C="13", D="14")
    + _inputs("18", D="20", B="19")
    + _inputs("24", B="25", C="26")
)

MAT_SLICE_SUM = """
X=ss01,B=sss012
8 fiberlookup index=i B0s root=true
7 fiberlookup index=j B1s root=false
6 fiberlookup index=k B2s root=false
4 crdhold outer=j inner=k
3 spaccumulator order=2 in0=k in1=j
0 fiberwrite tensor=X mode=vals
1 fiberwrite index=k X1s
2 fiberwrite index=j X0s
5 arrayvals tensor=B
8 3 crd i
3 0 val
3 1 crd out-k
3 2 crd out-j
8 7 ref
7 4 crd j
4 3 crd outer-j
4 3 crd inner-k
7 6 ref
6 4 crd k
6 5 ref
5 3 val
"""

MAT_IDENTITY_DENSE = """
X=dd01,B=dd01
5 fiberlookup index=i B0d root=true
2 fiberwrite index=i X0d
4 fiberlookup index=j B1d root=false
1 fiberwrite index=j X1d
3 arrayvals tensor=B
0 fiberwrite tensor=X mode=vals
5 2 crd
5 4 ref
4 1 crd
4 3 ref
3 0 val
"""

INNERPROD = (
    """
x=none,B=ss01,C=ss01
0 fiberwrite tensor=x mode=vals
1 reduce
2 reduce
3 mul
4 arrayvals tensor=B
5 arrayvals tensor=C
6 intersect index=j
7 fiberlookup index=j B1s root=false
8 fiberlookup index=j C1s root=false
9 intersect index=i
10 fiberlookup index=i B0s root=true
11 fiberlookup index=i C0s root=true
9 7 ref out-B
9 8 ref out-C
6 4 ref out-B
6 5 ref out-C
4 3 val
5 3 val
3 2 val
2 1 val
1 0 val
"""
    + _inputs("6", B="7", C="8")
    + _inputs("9", B="10", C="11")
)

# As written by hand for a machine that removes zeros: 21 drops values, 22 empty rows.
MATMUL_RELU = (
    MATMUL_IJK.replace("16 2 crd\n", "").replace("12 1 crd\n", "").replace("3 0 val\n", "")
    + """
20 smax const0=0
21 crddrop outer=j inner=val mode=0
22 crddrop outer=i inner=j
3 20 val
12 21 crd outer-j
20 21 val inner-val
21 0 val inner-val
21 22 crd outer-j
16 22 crd outer-i
22 2 crd outer-i
22 1 crd inner-j
"""
)

# 21 keeps empty fibers from the reduction; 1 reads from before the drop of 18.
MATMUL_DROP = (
    MATMUL_IJK.replace("16 2 crd\n", "").replace("12 1 crd\n", "").replace("4 3 val\n", "")
    + """
18 crddrop outer=i inner=j
19 crddrop outer=j inner=k
21 crddrop outer=j inner=k
7 19 crd inner-k
12 19 crd outer-j
19 1 crd outer-j
19 18 crd inner-j
16 18 crd outer-i
18 2 crd outer-i
4 21 val inner-k
12 21 crd outer-j
21 3 val inner-k
"""
)

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
VECMUL = "x(i) = B(i,j) * c(j)"

KERNELS: dict[str, Kernel] = {
    "matmul_ijk": Kernel(
        MATMUL, {"X": "ss", "B": "ss", "C": "ss:1,0"}, "i,j,k", MATMUL_IJK, np.matmul
    ),
    "matmul_ikj": Kernel(MATMUL, {"X": "ss", "B": "ss", "C": "ss"}, "i,k,j", MATMUL_IKJ, np.matmul),
    "matmul_kij": Kernel(
        MATMUL, {"X": "ss", "B": "ss:1,0", "C": "ss"}, "k,i,j", MATMUL_KIJ, np.matmul
    ),
    "matmul_drop": Kernel(
        MATMUL, {"X": "ss", "B": "ss", "C": "ss:1,0"}, "i,j,k", MATMUL_DROP, np.matmul
    ),
    "matmul_relu": Kernel(
        "X(i,j) = relu(sum[k](B(i,k) * C(k,j)))",
        {"X": "ss", "B": "ss", "C": "ss:1,0"},
        "i,j,k",
        MATMUL_RELU,
        lambda b, c: np.maximum(b @ c, 0),
    ),
    "mat_elemadd": Kernel(
        "X(i,j) = B(i,j) + C(i,j)",
        {"X": "ss", "B": "ss", "C": "ss"},
        "i,j",
        _elementwise("union", "add sub=0", "BC", drop=False),
        np.add,
    ),
    "mat_elemadd3": Kernel(
        "X(i,j) = B(i,j) + C(i,j) + D(i,j)",
        {"X": "ss", "B": "ss", "C": "ss", "D": "ss"},
        "i,j",
        _elementwise("union", "add sub=0", "BCD", drop=False),
        lambda b, c, d: b + c + d,
    ),
    "mat_elemmul": Kernel(
        "X(i,j) = B(i,j) * C(i,j)",
        {"X": "ss", "B": "ss", "C": "ss"},
        "i,j",
        _elementwise("intersect", "mul", "BC", drop=True),
        np.multiply,
    ),
    "mat_vecmul_ij": Kernel(
        VECMUL, {"x": "s", "B": "ss", "c": "s"}, "i,j", MAT_VECMUL_IJ, np.matmul
    ),
    "mat_vecmul_ji": Kernel(
        VECMUL, {"x": "s", "B": "ss:1,0", "c": "s"}, "j,i", MAT_VECMUL_JI, np.matmul
    ),
    "mat_residual": Kernel(
        "x(i) = b(i) - C(i,j) * d(j)",
        {"x": "s", "b": "s", "C": "ss", "d": "s"},
        "i,j",
        MAT_RESIDUAL,
        lambda b, c, d: b - c @ d,
    ),
    "vec_elemmul": Kernel(
        "x(i) = b(i) * c(i)", {"x": "s", "b": "s", "c": "s"}, "i", VEC_ELEMMUL, np.multiply
    ),
    "vec_scalar_mul": Kernel(
        "x(i) = b * c(i)", {"x": "s", "c": "s"}, "i", VEC_SCALAR_MUL, np.multiply
    ),
    "tensor3_ttv": Kernel(
        "X(i,j) = B(i,j,k) * c(k)",
        {"X": "ss", "B": "sss", "c": "s"},
        "i,j,k",
        TENSOR3_TTV,
        np.matmul,
    ),
    "mat_sddmm": Kernel(
        "X(i,j) = B(i,j) * C(i,k) * D(k,j)",
        {"X": "ss", "B": "ss", "C": "dd", "D": "dd:1,0"},
        "i,j,k",
        MAT_SDDMM,
        lambda b, c, d: b * (c @ d),
    ),
    "mat_slice_sum": Kernel(
        "X(j,k) = B(i,j,k)", {"X": "ss", "B": "sss"}, "i,j,k", MAT_SLICE_SUM, lambda b: b.sum(0)
    ),
    "mat_identity_dense": Kernel(
        "X(i,j) = B(i,j)", {"X": "dd", "B": "dd"}, "i,j", MAT_IDENTITY_DENSE, np.asarray
    ),
    "mat_innerprod": Kernel(
        "x = B(i,j) * C(i,j)", {"B": "ss", "C": "ss"}, "i,j", INNERPROD, lambda b, c: (b * c).sum()
    ),
}
