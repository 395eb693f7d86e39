const MOST_CAUSES = 8;
const LONGEST = 300;

interface ErrorShape {
  readonly message: string;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** The innermost cause of an error stands in the log with its code, such as a TLS or DNS error. */
export function underlyingCause(error: unknown): string | null {
  let inner: ErrorShape | null = null;
  let at = isError(error) ? error.cause : null;
  for (let depth = 0; isError(at) && depth < MOST_CAUSES; depth += 1) {
    inner = at;
    at = at.cause;
  }
  if (inner === null) return null;
  const { code, message } = inner;
  const text = typeof code === 'string' && !message.includes(code) ? `${code}: ${message}` : message;
  return text.slice(0, LONGEST);
}

/** It goes by shape, since errors may come from another realm. */
const isError = (value: unknown): value is ErrorShape =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
