/** What code of others throws may be anything, even a value that cannot be printed. */
export function thrownWords(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'it threw what cannot be printed';
  }
}
