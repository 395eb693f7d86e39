import { SupplierExchange } from '../../../src/routing/suppliers/supplier-exchange';

const errorWithCode = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

test.each([
  // The process or machine is out of descriptors, so the supplier was not called.
  ['EMFILE', 'capacity_exceeded', 503, 1],
  ['ENFILE', 'capacity_exceeded', 503, 1],
  ['ECONNREFUSED', 'upstream_unavailable', 503, undefined],
  ['SUPPLIER_DEADLINE', 'upstream_timeout', 504, undefined],
  ['ETIMEDOUT', 'upstream_timeout', 504, undefined],
])('connection that fails with %s is %s', async (cause, code, status, retryAfterSeconds) => {
  const exchange = new SupplierExchange();
  const { head } = exchange;
  exchange.onBroken(errorWithCode(cause));
  const problem: unknown = await head.catch((error: unknown) => error);
  expect(problem).toMatchObject({ code, status });
  if (retryAfterSeconds !== undefined) expect(problem).toMatchObject({ options: { retryAfterSeconds } });
});
