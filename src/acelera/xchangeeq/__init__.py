"""XChangeEQ: rules over events that last, with timers, absence and collection.

The package is called to make a program of a text; `acelera.xchangeeq.program.xchangeeq` says more.

>>> import acelera as ac
>>> print(ac.xchangeeq("detect b{v{var V}}on a{{v{{var V}}}}end"))
DETECT b { v { var V } } ON a {{ v {{ var V }} }} END
"""
