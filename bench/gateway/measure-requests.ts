import type { Figure } from './figures';
import { cpuPer, interleaved, noise, ratios, type Rounds, withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import type { Stage, Target } from './stage';
import { median, spreadOf } from './statistics';
import { answering } from './supplier';

const CONNECTIONS = 32;
/** In the first seconds of work engines compile what is used most. */
const WARM_UP_ROUNDS = 2;

export interface Peers {
  readonly gateway: Target;
  readonly bare: Target;
  readonly streaming: Target;
  readonly portkey?: Target;
}

export interface RequestCost {
  readonly title: string;
  readonly body: object;
  readonly must: number;
  readonly aim: number;
  readonly portkey?: { readonly must: number; readonly aim: number };
}

/** CPU time a request, beside the bare proxy and, where it is there, beside Portkey. */
export async function measureRequests(
  stage: Stage,
  peers: Peers,
  { title, body, must, aim, portkey }: RequestCost,
  { count, milliseconds }: Rounds,
): Promise<Figure[]> {
  stage.supplier.behaviour = answering(wholeAnswer);
  const once = (target: Target): Promise<number> =>
    withLoad(target, CONNECTIONS, body, (load, request) =>
      cpuPer(target.process, () => load.closed(request, milliseconds)),
    );
  const beside = portkey !== undefined && peers.portkey !== undefined;
  const names = ['bare', 'gateway', 'streaming', ...(beside ? (['portkey'] as const) : [])] as const;
  const turn = (name: (typeof names)[number]): Promise<number> => once(peers[name] ?? peers.bare);
  await interleaved(names, WARM_UP_ROUNDS, turn);
  const cost = await interleaved(names, count, turn);
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
    times('× a bare proxy made of streams', ratios(cost.gateway, cost.streaming), {}),
    times('bare proxy × itself a round before', noise(cost.bare), { note: 'noise of the machine' }),
    ...(beside
      ? [
          times('requests a core × Portkey', ratios(cost.portkey, cost.gateway), {
            ...portkey,
            moreIsBetter: true,
          }),
        ]
      : []),
  ];
}
