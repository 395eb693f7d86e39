import type { GatewayFigure } from './figures';
import { cpuPer, interleaved, noise, ratios, type Rounds, warm, withLoad } from './rounds';
import { completeResponse } from './scripts';
import type { Testbed, Target } from './testbed';
import { median, spreadOf } from './statistics';
import { respondWith } from './supplier';

const CONNECTIONS = 32;
/** Compiles the code paths that only these bodies use. */
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
  /** Also measures the peer. */
  readonly portkey?: true;
}

/** CPU time per request, compared with the bare proxy and, if available, Portkey. */
export async function measureRequests(
  testbed: Testbed,
  peers: Peers,
  { title, body, must, aim, portkey }: RequestCost,
  { count, milliseconds }: Rounds,
): Promise<GatewayFigure[]> {
  testbed.supplier.behaviour = respondWith(completeResponse);
  const once = (target: Target): Promise<number> =>
    withLoad(target, CONNECTIONS, body, (load, request) =>
      cpuPer(target.process, () => load.runClosedLoop(request, milliseconds)),
    );
  const withPortkey = portkey !== undefined && peers.portkey !== undefined;
  const names = ['bare', 'gateway', ...(withPortkey ? (['portkey'] as const) : [])] as const;
  const targetOf = (name: (typeof names)[number]): Target => peers[name] ?? peers.bare;
  for (const name of names) await warm(targetOf(name), body, WARM_UP_MS);
  const cost = await interleaved(names, count, (name) => once(targetOf(name)));
  const note = names.map((name) => `${name} ${median(cost[name]).toFixed(0)} µs`).join(', ');
  const ratioFigure = (what: string, rounds: number[], extra: Partial<GatewayFigure>): GatewayFigure => ({
    what: `${title}: ${what}`,
    unit: '×',
    measured: spreadOf(rounds),
    rounds,
    ...extra,
  });
  return [
    ratioFigure('CPU/request × bare proxy', ratios(cost.gateway, cost.bare), { must, aim, note }),
    ratioFigure('bare proxy × itself a round before', noise(cost.bare), { note: 'noise of the machine' }),
    ...(withPortkey
      ? [
          ratioFigure('requests a core × Portkey', ratios(cost.portkey, cost.gateway), {
            moreIsBetter: true,
          }),
        ]
      : []),
  ];
}
