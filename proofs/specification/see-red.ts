import { breakagesOf } from './breakages';
import type { SpecificationWorld } from './world';

const MOST_TRIES = 120;
const LONGEST_MS = 90_000;

/** The breakage that made a row fail which holds otherwise; null where none did. */
export async function seeRed(
  world: SpecificationWorld,
  outcome: () => Promise<string | null>,
  statement: string,
): Promise<string | null> {
  const { meddler } = world;
  try {
    meddler.arm(null);
    const before = await outcome();
    if (before !== null) throw new Error(`held once and not again: ${statement}: ${before}`);
    const breakages = breakagesOf(await meddler.passed(), statement);
    const deadline = Date.now() + LONGEST_MS;
    for (const breakage of breakages.slice(0, MOST_TRIES)) {
      if (Date.now() > deadline) break;
      meddler.arm(breakage);
      const saw = await outcome();
      if (saw !== null && meddler.broke) return breakage.name;
    }
    return null;
  } finally {
    meddler.arm(null);
  }
}
