"""A zoo of small data sets, made from numpy and scikit-learn alone, that every default should be able to cluster.

`ZOO` has the sets with classes, `NOISE` those without structure. Each is made from a seed by its `build`:

>>> from benchmarks.zoo import ZOO
>>> X, y = ZOO["moons"].build(0)
"""

from benchmarks.zoo._member import Built, Member
from benchmarks.zoo._rivals import METHODS, RIVALS, default, n_classes, one_table, scores
from benchmarks.zoo._slices import SLICES
from benchmarks.zoo._tables import TABLES
from benchmarks.zoo._toys import NOISE as _NOISE
from benchmarks.zoo._toys import TOYS

__all__ = ["METHODS", "NOISE", "RIVALS", "ZOO", "Built", "Member", "default", "n_classes", "one_table", "scores"]

ZOO: dict[str, Member] = {member.name: member for member in (*TOYS, *SLICES, *TABLES)}
NOISE: dict[str, Member] = {member.name: member for member in _NOISE}
