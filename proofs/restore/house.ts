import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { freePort } from '../../test/system/free-port';
import { type Outcome, Program } from '../../test/system/program';
import { closeConnections } from '../failover/caller';
import { Books } from '../outages/books';
import { mixed } from '../outages/catalogue';
import { type Endpoint, Load } from '../outages/load';
import { type GatewayNode, Testbed } from '../outages/testbed';
import { Witness } from './witness';

const CALLS_A_SECOND = 12;
const COVERED_MS = 120_000;
const KEY = 'the key of the proof, long enough for anybody';

/** An installation with the embedded database, under load, and a folder for its backups. */
export class House {
  readonly witness = new Witness(() => this.server()?.ownerUrl);
  private node!: GatewayNode;
  private customer = '';
  private port = 0;
  private restores = 0;

  private constructor(
    readonly testbed: Testbed,
    readonly target: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async open(target?: string, environment: Readonly<Record<string, string>> = {}): Promise<House> {
    const testbed = await Testbed.open();
    const folder = target ?? join(testbed.postgres.folder, 'backups');
    if (target === undefined) mkdirSync(folder, { mode: 0o711 });
    const house = new House(testbed, folder, {
      BACKUP_TARGET: folder,
      BACKUP_KEY: KEY,
      // The drills take their backups themselves.
      BACKUP_EVERY: '744h',
      BACKUP_VERIFY_EVERY: '0ms',
      ...environment,
    });
    try {
      await house.furnish();
      return house;
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

  /** A new place for a restore. */
  place(): string {
    this.restores += 1;
    return join(this.testbed.postgres.folder, `restored-${this.restores}`);
  }

  server(): { readonly ownerUrl: string; readonly folder: string } | undefined {
    return runningEmbeddedPostgres(this.node.dataFolder);
  }

  /** Calls for a while; what they were is remembered. */
  async busy(
    milliseconds: number,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
    perSecond = CALLS_A_SECOND,
  ): Promise<Load> {
    const load = new Load([this.endpoint], mixed).start(perSecond);
    try {
      await Promise.all([delay(milliseconds), meanwhile()]);
    } finally {
      await load.stop();
    }
    this.witness.remember(load);
    return load;
  }

  async now(): Promise<Date> {
    return this.ask(async (client) => {
      const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
      return rows[0]!.now;
    });
  }

  /** As the owner of the database. */
  async ask<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ connectionString: this.server()!.ownerUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  cli(words: readonly string[], more: Readonly<Record<string, string>> = {}): Program {
    return Program.node(join('bundle', 'cli.js'), words, { ...this.node.environment, ...more });
  }

  async run(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return this.cli(words, more).finish();
  }

  /** Takes a backup that has to succeed. */
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

  /** Starts the product again in its folder. */
  async restart(more: Readonly<Record<string, string>> = {}): Promise<void> {
    this.node = await this.testbed.node('house', {
      isEmbedded: true,
      port: this.port,
      environment: { ...this.environment, ...more },
    });
  }

  /** From now on the product takes its backups itself. Nobody watches the records any more: there may be many. */
  async startScheduled(): Promise<void> {
    await this.witness.stop();
    await this.node.stop();
    await this.restart({ WORKERS: 'inline' });
  }

  /** The product takes one by itself, as it does where the target has none. */
  async scheduledBackup(): Promise<void> {
    const folder = join(this.target, 'backups');
    const due =
      "UPDATE repeating_job SET due_at = now() WHERE name = 'backup' AND claim IS NULL RETURNING name";
    rmSync(folder, { recursive: true, force: true });
    while ((await this.ask((client) => client.query(due))).rowCount !== 1) await delay(200);
    const isWhole = (id: string): boolean => existsSync(join(folder, id, 'manifest.json'));
    while (!existsSync(folder) || !readdirSync(folder).some(isWhole)) await delay(200);
  }

  gauge(name: string): Promise<number> {
    return this.node.gauge(name);
  }

  /** Waits until the archive reaches to the moment. */
  async covered(moment: Date): Promise<void> {
    await this.ask((client) => client.query("SELECT pg_create_restore_point('drill')"));
    for (let waited = 0; waited < COVERED_MS; waited += 1_000) {
      await this.ask((client) => client.query('SELECT pg_switch_wal()'));
      await delay(1_000);
      const { output } = await this.run(['backup:list']);
      const reaches = [...output.matchAll(/ to (\S+Z),/g)].map(([, at = '']) => new Date(at).getTime());
      if (Math.max(0, ...reaches) > moment.getTime()) return;
      await this.ask((client) => client.query("SELECT pg_create_restore_point('drill')"));
    }
    throw new Error(`the archive does not reach to ${moment.toISOString()}`);
  }

  /** The product on a restored folder. What a quarantine would ask its operator is decided: nothing is held back. */
  async startRestored(folder: string): Promise<GatewayNode> {
    rmSync(join(folder, 'restored.json'));
    return this.testbed.node(folder.slice(this.testbed.postgres.folder.length + 1), {
      isEmbedded: true,
      environment: { BACKUP_TARGET: '', BACKUP_KEY: KEY },
    });
  }

  endpointOf(node: GatewayNode): Endpoint {
    return node.endpoint(this.customer);
  }

  async close(): Promise<void> {
    await this.witness.stop();
    await this.testbed.close();
  }

  private async furnish(): Promise<void> {
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

/** The house is closed in the end, whatever happens. */
export async function inHouse<T>(opening: Promise<House>, work: (house: House) => Promise<T>): Promise<T> {
  const house = await opening;
  const leave = (): void => void house.close().finally(() => process.exit(1));
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    return await work(house);
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    closeConnections();
    await house.close();
  }
}
