import { annotationFor } from './citations';
import { type CanonicalAnswer } from './collect';
import { type DialectName } from './request';
import { type Dropped, Tally } from './tally';

export const ONLY_ITS_OWN = 'only its own dialect understands it';

/** What of a whole answer only another dialect than the target understands. */
export function foreignParts({ blocks, citations }: CanonicalAnswer, target: DialectName): Dropped[] {
  const tally = new Tally();
  for (const block of blocks) {
    if (block.type !== 'reasoning' || block.signature === undefined) continue;
    // Chat has no place for a signature, so none is its own.
    if (block.origin !== target || target === 'chat') tally.dropped('reasoning.signature', ONLY_ITS_OWN);
  }
  for (const { origin, value, span } of citations) {
    const note = target === 'messages' ? null : annotationFor(target, origin, value, span);
    if (note === null) tally.dropped('citation', ONLY_ITS_OWN);
  }
  return tally.list();
}
