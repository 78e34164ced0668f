"""Programs that tests share: P of the paper, the twelve of the contract, and the schemas that they read."""

import pyarrow as pa

P = """
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
"""
"""Figure 1 of the paper, letter by letter."""

P_WITHOUT_SPACES = (
    "DETECT fire{area{var A}}ON and{event s:smoke{{area{{var A}}}},event t:temp{{area{{var A}},value{{var T}}}}}"
    "where{s before t,{s,t}within 1min,var T>40}END DETECT burnt_down{sensor{var S}}ON and{event n:temp{{sensor"
    "{{var S}},value{{var T}}}},event i:timer:from-end[event n,12sec],while i:not temp{{sensor{{var S}}}}}where"
    "{var T>40}END DETECT avg_temp{sensor{var S},value{avg(all var T)}}ON and{event m:temp{{sensor{{var S}}}},event "
    "i:timer:from-start-backward[event m,1min],while i:collect temp{{sensor{{var S}},value{{var T}}}}}END"
)

TWELVE = {
    "monitoring: a host is silent for 90 seconds": """
DETECT silent { host { var H } }
ON and { event b: heartbeat {{ host {{ var H }} }}, event i: timer:from-end [ event b, 90 sec ],
         event o: timer:shorten-begin [ event i, 1 ms ], while o: not heartbeat {{ host {{ var H }} }} } END
""",
    "chaining: and came back within the hour": """
DETECT recovered { host { var H } }
ON and { event s: silent {{ host {{ var H }} }}, event b: heartbeat {{ host {{ var H }} }} } where { s before b, {s, b} within 1 hour } END
""",
    "fraud: one card, two countries, ten minutes": """
DETECT two_places { card { var C }, from { var L1 }, to { var L2 } }
ON and { event p: payment {{ card {{ var C }}, country {{ var L1 }} }}, event q: payment {{ card {{ var C }}, country {{ var L2 }} }}
} where { p before q, {p, q} within 10 min, var L1 != var L2 } END
""",
    "fraud: count and sum over a sliding window; the threshold is a second rule": """
DETECT burst { card { var C }, n { count(all var A) }, total { sum(all var A) } }
ON and { event p: payment {{ card {{ var C }} }}, event w: timer:from-end-backward [ event p, 5 min ],
         while w: collect payment {{ card {{ var C }}, amount {{ var A }} }} } END
DETECT velocity { card { var C }, total { var S } } ON burst {{ card {{ var C }}, n {{ var N }}, total {{ var S }} }} where { var N >= 5 } END
""",
    "IoT: the door was opened and closed while the machine ran": """
DETECT unsafe { machine { var M } }
ON and { event r: run {{ machine {{ var M }} }}, event d: door_open {{ machine {{ var M }} }} }
   where { or { d during r, d starts r, d finishes r, d equals r } } END
""",
    "IoT: tumbling minutes, by sensor: one event for each group": """
DETECT minute { sensor { var S }, low { min(all var V) }, high { max(all var V) }, mean { avg(all var V) } }
ON and { event w: timer:periodic [ 1 min ], while w: collect temp {{ sensor {{ var S }}, value {{ var V }} }} } END
""",
    "logistics: nested data, repeated children, subterm negation": """
DETECT uninsured { order { var O }, sku { var S } }
ON event o: order {{ id {{ var O }}, item {{ sku {{ var S }}, price {{ var P }}, without insurance {{ }} }} }} where { var P > 1000 } END
""",
    "logistics: the way of a parcel, as a sorted list, once it is delivered": """
DETECT itinerary { parcel { var P }, all stop { place { var L }, at { var T } } order by [ var T ] }
ON and { event d: delivered {{ parcel {{ var P }} }}, event w: timer:extend-begin [ event d, 14 days ],
         while w: collect scan {{ parcel {{ var P }}, place {{ var L }}, at {{ var T }} }} } END
""",
    "commerce: neither paid nor cancelled in two days, whatever shop it came from": """
DETECT stuck { order { var O } }
ON and { or { event o: web_order {{ id {{ var O }} }}, event o: shop_order {{ id {{ var O }} }} }, event i: timer:from-end [ event o, 2 days ],
         while i: not payment {{ order {{ var O }} }}, while i: not cancellation {{ order {{ var O }} }} } END
""",
    "food safety: contamination spreads": """
DETECT bad { lot { var L } } ON event t: lab_test {{ lot {{ var L }}, result {{ "positive" }} }} END
DETECT bad { lot { var B } } ON and { event c: bad {{ lot {{ var A }} }}, event m: mix {{ from {{ var A }}, into {{ var B }} }} } where { c before m } END
""",
    "retail: what was sold by six every day, for each shop": """
DETECT daily { shop { var S }, sales { sum(all var A) } }
ON and { event d: timer:datetime {{ time {{ "18:00" }} }}, event w: timer:from-end-backward [ event d, 10 hours ],
         while w: collect sale {{ shop {{ var S }}, amount {{ var A }} }} } END
""",
    "security: an alarm that no restart in the minutes before explains, and the user, if known": """
DETECT page { host { var H }, ip { var I }, user { var U } }
ON and { event a: alarm {{ host {{ var H }}, desc ip {{ var I }}, optional user {{ var U }} }}, event i: timer:extend-begin [ event a, 5 min ],
         event k: timer:shift-backward [ event i, 1 min ], while k: not restart {{ host {{ var H }} }} } END
""",
}

SCHEMAS = {
    "smoke": pa.schema({"area": pa.string()}),
    "temp": pa.schema({"area": pa.string(), "sensor": pa.string(), "value": pa.float64()}),
    "heartbeat": pa.schema({"host": pa.string()}),
    "payment": pa.schema({"card": pa.string(), "country": pa.string(), "amount": pa.int64(), "order": pa.int64()}),
    "run": pa.schema({"machine": pa.string()}),
    "door_open": pa.schema({"machine": pa.string()}),
    "order": pa.schema(
        {
            "id": pa.int64(),
            "item": pa.list_(
                pa.struct({"sku": pa.string(), "price": pa.float64(), "insurance": pa.struct({"by": pa.string()})})
            ),
        }
    ),
    "delivered": pa.schema({"parcel": pa.string()}),
    "scan": pa.schema({"parcel": pa.string(), "place": pa.string(), "at": pa.timestamp("us")}),
    "web_order": pa.schema({"id": pa.int64()}),
    "shop_order": pa.schema({"id": pa.int64()}),
    "cancellation": pa.schema({"order": pa.int64()}),
    "lab_test": pa.schema({"lot": pa.string(), "result": pa.string()}),
    "mix": pa.schema({"from": pa.string(), "into": pa.string()}),
    "sale": pa.schema({"shop": pa.string(), "amount": pa.int64()}),
    "alarm": pa.schema(
        {
            "host": pa.string(),
            "user": pa.string(),
            "net": pa.struct({"ip": pa.string(), "port": pa.int32()}),
        }
    ),
    "restart": pa.schema({"host": pa.string()}),
}
