import { parseArgs } from 'node:util';
import { onEndOfLife } from './lifetime';
import { startSimulatorServer } from './server';
import type { LaneOptions, SimulatorOptions } from './settings';

const GRACE_MS = 2000;

async function main(): Promise<void> {
  const simulator = await startSimulatorServer(readFlags());
  onEndOfLife(() => {
    void simulator.stop(GRACE_MS).then(() => process.exit(0));
  });
  const { url, controlUrl, lanes } = simulator;
  process.stdout.write(`${JSON.stringify({ url, controlUrl, lanes })}\n`);
}

function readFlags(): SimulatorOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      name: text,
      region: text,
      host: text,
      port: text,
      'control-port': text,
      lane: { type: 'string', multiple: true },
      'model-prefix': text,
      'context-tokens': text,
      ring: text,
      seed: text,
      roles: text,
      vendors: text,
      account: text,
    },
  });
  if (values.roles !== undefined && values.roles !== 'strict' && values.roles !== 'lenient') {
    throw new Error('--roles: strict or lenient');
  }
  if (values.vendors !== undefined && values.vendors !== 'strict' && values.vendors !== 'lenient') {
    throw new Error('--vendors: strict or lenient');
  }
  return {
    ...(values.name === undefined ? {} : { name: values.name }),
    ...(values.region === undefined ? {} : { region: values.region }),
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(values['model-prefix'] === undefined ? {} : { modelPrefix: values['model-prefix'] }),
    ...(values.roles === undefined ? {} : { roles: values.roles }),
    ...(values.vendors === undefined ? {} : { vendors: values.vendors }),
    ...(values.account === undefined ? {} : { account: values.account }),
    ...numberFlag('port', values.port),
    ...numberFlag('controlPort', values['control-port']),
    ...numberFlag('contextTokens', values['context-tokens']),
    ...numberFlag('ringSize', values.ring),
    ...numberFlag('seed', values.seed),
    lanes: (values.lane ?? []).map(readLane),
  };
}

function numberFlag<N extends string>(name: N, value: string | undefined): Partial<Record<N, number>> {
  if (value === undefined) return {};
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name}: not a whole number: ${value}`);
  return { [name]: number } as Record<N, number>;
}

/** Parses `name:region` or `name:region:port`. */
function readLane(value: string): LaneOptions {
  const [name, region, port] = value.split(':');
  if (!name || !region) throw new Error(`--lane: expected name:region[:port], got ${value}`);
  return { name, region, ...numberFlag('port', port) };
}

void main().catch((error: unknown) => {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
