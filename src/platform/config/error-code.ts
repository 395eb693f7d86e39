/** The `code` of a system error, such as ENOENT; read by shape, since errors might come from another realm. */
export function errorCode(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
