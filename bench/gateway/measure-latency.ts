import type { GatewayFigure } from './figures';
import { smallPrompt } from './prompts';
import { interleaved, type Rounds, withLoad } from './rounds';
import { completeResponse } from './scripts';
import type { Testbed, Target } from './testbed';
import { median, quantile, spreadOf } from './statistics';
import { respondWith } from './supplier';

const REQUESTS_PER_SECOND = 300;
/** More than are ever in flight together, unless the machine stalls. */
const CONNECTIONS = 300;

/** Measures the latency that the gateway adds at a rate at which requests do not queue. */
export async function measureLatency(
  testbed: Testbed,
  peers: { readonly gateway: Target; readonly bare: Target },
  { count, milliseconds }: Rounds,
): Promise<GatewayFigure[]> {
  testbed.supplier.behaviour = respondWith(completeResponse);
  const p99: Record<'gateway' | 'bare', number[]> = { gateway: [], bare: [] };
  const perRequest: number[] = [];
  const p50 = await interleaved(['bare', 'gateway'], count, (name) =>
    withLoad(peers[name], CONNECTIONS, smallPrompt, async (load, request) => {
      const before = testbed.statements.statements;
      const times = await load.runAtRate(request, REQUESTS_PER_SECOND, milliseconds);
      await peers[name].process.quiet();
      if (name === 'gateway') perRequest.push((testbed.statements.statements - before) / times.length);
      p99[name].push(quantile(times, 0.99));
      return median(times);
    }),
  );
  const difference = (above: readonly number[], below: readonly number[]): number[] =>
    above.map((value, round) => value - (below[round] ?? NaN));
  return [
    {
      what: `added p50 over the bare proxy at ${REQUESTS_PER_SECOND}/s`,
      unit: 'ms',
      must: 0.3,
      aim: 0.1,
      measured: spreadOf(difference(p50.gateway, p50.bare)),
      rounds: difference(p50.gateway, p50.bare),
      note: `p50 ${median(p50.gateway).toFixed(2)} ms, bare proxy ${median(p50.bare).toFixed(2)} ms`,
    },
    {
      what: `added p99 over the bare proxy at ${REQUESTS_PER_SECOND}/s`,
      unit: 'ms',
      measured: spreadOf(difference(p99.gateway, p99.bare)),
    },
    {
      what: `SQL statements a request at ${REQUESTS_PER_SECOND}/s`,
      unit: '',
      measured: spreadOf(perRequest),
    },
  ];
}
