import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { freePort } from '../../test/system/free-port';
import { type ProgramOutcome, Program } from '../../test/system/program';
import { closeConnections } from '../failover/caller';
import { Books } from '../outages/books';
import { mixedShot } from '../outages/catalogue';
import { type Endpoint, Load } from '../outages/load';
import { type GatewayProcess, OutageTestbed } from '../outages/testbed';
import { Witness } from './witness';

const CALLS_PER_SECOND = 12;
const COVERAGE_DEADLINE_MS = 120_000;
const KEY = 'the key of the proof, long enough for anybody';

/** An installation with the embedded database, under load, and a folder for its backups. */
export class RestoreFixture {
  readonly witness = new Witness(() => this.server()?.ownerUrl);
  private node!: GatewayProcess;
  private customer = '';
  private port = 0;
  private restoreCount = 0;

  private constructor(
    readonly testbed: OutageTestbed,
    readonly target: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async open(
    target?: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<RestoreFixture> {
    const testbed = await OutageTestbed.open();
    const folder = target ?? join(testbed.postgres.folder, 'backups');
    if (target === undefined) mkdirSync(folder, { mode: 0o711 });
    const serviceFixture = new RestoreFixture(testbed, folder, {
      BACKUP_TARGET: folder,
      BACKUP_KEY: KEY,
      // The drills take their backups themselves.
      BACKUP_EVERY: '744h',
      BACKUP_VERIFY_EVERY: '0ms',
      ...environment,
    });
    try {
      await serviceFixture.prepare();
      return serviceFixture;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  get endpoint(): Endpoint {
    return this.node.endpoint(this.customer);
  }

  get dataFolder(): string {
    return this.node.dataFolder;
  }

  /** Creates a path for a restore. */
  newRestoreFolder(): string {
    this.restoreCount += 1;
    return join(this.testbed.postgres.folder, `restored-${this.restoreCount}`);
  }

  server(): { readonly ownerUrl: string; readonly folder: string } | undefined {
    return runningEmbeddedPostgres(this.node.dataFolder);
  }

  /** Sends calls for a while and remembers them. */
  async runLoad(
    milliseconds: number,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
    perSecond = CALLS_PER_SECOND,
  ): Promise<Load> {
    const load = new Load([this.endpoint], mixedShot).start(perSecond);
    try {
      await Promise.all([delay(milliseconds), meanwhile()]);
    } finally {
      await load.stop();
    }
    this.witness.remember(load);
    return load;
  }

  async now(): Promise<Date> {
    return this.query(async (client) => {
      const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
      return rows[0]!.now;
    });
  }

  /** Runs work on a connection of the database owner. */
  async query<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ connectionString: this.server()!.ownerUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  cli(args: readonly string[], variables: Readonly<Record<string, string>> = {}): Program {
    return Program.node(join('bundle', 'cli.js'), args, { ...this.node.environment, ...variables });
  }

  async run(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ): Promise<ProgramOutcome> {
    return this.cli(args, variables).finish();
  }

  /** Takes a backup that must succeed. */
  async backUp(): Promise<string> {
    const { code, text } = await this.run(['backup']);
    if (code !== 0) throw new Error(`the backup failed: ${text}`);
    return text;
  }

  killProduct(): Promise<void> {
    this.node.program.kill();
    return this.node.program.ended.then(() => undefined);
  }

  killDatabase(dataFolder = this.dataFolder): void {
    const folder = runningEmbeddedPostgres(dataFolder)?.folder ?? join(dataFolder, 'postgres');
    process.kill(parseInt(readFileSync(join(folder, 'cluster', 'postmaster.pid'), 'utf8'), 10), 'SIGKILL');
  }

  /** Restarts the product in its folder. */
  async restart(variables: Readonly<Record<string, string>> = {}): Promise<void> {
    this.node = await this.testbed.startNode('house', {
      isEmbedded: true,
      port: this.port,
      environment: { ...this.environment, ...variables },
    });
  }

  /** Enables scheduled backups and stops watching records, whose number can be large. */
  async startScheduled(): Promise<void> {
    await this.witness.stop();
    await this.node.stop();
    await this.restart({ WORKERS: 'inline' });
  }

  /** Waits for a scheduled backup, which is due immediately if the target has none. */
  async scheduledBackup(): Promise<void> {
    const folder = join(this.target, 'backups');
    const due =
      "UPDATE repeating_job SET due_at = now() WHERE name = 'backup' AND claim IS NULL RETURNING name";
    rmSync(folder, { recursive: true, force: true });
    while ((await this.query((client) => client.query(due))).rowCount !== 1) await delay(200);
    const isComplete = (id: string): boolean => existsSync(join(folder, id, 'manifest.json'));
    while (!existsSync(folder) || !readdirSync(folder).some(isComplete)) await delay(200);
  }

  gauge(name: string): Promise<number> {
    return this.node.gauge(name);
  }

  /** Waits until the archive covers the moment. */
  async waitUntilCovered(moment: Date): Promise<void> {
    await this.query((client) => client.query("SELECT pg_create_restore_point('drill')"));
    for (let waitedMs = 0; waitedMs < COVERAGE_DEADLINE_MS; waitedMs += 1_000) {
      await this.query((client) => client.query('SELECT pg_switch_wal()'));
      await delay(1_000);
      const { output } = await this.run(['backup:list']);
      const coverageEnds = [...output.matchAll(/ to (\S+Z),/g)].map(([, at = '']) => new Date(at).getTime());
      if (Math.max(0, ...coverageEnds) > moment.getTime()) return;
      await this.query((client) => client.query("SELECT pg_create_restore_point('drill')"));
    }
    throw new Error(`the archive does not reach to ${moment.toISOString()}`);
  }

  /** Starts the product on a restored folder and releases everything that the quarantine holds back. */
  async startRestored(folder: string): Promise<GatewayProcess> {
    rmSync(join(folder, 'restored.json'));
    return this.testbed.startNode(folder.slice(this.testbed.postgres.folder.length + 1), {
      isEmbedded: true,
      environment: { BACKUP_TARGET: '', BACKUP_KEY: KEY },
    });
  }

  endpointOf(node: GatewayProcess): Endpoint {
    return node.endpoint(this.customer);
  }

  async close(): Promise<void> {
    await this.witness.stop();
    await this.testbed.close();
  }

  private async prepare(): Promise<void> {
    this.port = await freePort();
    mkdirSync(join(this.testbed.postgres.folder, 'house'), { mode: 0o711 });
    await this.restart();
    const { ownerUrl } = this.server()!;
    const books = await Books.open(ownerUrl);
    try {
      ({ customer: this.customer } = await this.testbed.prepareNode(this.node, books));
    } finally {
      await books.close();
    }
    this.witness.start();
  }
}

/** Closes the fixture in the end, whatever happens. */
export async function withFixture<T>(
  opening: Promise<RestoreFixture>,
  work: (serviceFixture: RestoreFixture) => Promise<T>,
): Promise<T> {
  const serviceFixture = await opening;
  const closeAndExit = (): void => void serviceFixture.close().finally(() => process.exit(1));
  process.once('SIGINT', closeAndExit).once('SIGTERM', closeAndExit);
  try {
    return await work(serviceFixture);
  } finally {
    process.off('SIGINT', closeAndExit).off('SIGTERM', closeAndExit);
    closeConnections();
    await serviceFixture.close();
  }
}
