import type { Figure } from './figures';
import { cpuPer, interleaved, noise, ratios, type Rounds, warm, withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import type { Testbed, Target } from './testbed';
import { median, spreadOf } from './statistics';
import { answering } from './supplier';

const CONNECTIONS = 32;
/** Code that only these bodies run through is still to be compiled. */
const WARM_UP_MS = 3_000;

export interface Peers {
  readonly gateway: Target;
  readonly bare: Target;
  readonly portkey?: Target;
}

export interface RequestCost {
  readonly title: string;
  readonly body: object;
  readonly must: number;
  readonly aim: number;
  /** The peer is measured beside it. */
  readonly portkey?: true;
}

/** CPU time a request, beside the bare proxy and, where it is there, beside Portkey. */
export async function measureRequests(
  testbed: Testbed,
  peers: Peers,
  { title, body, must, aim, portkey }: RequestCost,
  { count, milliseconds }: Rounds,
): Promise<Figure[]> {
  testbed.supplier.behaviour = answering(wholeAnswer);
  const once = (target: Target): Promise<number> =>
    withLoad(target, CONNECTIONS, body, (load, request) =>
      cpuPer(target.process, () => load.closed(request, milliseconds)),
    );
  const beside = portkey !== undefined && peers.portkey !== undefined;
  const names = ['bare', 'gateway', ...(beside ? (['portkey'] as const) : [])] as const;
  const targetOf = (name: (typeof names)[number]): Target => peers[name] ?? peers.bare;
  for (const name of names) await warm(targetOf(name), body, WARM_UP_MS);
  const cost = await interleaved(names, count, (name) => once(targetOf(name)));
  const note = names.map((name) => `${name} ${median(cost[name]).toFixed(0)} µs`).join(', ');
  const times = (what: string, rounds: number[], rest: Partial<Figure>): Figure => ({
    what: `${title}: ${what}`,
    unit: '×',
    measured: spreadOf(rounds),
    rounds,
    ...rest,
  });
  return [
    times('CPU/request × bare proxy', ratios(cost.gateway, cost.bare), { must, aim, note }),
    times('bare proxy × itself a round before', noise(cost.bare), { note: 'noise of the machine' }),
    ...(beside
      ? [
          times('requests a core × Portkey', ratios(cost.portkey, cost.gateway), {
            moreIsBetter: true,
          }),
        ]
      : []),
  ];
}
