"""Program P of paper 003, figure 1, and the twelve programs of the contract, section 8: as texts and as trees."""

from __future__ import annotations

from typing import NamedTuple

from acelera.xchangeeq import ast
from xchangeeq.building import (
    V,
    absent,
    agg,
    allen,
    collect,
    compare,
    dur,
    every,
    h,
    on,
    program,
    q,
    rule,
    timer,
    within,
    x,
)


class Written(NamedTuple):
    """A program as a text, and as a tree."""

    text: str
    tree: ast.Program


P = Written(
    """
    DETECT
    fire { area { var A } }
    ON and { event s: smoke {{ area {{ var A }} }},
    event t: temp {{ area {{ var A }}, value {{ var T }} }}
    } where { s before t, {s,t} within 1 min, var T > 40 }
    END
    DETECT
    burnt_down { sensor { var S } }
    ON and { event n: temp {{ sensor {{ var S }}, value {{ var T }} }},
    event i: timer:from-end [ event n, 12 sec ],
    while i: not temp {{ sensor {{ var S }} }}
    } where { var T > 40 }
    END
    DETECT
    avg_temp { sensor { var S }, value { avg(all var T) } }
    ON and { event m: temp {{ sensor {{ var S }} }},
    event i: timer:from-start-backward [ event m, 1 min ],
    while i: collect temp {{ sensor {{ var S }}, value {{ var T }} }} }
    END
    """,
    program(
        rule(
            h("fire", area=x("A")),
            on("s", q("smoke", area=V("A"))),
            on("t", q("temp", area=V("A"), value=V("T"))),
            where=[allen("s before t"), within("s t", "1 min"), compare(x("T"), ">", 40)],
        ),
        rule(
            h("burnt_down", sensor=x("S")),
            on("n", q("temp", sensor=V("S"), value=V("T"))),
            timer("i", "from-end", "n", "12 s"),
            absent("i", q("temp", sensor=V("S"))),
            where=[compare(x("T"), ">", 40)],
        ),
        rule(
            h("avg_temp", sensor=x("S"), value=agg("avg", "T")),
            on("m", q("temp", sensor=V("S"))),
            timer("i", "from-start-backward", "m", "1 min"),
            collect("i", q("temp", sensor=V("S"), value=V("T"))),
        ),
    ),
)

_silent = rule(
    h("silent", host=x("H")),
    on("b", q("heartbeat", host=V("H"))),
    timer("i", "from-end", "b", "90 s"),
    timer("o", "shorten-begin", "i", "1 ms"),
    absent("o", q("heartbeat", host=V("H"))),
)

RECOVERED = Written(
    """
    DETECT silent { host { var H } }
    ON and { event b: heartbeat {{ host {{ var H }} }}, event i: timer:from-end [ event b, 90 sec ],
             event o: timer:shorten-begin [ event i, 1 ms ], while o: not heartbeat {{ host {{ var H }} }} } END
    DETECT recovered { host { var H } }
    ON and { event s: silent {{ host {{ var H }} }}, event b: heartbeat {{ host {{ var H }} }} } where { s before b, {s, b} within 1 hour } END
    """,
    program(
        _silent,
        rule(
            h("recovered", host=x("H")),
            on("s", q("silent", host=V("H"))),
            on("b", q("heartbeat", host=V("H"))),
            where=[allen("s before b"), within("s b", "1 h")],
        ),
    ),
)
"""Programs 1 and 2 of section 8."""

TWO_PLACES = Written(
    """
    DETECT two_places { card { var C }, from { var L1 }, to { var L2 } }
    ON and { event p: payment {{ card {{ var C }}, country {{ var L1 }} }}, event q: payment {{ card {{ var C }}, country {{ var L2 }} }}
    } where { p before q, {p, q} within 10 min, var L1 != var L2 } END
    """,
    program(
        rule(
            h("two_places", card=x("C"), **{"from": x("L1")}, to=x("L2")),
            on("p", q("payment", card=V("C"), country=V("L1"))),
            on("q", q("payment", card=V("C"), country=V("L2"))),
            where=[allen("p before q"), within("p q", "10 min"), compare(x("L1"), "!=", x("L2"))],
        )
    ),
)

VELOCITY = Written(
    """
    DETECT burst { card { var C }, n { count(all var A) }, total { sum(all var A) } }
    ON and { event p: payment {{ card {{ var C }} }}, event w: timer:from-end-backward [ event p, 5 min ],
             while w: collect payment {{ card {{ var C }}, amount {{ var A }} }} } END
    DETECT velocity { card { var C }, total { var S } } ON burst {{ card {{ var C }}, n {{ var N }}, total {{ var S }} }} where { var N >= 5 } END
    """,
    program(
        rule(
            h("burst", card=x("C"), n=agg("count", "A"), total=agg("sum", "A")),
            on("p", q("payment", card=V("C"))),
            timer("w", "from-end-backward", "p", "5 min"),
            collect("w", q("payment", card=V("C"), amount=V("A"))),
        ),
        rule(
            h("velocity", card=x("C"), total=x("S")),
            on(None, q("burst", card=V("C"), n=V("N"), total=V("S"))),
            where=[compare(x("N"), ">=", 5)],
        ),
    ),
)

