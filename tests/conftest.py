"""How many random cases are tried: a fixed number in CI, as many as asked for by `make long`."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=int(os.environ.get("ACELERA_EXAMPLES", "300")),
    derandomize="ACELERA_EXAMPLES" not in os.environ,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("ci")
