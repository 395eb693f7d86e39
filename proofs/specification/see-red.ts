import { breakagesOf } from './breakages';
import type { SpecificationWorld } from './world';

const MOST_TRIES = 400;
const LONGEST_MS = 600_000;

/** A row behaves in one of these ways when its answer is broken. */
export type Redness =
  | { readonly is: 'red'; readonly by: string }
  | { readonly is: 'never' }
  /** It does not hold as it is. */
  | { readonly is: 'broken'; readonly saw: string };

/** Breaks one answer of a row after the other, until the row fails. */
export async function seeRed(
  world: SpecificationWorld,
  outcome: () => Promise<string | null>,
  statement: string,
): Promise<Redness> {
  const { meddler } = world;
  try {
    meddler.arm(null);
    const asItIs = await outcome();
    if (asItIs !== null) return { is: 'broken', saw: asItIs };
    const breakages = breakagesOf(await meddler.passed(), statement);
    const deadline = Date.now() + LONGEST_MS;
    for (const breakage of breakages.slice(0, MOST_TRIES)) {
      if (Date.now() > deadline) break;
      meddler.arm(breakage);
      const saw = await outcome();
      if (saw !== null && meddler.broke) return { is: 'red', by: breakage.name };
    }
    return { is: 'never' };
  } finally {
    meddler.arm(null);
  }
}
