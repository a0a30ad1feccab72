"""How much the driver takes.

What      : a handful of numbers of facts, from the session's settings.
Invariant : they are read once, when an engine is made.
Never     : no facts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the driver takes.

    Relations of up to `relation` facts come as a whole; `facts` in all may be there during an update, and `kept`
    between updates; a change of more than `change` facts of one relation is large, unless they come and are few beside
    those that the relation has (`followed`); `overlay` changed facts of a relation wait before they go into its files,
    which the driver writes itself up to `written` facts. When updates have touched more than `constants` constants, the
    driver forgets all of them: their texts are in files.
    """

    relation: int = 20_000
    facts: int = 5_000_000
    kept: int = 500_000
    change: int = 250_000
    overlay: int = 5_000
    written: int = 200_000
    constants: int = 250_000

    @property
    def whole(self) -> int:
        """Up to how many facts a relation has that is brought as a whole because somebody goes through all of it.

        Tasks do that better; a change is followed with more facts, because there are many more that it does not touch.
        """
        return self.facts * 2 // 5

    def followed(self, size: int) -> int:
        """Up to how many facts come to a relation that has `size` facts in an update that the driver follows.

        Four times `change` where they are at most a quarter of the relation: most of it is not touched then, and
        deriving the stages above it anew goes through all of it (docs/scaling.md, "Small and large updates").
        """
        return max(self.change, min(4 * self.change, size // 4))

    @property
    def portion(self) -> int:
        """How many facts of a large deletion the driver follows at once (backends/spark/large_deletions.py)."""
        return max(self.change // 8, 1)

    @staticmethod
    def of(spark: SparkSession) -> Capacity:
        """What the session's settings `spark.tidelog.driver.<name>` say."""
        names = (each.name for each in fields(Capacity))
        settings = {name: spark.conf.get(f"spark.tidelog.driver.{name}", None) for name in names}
        return Capacity(**{name: int(value) for name, value in settings.items() if value is not None})
