import { createHmac } from 'node:crypto';
import type { Kind } from './find';

/** A placeholder replaces a find, such as `[email 3f9c2a]`. */
export type Placeholder = (kind: Kind, value: string) => string;

/**
 * The same value gets the same placeholder in every request and every answer, so that a model can tell two people
 * apart, and so that the beginning of a conversation stays the same from turn to turn. Without the secret nobody can
 * find out which value a placeholder stands for by trying values.
 */
export function placeholdersWith(secret: string): Placeholder {
  /** A stream is looked at again and again, and making a mark takes longer than finding what it stands for. */
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
