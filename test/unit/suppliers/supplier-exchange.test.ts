import { SupplierExchange } from '../../../src/routing/suppliers/supplier-exchange';

const failed = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

test.each([
  // No descriptor is left in this process or on this machine: the supplier was not even asked.
  ['EMFILE', 'capacity_exceeded', 503, 1],
  ['ENFILE', 'capacity_exceeded', 503, 1],
  ['ECONNREFUSED', 'upstream_unavailable', 503, undefined],
  ['SUPPLIER_DEADLINE', 'upstream_timeout', 504, undefined],
  ['ETIMEDOUT', 'upstream_timeout', 504, undefined],
])('a connection that fails with %s is %s', async (cause, code, status, retryAfterSeconds) => {
  const exchange = new SupplierExchange();
  const { head } = exchange;
  exchange.onBroken(failed(cause));
  const problem: unknown = await head.catch((error: unknown) => error);
  expect(problem).toMatchObject({ code, status });
  if (retryAfterSeconds !== undefined) expect(problem).toMatchObject({ options: { retryAfterSeconds } });
});
