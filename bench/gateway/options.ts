import { parseArgs } from 'node:util';

export const groups = [
  'small-prompt',
  'large-prompt',
  'streams',
  'latency',
  'memory',
  'slow-readers',
  'cold-start',
  'money',
] as const;
export type MeasurementGroup = (typeof groups)[number];

export interface BenchOptions {
  readonly groups: ReadonlySet<MeasurementGroup>;
  readonly isComplete: boolean;
  readonly rounds: number;
  readonly roundMs: number;
  readonly loadSeconds: number;
  readonly slowSeconds: number;
  readonly peers: boolean;
  readonly profile: boolean;
  /** Gives the key every kind of limit. */
  readonly limited: boolean;
  /** Measures only the cost of telemetry. */
  readonly traced: boolean;
  /** Folder of an earlier build to compare with, running without telemetry. */
  readonly before: string | null;
}

export const usage = `npm run bench:gateway -- [options]

  --only a,b        only these: ${groups.join(', ')}
  --rounds N        rounds for each figure (20)
  --long            ten minutes of load, five of slow readers
  --without-peers   without Portkey
  --limited         with a key that has every limit
  --traced          only what telemetry costs: off, one trace in a hundred, all of them
  --before FOLDER   with --traced: a built project from before, beside which off is measured
  --profile         only a CPU profile of the small prompt, written to docs/performance/
`;

export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args: args,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: '20' },
      long: { type: 'boolean', default: false },
      'without-peers': { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      limited: { type: 'boolean', default: false },
      traced: { type: 'boolean', default: false },
      before: { type: 'string' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 2) throw new Error('--rounds takes a number from 2');
  return {
    groups: new Set(values.only === undefined ? groups : values.only.split(',').map(groupOf)),
    isComplete: values.only === undefined && !values.limited && !values.traced,
    rounds,
    // Disturbances last for seconds: short neighbouring rounds are either all affected or not at all.
    roundMs: 500,
    loadSeconds: values.long ? 600 : 20,
    slowSeconds: values.long ? 300 : 15,
    peers: !values['without-peers'],
    profile: values.profile,
    limited: values.limited,
    traced: values.traced,
    before: values.before ?? null,
  };
}

function groupOf(name: string): MeasurementGroup {
  const group = groups.find((candidate) => candidate === name);
  if (group === undefined) throw new Error(`there is no figure called "${name}"\n\n${usage}`);
  return group;
}
