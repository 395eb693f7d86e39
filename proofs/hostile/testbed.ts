import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { entities } from '#inside/boot/app.module';
import { Database } from '#product/platform';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { spawnSimulator } from '../../test/support/simulator';
import { freePort } from '../../test/system/free-port';
import { type ProgramOutcome, Program } from '../../test/system/program';
import type { EgressTestRoute } from './ways/egress-test-route';

const SUPPLIER_KEY = 'sim-key-of-the-proof';

export interface HostileTestbedOptions {
  /** Added to the environment of the gateway and of every command. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Additional internal addresses that suppliers are allowed to have. */
  readonly allow?: string;
  /** Route to the suppliers; defaults to a direct connection. */
  readonly egressRoute?: EgressTestRoute;
}

/** Addresses of a running testbed. */
interface TestbedAddresses {
  readonly supplierUrl: string;
  readonly controlUrl: string;
  readonly url: string;
  readonly metricsUrl: string;
  readonly keys: { readonly root: string; readonly demo: string };
}

/** The gateway as shipped, with its own database and a scripted supplier. */
export class HostileTestbed {
  private source: DataSource | undefined;
  private programs: { readonly gateway: Program; readonly supplier: Program } | undefined;
  private addresses: TestbedAddresses | undefined;
  private environment: Readonly<Record<string, string>> = {};

  private constructor(
    readonly folder: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  static async open(options: HostileTestbedOptions = {}): Promise<HostileTestbed> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
    // The database server may run under another account, which must be able to traverse the folder.
    chmodSync(folder, 0o711);
    const testbed = new HostileTestbed(
      folder,
      await startEmbeddedPostgres({ dataFolder: folder, durable: false }),
    );
    try {
      await testbed.start(options);
    } catch (error) {
      await testbed.close();
      throw error;
    }
    return testbed;
  }

  get gateway(): Program {
    return this.requireStarted(this.programs).gateway;
  }

  get supplier(): Program {
    return this.requireStarted(this.programs).supplier;
  }

  get supplierUrl(): string {
    return this.requireStarted(this.addresses).supplierUrl;
  }

  get url(): string {
    return this.requireStarted(this.addresses).url;
  }

  get metricsUrl(): string {
    return this.requireStarted(this.addresses).metricsUrl;
  }

  get keys(): TestbedAddresses['keys'] {
    return this.requireStarted(this.addresses).keys;
  }

