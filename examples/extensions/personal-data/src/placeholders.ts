import { createHmac } from 'node:crypto';
import type { Kind } from './find';

/** Replacement of a match, such as `[email 3f9c2a]`. */
export type Placeholder = (kind: Kind, value: string) => string;

/**
 * Creates placeholders that are the same for a value in every request and reply, so that a model can tell users apart
 * and conversations keep their beginning. Without the secret, a value cannot be found by trial.
 */
export function placeholdersWith(secret: string): Placeholder {
  /** A stream is searched repeatedly, and computing a placeholder takes longer than finding its value. */
  const recent = new Map<string, string>();
  return (kind, value) => {
    const plain = kind === 'email' ? value.toLowerCase() : value.replaceAll(/[^a-z\d]/gi, '').toUpperCase();
    const what = `${kind} ${plain}`;
    let placeholder = recent.get(what);
    if (placeholder === undefined) {
      const mark = createHmac('sha256', secret).update(what).digest('hex').slice(0, 6);
      if (recent.size === 256) recent.clear();
      recent.set(what, (placeholder = `[${kind} ${mark}]`));
    }
    return placeholder;
  };
}
