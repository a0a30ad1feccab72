"""Constants as longs on Spark: values to ids and back, the texts behind ids, arithmetic over ids."""
