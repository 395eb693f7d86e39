import { hash } from 'node:crypto';
import { type DialectName, type ReasoningBlock } from './request';

/** Placeholder for a missing signature in a converted response. */
export const UNSIGNED = 'svc1.unsigned';

const SEAL = /^svc1\.(chat|messages|responses)\.(shown|hidden)\.([0-9a-f]{12})\.([0-9a-f]{12})\.(.*)$/s;

const digest = (text: string): string => hash('sha256', text).slice(0, 12);

export const laneMark = (account: string): string => digest(account);

type SignedReasoning = Pick<ReasoningBlock, 'text' | 'origin' | 'redacted'> & { readonly signature: string };

/**
 * The form in which a signature is sent to a caller of another dialect: with its dialect, its lane and a digest of the
 * signed text. Suppliers refuse a signature with another text.
 */
export const sealReasoning = ({ text, origin, redacted, signature }: SignedReasoning, lane: string): string =>
  `svc1.${origin}.${redacted ? 'hidden' : 'shown'}.${lane}.${digest(text)}.${signature}`;

export const isSealed = (signature: unknown): boolean =>
  typeof signature === 'string' && (signature === UNSIGNED || SEAL.test(signature));

/** Unseals a signature that a caller of `dialect` returns; a changed text loses its signature. */
export function unsealReasoning(
  signature: string | undefined,
  text: string,
  dialect: DialectName,
): Pick<ReasoningBlock, 'origin' | 'signature' | 'lane' | 'redacted'> {
  if (signature === undefined || signature === '' || signature === UNSIGNED) return { origin: 'chat' };
  const parts = SEAL.exec(signature);
  if (parts === null) return { origin: dialect, signature };
  const [, origin, visibility, lane, textDigest, inner] = parts;
  if (textDigest !== digest(text)) return { origin: origin as DialectName };
  const hidden = visibility === 'hidden' ? { redacted: true } : {};
  return { origin: origin as DialectName, signature: inner!, lane: lane!, ...hidden };
}

export type ReasoningPredicate = (signature: string, lane: string | undefined) => boolean;

export const isReadable = (
  { origin, signature, lane }: Pick<ReasoningBlock, 'origin' | 'signature' | 'lane'>,
  dialect: DialectName,
  accepts: ReasoningPredicate = () => true,
): boolean => origin === dialect && signature !== undefined && accepts(signature, lane);
