"""Measures the built command line with the kit, prints its figures, and fails below the limits."""

import sys

from adapter import SharedContext
from compaction_kit.benchmark import run_budget_benchmark

# The least share of planted facts that must survive five rounds, by budget.
SURVIVAL = {0.10: 0.50, 0.20: 1.00, 0.30: 1.00}


def main():
    result = run_budget_benchmark({"shared-context": SharedContext}, budgets=sorted(SURVIVAL))
    print("budget  survival  restated: stale  paraphrased: resolved  distinct  within budget")
    failures = []
    for entry in result["entries"]:
        budget = entry["budget_fraction"]
        survival = entry["randomized"]["overall_final_survival"]
        stale = entry["randomized"]["supersession"]["stale"]
        resolved = entry["semantic"]["resolved_rate"]
        distinct = entry["semantic"]["distinct_pair_rate"]
        compliant = entry["budget_compliant"]
        print(
            f"{budget:6.0%}  {survival:8.1%}  {stale:15}  {resolved:21.1%}  {distinct:8.1%}  {compliant}"
        )
        if survival < SURVIVAL[budget]:
            failures.append(f"{budget:.0%}: {survival:.1%} survived, not {SURVIVAL[budget]:.0%}")
        if not compliant:
            failures.append(f"{budget:.0%}: over the budget")
        if stale:
            failures.append(f"{budget:.0%}: {stale} stale values of restated facts")
        if budget >= 0.20 and distinct < 1.0:
            failures.append(f"{budget:.0%}: {distinct:.1%} of distinct pairs kept")
    for failure in failures:
        print("FAILED", failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
