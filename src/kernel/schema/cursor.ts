import { parseJsonText } from '../json';

export type Direction = 'next' | 'previous';

const LONGEST = 1_000;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

export interface CursorText {
  readonly direction: Direction;
  readonly values: readonly unknown[];
}

/** The text that leads from one page of a list to the next. */
export const cursorText = (direction: Direction, values: readonly unknown[]): string =>
  Buffer.from(JSON.stringify([direction, ...values])).toString('base64url');

/** The parts of a cursor are null for a text that is none. */
export function readCursor(given: string): CursorText | null {
  if (given.length > LONGEST || !BASE64URL.test(given)) return null;
  try {
    const parts: unknown = parseJsonText(Buffer.from(given, 'base64url').toString('utf8'));
    const [direction, ...values] = Array.isArray(parts) ? (parts as unknown[]) : [];
    return direction === 'next' || direction === 'previous' ? { direction, values } : null;
  } catch {
    return null;
  }
}
