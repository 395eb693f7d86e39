import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installClients } from '../clients/install';
import { Report } from '../clients/report';
import { endWithThisProcess, Program } from '../support/program';

/**
 * Conversations of the vendors' own packages move between lanes, in every order. Each lane is a supplier with an account
 * of its own that refuses what vendors refuse: reasoning of another account, without a signature or out of its
 * conversation, ids with other letters, and rounds of tools that begin without thinking.
 */
const lanes = {
  'anthropic-a': { style: 'messages-style', profile: 'anthropic' },
  'anthropic-b': { style: 'messages-style', profile: 'anthropic' },
  kimi: { style: 'openai-style', profile: 'generic' },
  'openai-a': { style: 'openai-style', profile: 'openai' },
  'openai-b': { style: 'openai-style', profile: 'openai' },
} as const;
type Lane = keyof typeof lanes;

const names = Object.keys(lanes) as Lane[];
const MODEL = 'a-model';
const DEADLINE_MS = 15 * 60_000;
const folderOfScripts = join(__dirname, '..', '..', '..', 'proofs', 'lanes');

interface Addresses {
  readonly url: string;
  readonly controlUrl: string;
}

/** JSON is YAML. */
const catalogueOf = (suppliers: Readonly<Record<string, Addresses>>): string =>
  JSON.stringify({
    version: 1,
    providers: Object.fromEntries(
      names.map((name) => [
        name,
        {
          style: lanes[name].style,
          base_url: suppliers[name]!.url,
          regions: [name],
          api_key: '${SIMULATOR_KEY}',
          settings: { profile: lanes[name].profile },
        },
      ]),
    ),
    models: {
      [MODEL]: {
        max_output_tokens: 8_000,
        capabilities: ['reasoning', 'tools', 'vision'],
        price: { input: 1, output: 2 },
        lanes: names.map((name) => ({ provider: name, model: 'sim-reason', region: name })),
      },
    },
  });

async function refusalsOf(controlUrl: string): Promise<string[]> {
  const answer = await fetch(`${controlUrl}/requests`);
  const { requests } = (await answer.json()) as { requests: { status: number; path: string }[] };
  return requests.filter(({ status }) => status >= 400).map(({ status, path }) => `${status} ${path}`);
}

/** A number as the only argument: each chain of that distance is tried, in place of all. */
const step = process.argv[2] ?? '1';

async function prove(folder: string, started: Program[]): Promise<Report> {
  const report = new Report();
  const suppliers: Record<string, Addresses> = {};
  for (const name of names) {
    const words = ['--account', name, '--ring', '50000', '--roles', 'lenient'];
    const simulator = Program.node('simulator/main.js', words);
    started.push(simulator);
    const [line] = await simulator.find(/^\{.*\}$/m);
    suppliers[name] = JSON.parse(line) as Addresses;
  }
  const environment = {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    DATA_FOLDER: join(folder, 'data'),
    SANDBOX: 'off',
    LOG_LEVEL: 'error',
    KEY_RATE_LIMIT_RPM: '1000000',
    SUPPLIER_ALLOW: '127.0.0.1',
    SIMULATOR_KEY: 'sim-lanes',
  };
  const gateway = Program.node('bundle/main.js', [], environment);
  started.push(gateway);
  const [, url = ''] = await gateway.find(/ is ready at (\S+)/);
  const [, key = ''] = await gateway.find(/demo key\s+(\S+)/);
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, catalogueOf(suppliers));
  const applied = await Program.node('bundle/cli.js', ['apply', file, '--yes'], environment).finish();
  if (applied.code !== 0) throw new Error(`the catalogue was refused: ${applied.complaint}`);
  const { code, output, complaint, late } = await Program.run(
    process.execPath,
    [join(folderOfScripts, 'chains.mjs')],
    {
      PATH: process.env.PATH ?? '',
      GATEWAY_URL: url,
      GATEWAY_KEY: key,
      MODEL,
      STEP: step,
      LANES: JSON.stringify(names.map((name) => ({ name, ...suppliers[name] }))),
    },
    { folder: folderOfScripts, isLeader: true, isKept: true },
  ).finish(DEADLINE_MS);
  const lines = output.split('\n').filter((text) => text.startsWith('{'));
  for (const line of lines) {
    const { client, what, fault } = JSON.parse(line) as {
      client: string;
      what: string;
      fault: string | null;
    };
    report.add(client, what, fault);
  }
  const ended = code !== 0 ? (late ? 'too late' : complaint) : lines.length === 0 ? 'there was none' : null;
  report.add('the chains', 'came to their end', ended);
  for (const name of names) {
    const refused = await refusalsOf(suppliers[name]!.controlUrl);
    report.add(name, 'refused nothing', refused.length === 0 ? null : refused.slice(0, 5).join(', '));
  }
  return report;
}

async function main(): Promise<void> {
  endWithThisProcess();
  await installClients(folderOfScripts, 'a few MB');
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-lanes-'));
  const started: Program[] = [];
  try {
    (await prove(folder, started)).end();
  } finally {
    for (const child of started.reverse()) await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
