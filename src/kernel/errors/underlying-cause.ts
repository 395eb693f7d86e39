const MAX_CAUSES = 8;
const MAX_LENGTH = 300;

interface ErrorLike {
  readonly message: string;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** Describes the innermost cause with its code, such as a TLS or DNS error; null if there is none. */
export function underlyingCause(error: unknown): string | null {
  let inner: ErrorLike | null = null;
  let current = isError(error) ? error.cause : null;
  for (let depth = 0; isError(current) && depth < MAX_CAUSES; depth += 1) {
    inner = current;
    current = current.cause;
  }
  if (inner === null) return null;
  const { code, message } = inner;
  const text = typeof code === 'string' && !message.includes(code) ? `${code}: ${message}` : message;
  return text.slice(0, MAX_LENGTH);
}

/** Checks the shape, since errors might come from another realm. */
const isError = (value: unknown): value is ErrorLike =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
