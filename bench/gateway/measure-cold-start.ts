import type { GatewayFigure } from './figures';
import { startPortkey } from './peers';
import { interleaved, ratios } from './rounds';
import type { Testbed, Target } from './testbed';
import { median, spreadOf } from './statistics';

/** Measures from process start to the first response, on an existing database. */
export async function measureColdStart(
  testbed: Testbed,
  rounds: number,
  withPeers: boolean,
): Promise<GatewayFigure[]> {
  const start: Record<string, () => Promise<Target>> = {
    gateway: () => testbed.gateway(),
    ...(withPeers ? { portkey: () => startPortkey(testbed) } : {}),
  };
  const once = async (name: string): Promise<number> => {
    const { process } = (await start[name]?.()) ?? {};
    await process?.stop();
    return process?.startedInMs ?? NaN;
  };
  const names = Object.keys(start);
  for (const name of names) await once(name);
  const times = await interleaved(names, rounds, once);
  const { gateway = [], portkey = [] } = times;
  const gatewayFigure: GatewayFigure = {
    what: 'start of the artefact, database up to date',
    unit: 'ms',
    must: 1_200,
    measured: spreadOf(gateway),
    rounds: gateway,
  };
  if (!withPeers) return [gatewayFigure];
  const rate = ratios(gateway, portkey);
  const note = `Portkey ${median(portkey).toFixed(0)} ms`;
  return [
    gatewayFigure,
    { what: 'start × Portkey', unit: '×', measured: spreadOf(rate), rounds: rate, note },
  ];
}
