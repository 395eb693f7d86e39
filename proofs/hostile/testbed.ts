import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { entities } from '#inside/boot/app.module';
import { Database } from '#product/platform';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { spawnSimulator } from '../../test/support/simulator';
import { freePort } from '../../test/system/free-port';
import { type Outcome, Program } from '../../test/system/program';
import type { WayOut } from './ways/way';

const SUPPLIER_KEY = 'sim-key-of-the-proof';

export interface TestbedOptions {
  /** Added to the environment of the gateway and of every command. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Further addresses on the inside that suppliers may live at. */
  readonly allow?: string;
  /** Suppliers are reached by it; without one directly. */
  readonly way?: WayOut;
}

/** The addresses of a running testbed. */
interface Addresses {
  readonly supplierUrl: string;
  readonly controlUrl: string;
  readonly url: string;
  readonly metricsUrl: string;
  readonly keys: { readonly root: string; readonly demo: string };
}

/** The gateway as it ships, with its own database and a scripted supplier. */
export class Testbed {
  private source: DataSource | undefined;
  private programs: { readonly gateway: Program; readonly supplier: Program } | undefined;
  private addresses: Addresses | undefined;
  private environment: Readonly<Record<string, string>> = {};

  private constructor(
    readonly folder: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  static async open(options: TestbedOptions = {}): Promise<Testbed> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
    // The database server may run under another account and has to pass through.
    chmodSync(folder, 0o711);
    const testbed = new Testbed(folder, await startEmbeddedPostgres({ dataFolder: folder, durable: false }));
    try {
      await testbed.start(options);
    } catch (error) {
      await testbed.close();
      throw error;
    }
    return testbed;
  }

  get gateway(): Program {
    return this.started(this.programs).gateway;
  }

  get supplier(): Program {
    return this.started(this.programs).supplier;
  }

  get supplierUrl(): string {
    return this.started(this.addresses).supplierUrl;
  }

  get url(): string {
    return this.started(this.addresses).url;
  }

  get metricsUrl(): string {
    return this.started(this.addresses).metricsUrl;
  }

  get keys(): Addresses['keys'] {
    return this.started(this.addresses).keys;
  }

  private started<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('the house has not been started');
    return part;
  }

  private async start({ allow, environment, way }: TestbedOptions): Promise<void> {
    const { url: databaseUrl, ownerUrl } = this.postgres;
    const dataFolder = join(this.folder, 'data');
    mkdirSync(dataFolder, { mode: 0o700 });
    const metricsPort = await freePort();
    const supplierPort = await freePort();
    const supplierUrl = (await way?.to(supplierPort)) ?? `http://127.0.0.1:${supplierPort}`;
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
      // The supplier and nothing else on this machine.
      SUPPLIER_ALLOW: `${new URL(supplierUrl).host}=127.0.0.1${allow === undefined ? '' : `,${allow}`}`,
      SUPPLIER_KEY,
      ...way?.environment,
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

  /** A command line of the product, to its end. */
  command(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return Program.node('bundle/cli.js', words, { ...this.environment, ...environment }).finish();
  }

  /** Writes gateway.yaml and applies it. */
  apply(yaml: string, environment: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return this.command(['apply', this.file(yaml), '--yes'], environment);
  }

  file(yaml: string): string {
    const path = join(this.folder, 'gateway.yaml');
    writeFileSync(path, yaml);
    return path;
  }

  /** As the service and as the owner of the schema connect. */
  get databaseUrls(): URL[] {
    return [this.postgres.url, this.postgres.ownerUrl].map((url) => new URL(url));
  }

  /** As the owner of the schema: sees everything there is. */
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
    const answer = await fetch(this.started(this.addresses).controlUrl + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Until the models can be called: an announcement takes a moment. */
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

  /** The gateway first, so that everything it owes is in the database; then `look`, then the rest. */
  async close(look: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.programs?.gateway.stop();
    try {
      await look();
    } finally {
      await this.source?.destroy();
      await this.programs?.supplier.stop();
      await this.postgres.stop();
      rmSync(this.folder, { recursive: true, force: true });
    }
  }
}

/** Suppliers beside the usual ones, and models as their name, kind, provider and what the provider calls them. */
export interface Extra {
  readonly providers: string;
  readonly models: readonly (readonly [string, string, string, string])[];
}

/** One model of every kind; the chat models differ in what their supplier speaks. */
export function gatewayFile(
  supplierUrl: string,
  extra: Extra = { providers: '', models: [] },
  way?: WayOut,
): string {
  const settings = (others: object = {}): string => JSON.stringify(way?.settings(others) ?? others);
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
