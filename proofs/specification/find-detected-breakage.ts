import { breakagesOf } from './breakages';
import type { SpecificationWorld } from './world';

const MAX_ATTEMPTS = 400;
const MAX_DURATION_MS = 600_000;

/** Result of breaking the responses of a row. */
export type RowBreakageResult =
  | { readonly is: 'red'; readonly by: string }
  | { readonly is: 'never' }
  /** The row fails even without a breakage. */
  | { readonly is: 'broken'; readonly failure: string };

/** Breaks the responses of a row one by one until the row fails. */
export async function findDetectedBreakage(
  world: SpecificationWorld,
  outcome: () => Promise<string | null>,
  statement: string,
): Promise<RowBreakageResult> {
  const { breakingProxy: meddler } = world;
  try {
    meddler.arm(null);
    const unbrokenOutcome = await outcome();
    if (unbrokenOutcome !== null) return { is: 'broken', failure: unbrokenOutcome };
    const breakages = breakagesOf(await meddler.completeResponses(), statement);
    const deadline = Date.now() + MAX_DURATION_MS;
    for (const breakage of breakages.slice(0, MAX_ATTEMPTS)) {
      if (Date.now() > deadline) break;
      meddler.arm(breakage);
      const failure = await outcome();
      if (failure !== null && meddler.hasApplied) return { is: 'red', by: breakage.name };
    }
    return { is: 'never' };
  } finally {
    meddler.arm(null);
  }
}
