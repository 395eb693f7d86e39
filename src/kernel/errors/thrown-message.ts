/** Message of anything that foreign code throws, even a value that cannot be printed. */
export function thrownMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'it threw what cannot be printed';
  }
}
