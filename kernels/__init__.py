"""Hot loops: arrays in, arrays out. They know arrays and dense ids, never streams or plans.

Ask `oop.kernels.dispatch.kernels()` for them; `oop.kernels.views` turns Arrow columns into arrays and back.
"""
