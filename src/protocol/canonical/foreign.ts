import { type AnswerBlock, type CanonicalAnswer } from './collect';
import { sealed } from './reasoning-seal';
import { annotationFor } from './citations';
import { type DialectName } from './request';
import { type Dropped, Tally } from './tally';

export const ONLY_ITS_OWN = 'only its own dialect understands it';

/** Only another dialect than the target understands these parts of a whole answer. */
export function foreignParts(
  { blocks, citations }: CanonicalAnswer,
  target: DialectName,
  lane?: string,
): Dropped[] {
  const tally = new Tally();
  for (const block of blocks) {
    if (block.type !== 'reasoning' || block.signature === undefined) continue;
    // Chat has no place for a signature, so none is its own.
    if (target === 'chat' || (block.origin !== target && lane === undefined))
      tally.dropped('reasoning.signature', ONLY_ITS_OWN);
  }
  for (const { origin, value, span } of citations) {
    const note = target === 'messages' ? null : annotationFor(target, origin, value, span);
    if (note === null) tally.dropped('citation', ONLY_ITS_OWN);
  }
  return tally.list();
}

/** The signature of reasoning as a caller of the target gets it; undefined where there is none to give. */
export function signatureFor(
  block: AnswerBlock,
  target: DialectName,
  lane: string | undefined,
): string | undefined {
  if (block.type !== 'reasoning' || block.signature === undefined || block.origin === undefined)
    return undefined;
  const { text, origin, signature, redacted } = block;
  if (origin === target) return signature;
  return lane === undefined ? undefined : sealed({ text, origin, signature, redacted }, lane);
}
