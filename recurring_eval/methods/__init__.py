"""Methods: a way of choosing questions paired with an estimator, one file each.

`registry.METHODS` lists them all. A `FixedMethod` chooses its questions at once, a `StepMethod`
one after the other, and a `ReplayMethod` is there for comparison in replays alone. Import from the
submodules: most commands need few of them, and some are slow to load.
"""
