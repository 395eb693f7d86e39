import { parseJsonText } from '../json';

export type Direction = 'next' | 'previous';

const MAX_LENGTH = 1_000;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

export interface CursorText {
  readonly direction: Direction;
  readonly values: readonly unknown[];
}

/** Text that leads from one page of a list to the next. */
export const cursorText = (direction: Direction, values: readonly unknown[]): string =>
  Buffer.from(JSON.stringify([direction, ...values])).toString('base64url');

/** Returns the parts of a cursor; null if the text is not a cursor. */
export function readCursor(text: string): CursorText | null {
  if (text.length > MAX_LENGTH || !BASE64URL.test(text)) return null;
  try {
    const parts: unknown = parseJsonText(Buffer.from(text, 'base64url').toString('utf8'));
    const [direction, ...values] = Array.isArray(parts) ? (parts as unknown[]) : [];
    return direction === 'next' || direction === 'previous' ? { direction, values } : null;
  } catch {
    return null;
  }
}
