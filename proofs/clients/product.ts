import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BedrockFront } from '../../test/support/bedrock-front';
import { type Simulator, spawnSimulator } from '../../test/support/simulator';
import { Program } from '../../test/system/program';
import { clientsFolder } from './clients-folder';

export interface InstalledProduct {
  readonly url: string;
  /** Key with all permissions of a client. */
  readonly key: string;
  /** Serves all models of gateway.yaml. */
  readonly supplier: Simulator;
  stop(): Promise<void>;
}

/** The simulator answers everything on this lane with 529. */
export const OVERLOADED_LANE = 'overloaded';

const COMMAND_DEADLINE_MS = 30_000;

/**
 * Starts the product as a new user would: an empty folder, the embedded PostgreSQL, models and a key from the command
 * line. A supplier with injectable faults runs next to it.
 */
export async function startProduct(folder: string): Promise<InstalledProduct> {
  const programs: Program[] = [];
  const programOptions = { folder, isLeader: true };
  let bedrock: BedrockFront | undefined;
  const stopAll = async (): Promise<void> => {
    for (const program of programs.reverse()) await program.stop();
    await bedrock?.stop();
  };
  try {
    const supplier = await spawnSimulator(['--lane', `${OVERLOADED_LANE}:local`], programOptions);
    programs.push(supplier.program);
    await supplier.addFault({ match: { model: 'sim-failing' }, fault: { kind: 'cut', after: 12 } });
    await supplier.addFault({ match: { lane: OVERLOADED_LANE }, fault: { kind: 'status', status: 529 } });
    bedrock = await BedrockFront.start(supplier.url);

    const dataFolder = join(folder, 'data');
    mkdirSync(dataFolder);
    const environment = {
      DATA_FOLDER: dataFolder,
      PORT: '0',
      METRICS_PORT: '0',
      SUPPLIER_ALLOW: '127.0.0.0/8',
      SUPPLIER_URL: supplier.url,
      SUPPLIER_KEY: 'sim-key',
      OVERLOADED_URL: supplier.lanes.find(({ name }) => name === OVERLOADED_LANE)?.url ?? '',
      BEDROCK_URL: bedrock.url,
      AWS_ID: 'AKIAEXAMPLE',
      AWS_SECRET: 'secret-of-the-proof',
    };
    const service = Program.node('bundle/main.js', [], environment, programOptions);
    programs.push(service);
    const [, url = ''] = await service.find(/ is ready at (http:\S+)/);

    const command = async (...args: string[]): Promise<string> => {
      const cli = Program.node('bundle/cli.js', args, environment, programOptions);
      const { code, output, text } = await cli.finish(COMMAND_DEADLINE_MS);
      if (code !== 0) throw new Error(`"${args.join(' ')}" ended with ${code}:\n${text}`);
      return output.trim();
    };
    copyFileSync(join(clientsFolder, 'gateway.yaml'), join(folder, 'gateway.yaml'));
    await command('apply', 'gateway.yaml', '--yes');
    const key = await command('key', 'create', '--name', 'clients', '--rpm', '100000');
    await waitForModel(url, key, 'chat-model');
    return { url, key, supplier, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** A change by a command reaches a running service within a second. */
async function waitForModel(url: string, key: string, model: string): Promise<void> {
  for (const signal = AbortSignal.timeout(10_000); ;) {
    const answer = await fetch(`${url}/v1/models/${model}`, {
      headers: { authorization: `Bearer ${key}` },
      signal,
    });
    if (answer.ok) return;
    await answer.arrayBuffer();
  }
}