  private requireStarted<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('the house has not been started');
    return part;
  }

  private async start({ allow, environment, egressRoute }: HostileTestbedOptions): Promise<void> {
    const { url: databaseUrl, ownerUrl } = this.postgres;
    const dataFolder = join(this.folder, 'data');
    mkdirSync(dataFolder, { mode: 0o700 });
    const metricsPort = await freePort();
    const supplierPort = await freePort();
    const supplierUrl = (await egressRoute?.to(supplierPort)) ?? `http://127.0.0.1:${supplierPort}`;
    this.environment = {
      NODE_ENV: 'test',
      PORT: '0',
      METRICS_PORT: String(metricsPort),
      LOG_LEVEL: 'trace',
      LOG_FORMAT: 'json',
      DATA_FOLDER: dataFolder,
      DATABASE_URL: databaseUrl,
      MIGRATION_DATABASE_URL: ownerUrl,
      SANDBOX: 'off',
      KEY_RATE_LIMIT_RPM: '1000000',
      KEY_FAILURES_PER_MINUTE: '1000000',
      // Allows only the supplier on this machine.
      SUPPLIER_ALLOW: `${new URL(supplierUrl).host}=127.0.0.1${allow === undefined ? '' : `,${allow}`}`,
      SUPPLIER_KEY,
      ...egressRoute?.environment,
      ...environment,
    };
    const supplier = await spawnSimulator(['--port', String(supplierPort)]);
    const gateway = Program.node('bundle/main.js', [], this.environment, { isKept: true });
    this.programs = { gateway, supplier: supplier.program };
    const [, url = ''] = await gateway.find(/ is ready at (http:\S+)/);
    const [, root = ''] = await gateway.find(/root admin key +(svc_\w+)/);
    const [, demo = ''] = await gateway.find(/demo key +(svc_\w+)/);
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    this.addresses = {
      supplierUrl,
      controlUrl: supplier.controlUrl,
      url,
      metricsUrl,
      keys: { root, demo },
    };
  }

  /** Runs a command of the product to its end. */
  command(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ProgramOutcome> {
    return Program.node('bundle/cli.js', args, { ...this.environment, ...environment }).finish();
  }

  /** Writes gateway.yaml and applies it. */
  apply(yaml: string, environment: Readonly<Record<string, string>> = {}): Promise<ProgramOutcome> {
    return this.command(['apply', this.file(yaml), '--yes'], environment);
  }

  file(yaml: string): string {
    const path = join(this.folder, 'gateway.yaml');
    writeFileSync(path, yaml);
    return path;
  }

  /** Connection URLs of the service and of the schema owner. */
  get databaseUrls(): URL[] {
    return [this.postgres.url, this.postgres.ownerUrl].map((url) => new URL(url));
  }

  /** Connects as the schema owner, who can read everything. */
  async database(): Promise<Database> {
    this.source ??= await new DataSource({
      type: 'postgres',
      url: this.postgres.ownerUrl,
      poolSize: 2,
      entities,
    }).initialize();
    return new Database(this.source);
  }

  async control(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(this.requireStarted(this.addresses).controlUrl + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Waits until the model can be called, because announcements take a moment. */
  async waitForModel(name: string): Promise<void> {
    for (const deadline = Date.now() + 10_000; Date.now() < deadline;) {
      const answer = await fetch(`${this.url}/v1/models/${name}`, {
        headers: { authorization: `Bearer ${this.keys.demo}` },
      });
      if (answer.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`the model ${name} did not appear`);
  }

  /** Stops the gateway first, so that pending writes reach the database; then runs `inspect` and stops the others. */
  async close(inspect: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.programs?.gateway.stop();
    try {
      await inspect();
    } finally {
      await this.source?.destroy();
      await this.programs?.supplier.stop();
      await this.postgres.stop();
      rmSync(this.folder, { recursive: true, force: true });
    }
  }
}

/** Additional suppliers, and models as name, kind, provider and upstream name. */
export interface CatalogueExtra {
  readonly providers: string;
  readonly models: readonly (readonly [string, string, string, string])[];
}

/** Creates a model of every kind; chat models differ in the dialect of their supplier. */
export function gatewayFile(
  supplierUrl: string,
  extra: CatalogueExtra = { providers: '', models: [] },
  egressRoute?: EgressTestRoute,
): string {
  const settings = (others: object = {}): string => JSON.stringify(egressRoute?.settings(others) ?? others);
  const models = [
    ['small', 'chat', 'chatty', 'sim-small'],
    ['large', 'chat', 'messenger', 'sim-large'],
    ['vectors', 'embedding', 'chatty', 'sim-embed'],
    ['ranks', 'rerank', 'ranker', 'sim-rerank'],
    ['voice', 'speech', 'chatty', 'sim-voice'],
    ['ears', 'transcription', 'chatty', 'sim-ears'],
    ['painter', 'image', 'chatty', 'sim-painter'],
    ['guard', 'moderation', 'chatty', 'sim-guard'],
    ...extra.models,
  ].map(
    ([name, kind, provider, model]) =>
      `  ${name}: { kind: ${kind}, context_tokens: 200000, max_output_tokens: 8000, price: { input: 1, output: 2 }, ` +
      `lanes: [{ provider: ${provider}, model: ${model}, region: local }] }`,
  );
  return `version: 1
providers:
  chatty:
    style: openai-style
    base_url: ${supplierUrl}/v1
    regions: [local]
    api_key: \${SUPPLIER_KEY}
    settings: ${settings({ profile: 'openai' })}
  messenger:
    style: messages-style
    base_url: ${supplierUrl}
    regions: [local]
    api_key: \${SUPPLIER_KEY}
    settings: ${settings()}
  ranker:
    style: cohere-rerank
    base_url: ${supplierUrl}
    regions: [local]
    api_key: \${SUPPLIER_KEY}
    settings: ${settings()}
${extra.providers}models:
${models.join('\n')}
`;
}
