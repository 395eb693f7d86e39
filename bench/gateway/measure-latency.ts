import type { Figure } from './figures';
import { smallPrompt } from './prompts';
import { interleaved, type Rounds, withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import type { Testbed, Target } from './testbed';
import { median, quantile, spreadOf } from './statistics';
import { answering } from './supplier';

const A_SECOND = 300;
/** More than are ever open at once, unless the machine stands still for a while. */
const CONNECTIONS = 300;

/** The measurement finds what the gateway adds to a request at a rate at which none waits for another. */
export async function measureLatency(
  testbed: Testbed,
  peers: { readonly gateway: Target; readonly bare: Target },
  { count, milliseconds }: Rounds,
): Promise<Figure[]> {
  testbed.supplier.behaviour = answering(wholeAnswer);
  const slow: Record<'gateway' | 'bare', number[]> = { gateway: [], bare: [] };
  const perRequest: number[] = [];
  const p50 = await interleaved(['bare', 'gateway'], count, (name) =>
    withLoad(peers[name], CONNECTIONS, smallPrompt, async (load, request) => {
      const before = testbed.statements.statements;
      const times = await load.paced(request, A_SECOND, milliseconds);
      await peers[name].process.quiet();
      if (name === 'gateway') perRequest.push((testbed.statements.statements - before) / times.length);
      slow[name].push(quantile(times, 0.99));
      return median(times);
    }),
  );
  const added = (above: readonly number[], below: readonly number[]): number[] =>
    above.map((value, round) => value - (below[round] ?? NaN));
  return [
    {
      what: `added p50 over the bare proxy at ${A_SECOND}/s`,
      unit: 'ms',
      must: 0.3,
      aim: 0.1,
      measured: spreadOf(added(p50.gateway, p50.bare)),
      rounds: added(p50.gateway, p50.bare),
      note: `p50 ${median(p50.gateway).toFixed(2)} ms, bare proxy ${median(p50.bare).toFixed(2)} ms`,
    },
    {
      what: `added p99 over the bare proxy at ${A_SECOND}/s`,
      unit: 'ms',
      measured: spreadOf(added(slow.gateway, slow.bare)),
    },
    { what: `SQL statements a request at ${A_SECOND}/s`, unit: '', measured: spreadOf(perRequest) },
  ];
}
