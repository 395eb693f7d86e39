/**
 * Asks again until it is so, and says how many milliseconds that took.
 * The default deadline only ends a test that has failed; a shorter one is a promise of the product.
 */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  deadlineMs = 15_000,
  description = 'it',
): Promise<number> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > deadlineMs)
      throw new Error(`${description} was not so within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - startedAt;
}
