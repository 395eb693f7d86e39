import type { ChildProcess } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clientsFolder } from './install';
import { type Place, run, start, stop } from './processes';

export interface Product {
  readonly url: string;
  /** A key that may do everything a client may. */
  readonly key: string;
  stop(): Promise<void>;
}

const compiled = join(__dirname, '..', '..');
const START_DEADLINE_MS = 60_000;
const COMMAND_DEADLINE_MS = 30_000;

/**
 * The product as a newcomer has it: started on an empty folder with its own PostgreSQL, its models and the key made
 * on the command line. Beside it a supplier of our own, whose faults can be arranged.
 */
export async function startProduct(folder: string): Promise<Product> {
  const started: ChildProcess[] = [];
  const stopAll = async (): Promise<void> => {
    for (const child of started.reverse()) await stop(child, 20_000);
  };
  try {
    const { PATH = '' } = process.env;
    const bare: Place = { cwd: folder, environment: { PATH } };
    const supplier = start(node('simulator/main.js', '--port', '0', '--control-port', '0'), bare);
    started.push(supplier);
    const addresses = JSON.parse(await lineLike(supplier, /^\{/)) as { url: string; controlUrl: string };
    await breakStreamsOf(addresses.controlUrl, 'sim-failing');

    const dataFolder = join(folder, 'data');
    mkdirSync(dataFolder);
    const place: Place = {
      cwd: folder,
      environment: {
        PATH,
        DATA_FOLDER: dataFolder,
        PORT: '0',
        METRICS_PORT: '0',
        SUPPLIER_ALLOW: '127.0.0.0/8',
        SUPPLIER_URL: addresses.url,
        SUPPLIER_KEY: 'sim-key',
      },
    };
    const service = start(node('bundle/main.js'), place);
    started.push(service);
    const ready = await lineLike(service, / is ready at http/);
    const url = /http:\S+/.exec(ready)?.[0] ?? '';

    copyFileSync(join(clientsFolder, 'gateway.yaml'), join(folder, 'gateway.yaml'));
    await command(place, 'apply', 'gateway.yaml', '--yes');
    const key = await command(place, 'key', 'create', '--name', 'clients', '--rpm', '100000');
    await served(url, key, 'chat-model');
    return { url, key, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function node(entry: string, ...words: string[]): string[] {
  return [process.execPath, join(compiled, entry), ...words];
}

async function command(place: Place, ...words: string[]): Promise<string> {
  const { code, output, complaint } = await run(node('bundle/cli.js', ...words), place, COMMAND_DEADLINE_MS);
  if (code !== 0) throw new Error(`"${words.join(' ')}" ended with ${code}:\n${output}${complaint}`);
  return output.trim();
}

/** The first line of its output that fits; what it says later is read and forgotten. */
async function lineLike(child: ChildProcess, pattern: RegExp): Promise<string> {
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  if (child.stdout === null) throw new Error('a process without output');
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    const giveUp = (why: string): void => reject(new Error(`${why}:\n${complaint}`));
    const deadline = setTimeout(() => giveUp('a process did not get ready in time'), START_DEADLINE_MS);
    child.once('exit', () => giveUp('a process ended before it was ready'));
    lines.on('line', (line) => {
      if (!pattern.test(line)) return;
      clearTimeout(deadline);
      resolve(line);
    });
  });
}

async function breakStreamsOf(controlUrl: string, model: string): Promise<void> {
  const answer = await fetch(`${controlUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify({ match: { model }, fault: { kind: 'cut', after: 12 } }),
  });
  if (!answer.ok) throw new Error(`the supplier took no fault: ${await answer.text()}`);
}

/** What a command changed reaches a running service within a second. */
async function served(url: string, key: string, model: string): Promise<void> {
  for (const signal = AbortSignal.timeout(10_000); ;) {
    const answer = await fetch(`${url}/v1/models/${model}`, {
      headers: { authorization: `Bearer ${key}` },
      signal,
    });
    if (answer.ok) return;
    await answer.arrayBuffer();
  }
}
