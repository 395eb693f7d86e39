import { hash } from 'node:crypto';
import { type DialectName, type ReasoningBlock } from './request';

/** An answer of ours says this in place of a signature that there is not. */
export const UNSIGNED = 'svc1.unsigned';

const SEAL = /^svc1\.(chat|messages|responses)\.(shown|hidden)\.([0-9a-f]{12})\.([0-9a-f]{12})\.(.*)$/s;

const digest = (text: string): string => hash('sha256', text).slice(0, 12);

/** The mark names the account that a signature is of. */
export const laneMark = (account: string): string => digest(account);

type Signed = Pick<ReasoningBlock, 'text' | 'origin' | 'redacted'> & { readonly signature: string };

/**
 * A signature goes to a caller of another dialect in this form. It has its dialect, its lane, and a digest of
 * the text that it was given for. Suppliers refuse a signature with another text.
 */
export const sealed = ({ text, origin, redacted, signature }: Signed, lane: string): string =>
  `svc1.${origin}.${redacted ? 'hidden' : 'shown'}.${lane}.${digest(text)}.${signature}`;

/** A caller's signature was sealed here. */
export const isSealed = (signature: unknown): boolean =>
  typeof signature === 'string' && (signature === UNSIGNED || SEAL.test(signature));

/** A caller brings back a signature of `dialect`; a text that was changed has none. */
export function opened(
  signature: string | undefined,
  text: string,
  dialect: DialectName,
): Pick<ReasoningBlock, 'origin' | 'signature' | 'lane' | 'redacted'> {
  if (signature === undefined || signature === '' || signature === UNSIGNED) return { origin: 'chat' };
  const parts = SEAL.exec(signature);
  if (parts === null) return { origin: dialect, signature };
  const [, origin, shown, lane, of, inner] = parts;
  if (of !== digest(text)) return { origin: origin as DialectName };
  const hidden = shown === 'hidden' ? { redacted: true } : {};
  return { origin: origin as DialectName, signature: inner!, lane: lane!, ...hidden };
}

/** A supplier of this dialect can read the reasoning again where this holds. */
export type ReadsReasoning = (signature: string, lane: string | undefined) => boolean;

export const isReadable = (
  { origin, signature, lane }: Pick<ReasoningBlock, 'origin' | 'signature' | 'lane'>,
  dialect: DialectName,
  reads: ReadsReasoning = () => true,
): boolean => origin === dialect && signature !== undefined && reads(signature, lane);
