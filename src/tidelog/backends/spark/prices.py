"""What work costs on the Spark store.

What      : `SPARK_PRICES`, in the unit of maintenance/prices.py: a derivation on the driver, 0.02 microseconds.
Idea      : strategies run on the driver with the kernels of the local backend, so calls, rounds and facts have its
            prices. Two things are other: where relations are no files, facts that are not on the driver are brought
            by a job, and a stage that is derived anew is brought as a whole or derived in bulk.
Invariant : a job is charged when it is made, not for every round: a round whose facts are on the driver, or in files,
            needs none.

How the figures were found (pyspark 4.3, `local[2]`, warm; divide by 0.02 microseconds):

- journey: one fetch takes 190 to 210 ms with a filter of columns, before it brings anything: 0.2 s.
- anew: bringing a whole stage or beginning in bulk takes three jobs at least (its facts, what it reads, its result).
- fact: `python -m benchmarks.spark_size 5000000` loads 5.25 M explicit and 23.9 M facts in all in 14.9 CPU seconds,
  reading and writing included: 0.6 microseconds for a fact.
- read: scanning 5 M facts takes 1.9 and handing them to Arrow tasks 2.5 CPU seconds: 0.9 microseconds for a fact.

When the way changes in which facts are brought (driver/fetch.py), measure these again.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.maintenance.prices import LOCAL_PRICES

_SECOND = 1e6 / 0.02
"""How many derivations the driver makes in a second."""

SPARK_PRICES = replace(
    LOCAL_PRICES,
    journey=0.2 * _SECOND,
    anew=3 * 0.2 * _SECOND,
    fact=0.6e-6 * _SECOND,
    read=0.9e-6 * _SECOND,
)