UNSAFE = Written(
    """
    DETECT unsafe { machine { var M } }
    ON and { event r: run {{ machine {{ var M }} }}, event d: door_open {{ machine {{ var M }} }} }
       where { or { d during r, d starts r, d finishes r, d equals r } } END
    """,
    program(
        rule(
            h("unsafe", machine=x("M")),
            on("r", q("run", machine=V("M"))),
            on("d", q("door_open", machine=V("M"))),
            where=[ast.Either(tuple(allen(f"d {each} r") for each in ("during", "starts", "finishes", "equals")))],
        )
    ),
)

MINUTES = Written(
    """
    DETECT minute { sensor { var S }, low { min(all var V) }, high { max(all var V) }, mean { avg(all var V) } }
    ON and { event w: timer:periodic [ 1 min ], while w: collect temp {{ sensor {{ var S }}, value {{ var V }} }} } END
    """,
    program(
        rule(
            h("minute", sensor=x("S"), low=agg("min", "V"), high=agg("max", "V"), mean=agg("avg", "V")),
            ast.PeriodicTimer("w", dur("1 min")),
            collect("w", q("temp", sensor=V("S"), value=V("V"))),
        )
    ),
)

UNINSURED = Written(
    """
    DETECT uninsured { order { var O }, sku { var S } }
    ON event o: order {{ id {{ var O }}, item {{ sku {{ var S }}, price {{ var P }}, without insurance {{ }} }} }} where { var P > 1000 } END
    """,
    program(
        rule(
            h("uninsured", order=x("O"), sku=x("S")),
            on(
                "o",
                q(
                    "order",
                    q("id", V("O")),
                    q("item", q("sku", V("S")), q("price", V("P")), ast.Without(q("insurance"))),
                ),
            ),
            where=[compare(x("P"), ">", 1000)],
        )
    ),
)

ITINERARY = Written(
    """
    DETECT itinerary { parcel { var P }, all stop { place { var L }, at { var T } } order by [ var T ] }
    ON and { event d: delivered {{ parcel {{ var P }} }}, event w: timer:extend-begin [ event d, 14 days ],
             while w: collect scan {{ parcel {{ var P }}, place {{ var L }}, at {{ var T }} }} } END
    """,
    program(
        rule(
            h("itinerary", h("parcel", x("P")), every(h("stop", place=x("L"), at=x("T")), order_by="T")),
            on("d", q("delivered", parcel=V("P"))),
            timer("w", "extend-begin", "d", "14 d"),
            collect("w", q("scan", parcel=V("P"), place=V("L"), at=V("T"))),
        )
    ),
)

STUCK = Written(
    """
    DETECT stuck { order { var O } }
    ON and { or { event o: web_order {{ id {{ var O }} }}, event o: shop_order {{ id {{ var O }} }} }, event i: timer:from-end [ event o, 2 days ],
             while i: not payment {{ order {{ var O }} }}, while i: not cancellation {{ order {{ var O }} }} } END
    """,
    program(
        rule(
            h("stuck", order=x("O")),
            ast.OneOf((on("o", q("web_order", id=V("O"))), on("o", q("shop_order", id=V("O"))))),
            timer("i", "from-end", "o", "2 d"),
            absent("i", q("payment", order=V("O"))),
            absent("i", q("cancellation", order=V("O"))),
        )
    ),
)

CONTAMINATION = Written(
    """
    DETECT bad { lot { var L } } ON event t: lab_test {{ lot {{ var L }}, result {{ "positive" }} }} END
    DETECT bad { lot { var B } } ON and { event c: bad {{ lot {{ var A }} }}, event m: mix {{ from {{ var A }}, into {{ var B }} }} } where { c before m } END
    """,
    program(
        rule(h("bad", lot=x("L")), on("t", q("lab_test", lot=V("L"), result="positive"))),
        rule(
            h("bad", lot=x("B")),
            on("c", q("bad", lot=V("A"))),
            on("m", q("mix", q("from", V("A")), q("into", V("B")))),
            where=[allen("c before m")],
        ),
    ),
)

DAILY = Written(
    """
    DETECT daily { shop { var S }, sales { sum(all var A) } }
    ON and { event d: timer:datetime {{ time {{ "18:00" }} }}, event w: timer:from-end-backward [ event d, 10 hours ],
             while w: collect sale {{ shop {{ var S }}, amount {{ var A }} }} } END
    """,
    program(
        rule(
            h("daily", shop=x("S"), sales=agg("sum", "A")),
            on("d", q("timer:datetime", time="18:00")),
            timer("w", "from-end-backward", "d", "10 h"),
            collect("w", q("sale", shop=V("S"), amount=V("A"))),
        )
    ),
)

PAGE = Written(
    """
    DETECT page { host { var H }, ip { var I }, user { var U } }
    ON and { event a: alarm {{ host {{ var H }}, desc ip {{ var I }}, optional user {{ var U }} }}, event i: timer:extend-begin [ event a, 5 min ],
             event k: timer:shift-backward [ event i, 1 min ], while k: not restart {{ host {{ var H }} }} } END
    """,
    program(
        rule(
            h("page", host=x("H"), ip=x("I"), user=x("U")),
            on(
                "a",
                ast.Labelled(
                    "alarm",
                    (q("host", V("H")), ast.Descendant(q("ip", V("I"))), ast.Optional(q("user", V("U")))),
                ),
            ),
            timer("i", "extend-begin", "a", "5 min"),
            timer("k", "shift-backward", "i", "1 min"),
            absent("k", q("restart", host=V("H"))),
        )
    ),
)
