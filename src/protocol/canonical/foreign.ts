import { type ResponseBlock, type CanonicalResponse } from './collect';
import { sealReasoning } from './reasoning-seal';
import { annotationFor } from './citations';
import { type DialectName } from './request';
import { type Dropped, Tally } from './tally';

export const ONLY_OWN_DIALECT = 'only its own dialect understands it';

export function foreignParts(
  { blocks, citations }: CanonicalResponse,
  target: DialectName,
  lane?: string,
): Dropped[] {
  const tally = new Tally();
  for (const block of blocks) {
    if (block.type !== 'reasoning' || block.signature === undefined) continue;
    // Chat has no field for a signature, so none is its own.
    if (target === 'chat' || (block.origin !== target && lane === undefined))
      tally.dropped('reasoning.signature', ONLY_OWN_DIALECT);
  }
  for (const { origin, value, span } of citations) {
    const annotation = target === 'messages' ? null : annotationFor(target, origin, value, span);
    if (annotation === null) tally.dropped('citation', ONLY_OWN_DIALECT);
  }
  return tally.list();
}

export function signatureFor(
  block: ResponseBlock,
  target: DialectName,
  lane: string | undefined,
): string | undefined {
  if (block.type !== 'reasoning' || block.signature === undefined || block.origin === undefined)
    return undefined;
  const { text, origin, signature, redacted } = block;
  if (origin === target) return signature;
  return lane === undefined ? undefined : sealReasoning({ text, origin, signature, redacted }, lane);
}
