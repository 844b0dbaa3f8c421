"""Settings of the long random suites."""

from hypothesis import HealthCheck, Phase, settings


def nightly(examples: int) -> settings:
    """Return settings of a fixed seed, so that what fails comes again without its database."""
    return settings(
        deadline=None,
        max_examples=examples,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
