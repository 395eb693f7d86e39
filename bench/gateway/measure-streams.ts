import type { GatewayFigure } from './figures';
import { cpuPer, interleaved, noise, ratios, type Rounds, withLoad } from './rounds';
import type { Testbed, Target } from './testbed';
import { median, spreadOf } from './statistics';
import { SteppedStreams, type StreamScript } from './supplier';

const STREAM_COUNT = 48;
const WARM_UP_ROUNDS = 3;

export interface StreamCost {
  readonly title: string;
  readonly body: object;
  readonly script: StreamScript;
  readonly must?: number;
  readonly aim?: number;
}

/** CPU time per piece of a stream, compared with a bare pipe for the same bytes. */
export async function measureStreams(
  testbed: Testbed,
  peers: { readonly gateway: Target; readonly bare: Target },
  { title, body, script, ...bars }: StreamCost,
  { count, milliseconds }: Rounds,
): Promise<GatewayFigure[]> {
  const once = (target: Target): Promise<number> =>
    withLoad(
      target,
      STREAM_COUNT,
      body,
      (load, request) =>
        cpuPer(target.process, async () => {
          const streams = new SteppedStreams(script);
          testbed.supplier.behaviour = streams.behaviour;
          await load.runClosedLoop(request, milliseconds, () => streams.step());
          return streams.pieces;
        }),
      () => Promise.resolve(),
    );
  const names = ['bare', 'gateway'] as const;
  const measureTarget = (name: (typeof names)[number]): Promise<number> => once(peers[name]);
  await interleaved(names, WARM_UP_ROUNDS, measureTarget);
  const cost = await interleaved(names, count, measureTarget);
  return [
    {
      what: `${title}: CPU/chunk × bare pipe`,
      unit: '×',
      ...bars,
      measured: spreadOf(ratios(cost.gateway, cost.bare)),
      rounds: ratios(cost.gateway, cost.bare),
      note:
        `gateway ${median(cost.gateway).toFixed(1)} µs, bare pipe ${median(cost.bare).toFixed(1)} µs; ` +
        `noise ${median(noise(cost.bare)).toFixed(2)}`,
    },
  ];
}
