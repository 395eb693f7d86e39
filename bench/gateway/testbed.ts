import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedPostgres } from '../../src/platform/database/embedded-postgres';
import { freePort } from '../../test/system/free-port';
import { Program, projectFolder } from '../../test/system/program';
import { callerEmail, createCaller, startDatabase } from './database';
import { MeasuredProcess } from './measured-process';
import { StatementCountingProxy } from './statement-count';
import { Supplier } from './supplier';

const { scripts } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
/** Node flags and file that start the built gateway. */
export const artefact = (scripts.start ?? '').split(/(?<=^|\s)node /)[1]?.split(' ') ?? [];

/** Target of requests: the gateway or a peer. */
export interface Target {
  readonly process: MeasuredProcess;
  readonly headers: Readonly<Record<string, string>>;
}

/** All processes of a measurement, started and stopped together. */
export class Testbed {
  private readonly processes: MeasuredProcess[] = [];
  private key = '';
  private tearingDown: Promise<void> | undefined;

  private constructor(
    readonly folder: string,
    readonly supplier: Supplier,
    readonly database: EmbeddedPostgres,
    readonly statements: StatementCountingProxy,
  ) {}

  static async set(limited = false): Promise<Testbed> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
    chmodSync(folder, 0o711);
    const supplier = await Supplier.start();
    const database = await startDatabase(join(folder, 'database'));
    const statements = await StatementCountingProxy.startFor(database.url);
    const testbed = new Testbed(folder, supplier, database, statements);
    try {
      await testbed.prepare(limited);
      return testbed;
    } catch (error) {
      await testbed.tearDown();
      throw error;
    }
  }

  /** Creates the models and a key that is allowed to use them. */
  private async prepare(limited: boolean): Promise<void> {
    await createCaller(this.database.url);
    const environment = environmentFor(this.folder, this.database, this.database.url);
    const file = join(this.folder, 'gateway.yaml');
    writeFileSync(file, gatewayFile(this.supplier.origin));
    await runCommand(environment, ['apply', file, '--yes']);
    const key = await runCommand(environment, [
      ...['key', 'create', '--name', 'bench', '--user', callerEmail],
      ...['--budget', '100000/monthly', '--rpm', '1000000'],
      ...(limited ? allLimits : []),
    ]);
    this.key = key.trim();
  }

  /** Starts a gateway on the shared database, from this build or from another folder. */
  async gateway(
    flags: readonly string[] = [],
    settings: Readonly<Record<string, string>> = {},
    folder?: string,
  ): Promise<Target> {
    const port = await freePort();
    const url = this.statements.through(this.database.url);
    return this.startProcess(
      {
        name: 'gateway',
        args: [...flags, ...artefact.map((word) => (word.endsWith('.js') ? join(folder ?? '', word) : word))],
        port,
        readyPath: '/health',
        environment: {
          ...environmentFor(this.folder, this.database, url),
          PORT: String(port),
          ...settings,
        },
        ...(folder !== undefined && { workFolder: folder }),
      },
      { authorization: `Bearer ${this.key}` },
    );
  }

  async bareProxy(): Promise<Target> {
    const port = await freePort();
    return this.startProcess(
      {
        name: 'bare proxy',
        args: [join(__dirname, 'bare-proxy.js')],
        port,
        readyPath: '/',
        environment: { PORT: String(port), SUPPLIER_ORIGIN: this.supplier.origin },
      },
      { authorization: `Bearer ${this.key}` },
    );
  }

  async startProcess(
    options: Omit<Parameters<typeof MeasuredProcess.start>[0], 'workFolder' | 'logFile'> & {
      readonly workFolder?: string;
    },
    headers: Target['headers'],
  ): Promise<Target> {
    const logFile = join(this.folder, `${options.name.replaceAll(' ', '-')}.log`);
    const process = await MeasuredProcess.start({ workFolder: projectFolder, ...options, logFile });
    this.processes.push(process);
    return { process, headers };
  }

  /** Number of requests that went through the gateways. */
  get gatewayResponseCount(): number {
    return this.processes.reduce(
      (sum, { name, responseCount: answers }) => sum + (name === 'gateway' ? answers : 0),
      0,
    );
  }

  /** Last log lines of the processes, for failure reports. */
  logTails(): string {
    return this.processes.map(({ name, logTail }) => `${name}:\n${logTail}\n`).join('');
  }

  async stopProcesses(): Promise<void> {
    for (const process of this.processes) await process.stop();
  }

  tearDown(): Promise<void> {
    return (this.tearingDown ??= this.stopEverything());
  }

  private async stopEverything(): Promise<void> {
    await this.stopProcesses();
    this.supplier.stop();
    this.statements.stop();
    await this.database.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const newSecret = (): string => randomBytes(32).toString('base64url');
const secrets = { session: newSecret(), pepper: newSecret(), master: newSecret(), supplier: newSecret() };

function environmentFor(folder: string, database: EmbeddedPostgres, url: string): Record<string, string> {
  const dataFolder = join(folder, 'gateway');
  mkdirSync(dataFolder, { recursive: true });
  return {
    NODE_ENV: 'production',
    DATA_FOLDER: dataFolder,
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    SESSION_SECRET: secrets.session,
    KEY_PEPPER: secrets.pepper,
    MASTER_KEY: secrets.master,
    METRICS_PORT: '0',
    SANDBOX: 'off',
    SUPPLIER_ALLOW: '127.0.0.1',
    BENCH_SUPPLIER_KEY: secrets.supplier,
  };
}

async function runCommand(environment: Record<string, string>, args: readonly string[]): Promise<string> {
  const { code, output, text } = await Program.node('bundle/cli.js', args, environment).finish();
  if (code !== 0) throw new Error(`"${args.join(' ')}" ended with ${code}: ${text}`);
  return output;
}

/** High enough that none is ever reached. */
const allLimits = [
  ...['--tpm', '1000000000', '--parallel', '10000'],
  ...['--model-budget', 'bench-chat=100000/daily', '--model-budget', 'bench-messages=100000/total'],
];

const gatewayFile = (origin: string): string => `
version: 1
providers:
  chat-supplier:
    style: openai-style
    base_url: ${origin}/v1
    regions: [eu]
    api_key: \${BENCH_SUPPLIER_KEY}
    settings: { profile: openai }
  messages-supplier:
    style: messages-style
    base_url: ${origin}
    regions: [eu]
    api_key: \${BENCH_SUPPLIER_KEY}
models:
  bench-chat:
    context_tokens: 200_000
    max_output_tokens: 16_000
    lanes:
      - { provider: chat-supplier, model: bench-model, region: eu }
    price: { input: 0.15, output: 0.60 }
  bench-messages:
    context_tokens: 200_000
    max_output_tokens: 16_000
    lanes:
      - { provider: messages-supplier, model: bench-model, region: eu }
    price: { input: 3, output: 15 }
`;
