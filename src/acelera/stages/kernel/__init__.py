"""The kernel: takes stages one after the other, each with the configurations of its key.

All functions work on the memory of a machine (`layout`), given by its address. Registers that are worked on stand at
depths: before any event is taken at 0, after the first one at 1, and so on. SOURCE is where the configuration stands
that an edge leaves; BEGUN is where that is which depth 0 means, the same if nothing was prepared.
"""
