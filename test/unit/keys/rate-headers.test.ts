import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { setRateHeaders } from '../../../src/keys';

const headersFor = (limit: number, used: number, resetMs: number) => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  setRateHeaders(response, { allowed: true, limit, used, resetMs, retryMs: 0 });
  const { 'x-ratelimit-remaining-requests': remaining, 'x-ratelimit-reset-requests': reset } =
    response.getHeaders();
  return { remaining, reset };
};

describe('Rate limit headers', () => {
  it.each([0, 7, 999, 1_000, 1_007, 60_000, 1_234_567])('report %d remaining requests', (left) => {
    expect(headersFor(left, 0, 0).remaining).toBe(String(left));
  });

  it('report any number of remaining requests and any reset time', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), fc.nat(10_000_000), fc.nat(86_400_000), (limit, used, resetMs) => {
        const { remaining, reset } = headersFor(limit, used, resetMs);
        expect(remaining).toBe(String(Math.max(0, limit - used)));
        expect(reset).toBe(`${(resetMs / 1_000).toFixed(3)}s`);
      }),
    );
  });
});
