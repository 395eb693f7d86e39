/**
 * Polls until the condition holds and returns the elapsed milliseconds. The default deadline only ends a failed test; a
 * shorter one is a guarantee of the product.
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
