import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PostgresServer } from '../../../test/system/postgres-server';
import { Program } from '../../../test/system/program';
import { SESSION_SECRET } from '../../../test/system/node';
import { InstallationDatabase } from '../../../test/system/installation-database';
import { priceFile } from './price-file';

const WALLET = 1_000_000n * 1_000_000_000n;
const PAGE_SIZE = 1_000;

/** A page of a key's audit as returned to its payer. */
export interface KeyAuditPage {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly prices: Readonly<Record<string, unknown>>;
  readonly next_cursor: string | null;
}

/** The shipped build in its own process, with a database, an applied price list and a payer. */
export class ComponentTestbed {
  private constructor(
    readonly postgres: PostgresServer,
    private readonly program: Program,
    readonly url: string,
    readonly priceFile: string,
    readonly key: string,
    private readonly root: string,
  ) {}

  static async open(supplierUrl: string): Promise<ComponentTestbed> {
    const postgres = await PostgresServer.start();
    try {
      const dataFolder = join(postgres.folder, 'gateway');
      mkdirSync(dataFolder, { mode: 0o700 });
      const environment = environmentOf(postgres, dataFolder);
      const program = Program.node('bundle/main.js', [], environment);
      const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
      const [, root = ''] = await program.find(/root admin key +(svc_\w+)/);
      const [, key = ''] = await program.find(/demo key +(svc_\w+)/);
      await fundWallet(postgres.ownerUrl);
      const file = join(postgres.folder, 'gateway.yaml');
      writeFileSync(file, JSON.stringify(priceFile(supplierUrl)));
      const apply = Program.node('bundle/cli.js', ['apply', file, '--yes'], environment);
      if ((await apply.ended) !== 0) throw new Error(`the price list was refused: ${apply.text}`);
      const testbed = new ComponentTestbed(postgres, program, url, file, key, root);
      await testbed.waitForModels();
      return testbed;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  static get paidIn(): string {
    return String(WALLET);
  }

  /** Returns the complete audit of the key once it has this many records. */
  async audit(records: number): Promise<KeyAuditPage> {
    const { data } = (await this.get('/v1/manage/keys?limit=10')) as { data: { id: string; name: string }[] };
    const ids = data.map(({ id }) => id);
    for (let waited = 0; ; waited += 200) {
      const pages = await Promise.all(ids.map((id) => this.auditOf(id)));
      const completePage = pages.find((page) => page.data.length >= records);
      if (completePage !== undefined) return completePage;
      if (waited > 20_000) throw new Error(`of ${records} calls not all are on record`);
      await delay(200);
    }
  }

  /** Downloads the audit of the key and the request log as a payer. */
  async files(): Promise<Record<string, string>> {
    const { data } = (await this.get('/v1/manage/keys?limit=10')) as { data: { id: string }[] };
    const audits = await Promise.all(
      data.map(({ id }) =>
        this.text(`/v1/manage/keys/${id}/audit?format=csv`, { authorization: `Bearer ${this.root}` }),
      ),
    );
    const longest = audits.reduce((one, other) => (other.length > one.length ? other : one), '');
    const cookie = await this.cookie();
    return {
      'the audit of the key as a file': longest,
      'the request log as a file': await this.text('/dashboard/request-log/export', { cookie }),
    };
  }

  async stopService(): Promise<void> {
    await this.program.stop();
  }

  async close(): Promise<void> {
    await this.program.stop();
    await this.postgres.stop();
  }

  private async auditOf(id: string): Promise<KeyAuditPage> {
    const data: KeyAuditPage['data'][number][] = [];
    let prices = {};
    let cursor = '';
    do {
      const page = (await this.get(
        `/v1/manage/keys/${id}/audit?limit=${PAGE_SIZE}${cursor}`,
      )) as KeyAuditPage;
      data.push(...page.data);
      prices = { ...prices, ...page.prices };
      cursor = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor !== '');
    return { data, prices, next_cursor: null };
  }

  /** Signs in the owner of the key and returns the session cookie. */
  private async cookie(): Promise<string> {
    const rows = new InstallationDatabase(this.postgres.ownerUrl);
    const [owner] = await rows.query<{ user_id: number }>(
      "SELECT user_id FROM api_key WHERE kind = 'client'",
    );
    const token = await rows.openSession(owner?.user_id ?? 0);
    await rows.close();
    return `svc_session=${token}`;
  }

  private async get(path: string, key = this.root): Promise<unknown> {
    return JSON.parse(await this.text(path, { authorization: `Bearer ${key}` }));
  }

  private async text(path: string, headers: Record<string, string>): Promise<string> {
    const answer = await fetch(this.url + path, { headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  }

  private async waitForModels(): Promise<void> {
    for (let waited = 0; waited < 10_000; waited += 100) {
      const { data } = (await this.get('/v1/models', this.key)) as { data: { id: string }[] };
      if (data.some(({ id }) => id === 'moderate')) return;
      await delay(100);
    }
    throw new Error('the price list did not come into force');
  }
}

const environmentOf = (postgres: PostgresServer, dataFolder: string): Record<string, string> => ({
  NODE_ENV: 'test',
  LOG_LEVEL: 'warn',
  PORT: '0',
  METRICS_PORT: '0',
  DATA_FOLDER: dataFolder,
  DATABASE_URL: postgres.url,
  MIGRATION_DATABASE_URL: postgres.ownerUrl,
  SANDBOX: 'off',
  WORKERS: 'inline',
  KEY_PEPPER: 'the same in both programs',
  MASTER_KEY: 'the same in both programs too',
  SESSION_SECRET,
  KEY_RATE_LIMIT_RPM: '1000000',
  SUPPLIER_ALLOW: '127.0.0.1',
  SUPPLIER_KEY: 'sim-invoices',
  SHARED_CONTENT: 'vs_1',
});

/** The owner of the first key pays from a wallet. */
async function fundWallet(ownerUrl: string): Promise<void> {
  const rows = new InstallationDatabase(ownerUrl);
  const [owner] = await rows.query<{ id: number }>(
    'UPDATE user_account SET billing_exempt = false RETURNING id',
  );
  await rows.credit(owner?.id ?? 0, WALLET);
  const [key] = await rows.query<{ id: string }>("SELECT id FROM api_key WHERE kind = 'client'");
  await rows.limit('key', Number(key?.id), WALLET);
  await rows.close();
}
