import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { migrations } from '#migrations';
import { type RunningService, startService } from '#inside/boot/start-service';
import { SessionsService } from '#product/identity';
import type { UserRole } from '../../src/kernel';
import { platformScope } from '#product/kernel';
import { KeysService } from '#product/keys';
import { Database, loadSettings, Logger } from '#product/platform';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { fill } from '../records/fill';

export interface PortalVisitor {
  readonly name: string;
  /** Throws unless the status is 200. */
  get(path: string): Promise<Response>;
}

/** Owners of the records of `fill`; the operator and the owner below look at their records. */
const USER_COUNT = 200;
const OPERATOR_ID = 1_001;
const OWNER_ID = 1_002;
const ORGANISATION_ID = 2;
const MAX_WAIT_S = 600;

type Cleanup = () => Promise<unknown> | void;

/** The service on a database with many records, and users who view it. */
export class PortalSite {
  private constructor(
    /** The operator comes first. */
    readonly visitors: readonly PortalVisitor[],
    /** Visitor with the key that owns a third of all records. */
    readonly largest: PortalVisitor,
    private readonly undo: Cleanup[],
  ) {}

  static async open(rows: number): Promise<PortalSite> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
    chmodSync(folder, 0o711);
    const cleanups: Cleanup[] = [() => rmSync(folder, { recursive: true, force: true })];
    try {
      const server = await startEmbeddedPostgres({ dataFolder: folder });
      cleanups.unshift(() => server.stop());
      await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: false });
      await fillAll(server.ownerUrl, rows);
      const service = await start(server, join(folder, 'service'));
      cleanups.unshift(() => service.close());
      await waitUntilVerified(service.application.get(Database, { strict: false }));
      return new PortalSite(await visitorsOf(service), await createLargestKeyVisitor(service), cleanups);
    } catch (error) {
      for (const step of cleanups) await step();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const step of this.undo) await step();
  }
}

async function fillAll(ownerUrl: string, rows: number): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url: ownerUrl, poolSize: 2 }).initialize();
  try {
    const database = new Database(source);
    await database.query("ALTER SYSTEM SET max_wal_size = '16GB'");
    await database.query('SELECT pg_reload_conf()');
    const startedAt = performance.now();
    await createOwners(database);
    await fill(source, database, rows);
    await database.query('CHECKPOINT');
    process.stdout.write(
      `        ${rows.toLocaleString('en')} records filled in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s\n`,
    );
  } finally {
    await source.destroy();
  }
}

/** Creates the owners whose numbers `fill` uses. */
async function createOwners(database: Database): Promise<void> {
  await database.query(`INSERT INTO organisation (id, name, slug)
    SELECT n, 'Organisation ' || n, 'organisation-' || n FROM generate_series(1, 20) AS n`);
  await database.query(
    `INSERT INTO user_account (id, email, display_name, role, status, organisation_id)
     SELECT n, 'person-' || n || '@example.com', 'Person ' || n, 'user', 'active', 1 + n % 20
       FROM generate_series(1, $1::integer) AS n`,
    [USER_COUNT],
  );
  await database.query(`INSERT INTO project (id, organisation_id, name, created_by)
    SELECT n, 1 + n % 20, 'Project ' || n, n FROM generate_series(1, 10) AS n`);
  await database.query(
    `INSERT INTO api_key (id, public_id, secret_hash, name, user_id, organisation_id, project_id, created_by)
     SELECT n, 'bench' || lpad(n::text, 7, '0'), sha256(n::text::bytea), 'Key ' || n, n, 1 + n % 20, 1 + n % 10, 'bench'
       FROM generate_series(1, $1::integer) AS n`,
    [USER_COUNT],
  );
  const viewers = [
    [OPERATOR_ID, 'platform_owner', null],
    [OWNER_ID, 'org_owner', ORGANISATION_ID],
  ] as const satisfies [number, UserRole, number | null][];
  for (const [id, role, organisationId] of viewers)
    await database.query(
      `INSERT INTO user_account (id, email, display_name, role, status, organisation_id, billing_exempt)
       VALUES ($1, $2 || '@example.com', $2, $2, 'active', $3, true)`,
      [id, role, organisationId],
    );
  for (const table of ['organisation', 'user_account', 'project', 'api_key'])
    await database.query(`ALTER TABLE ${table} ALTER COLUMN id RESTART WITH 10000`);
}

function start(
  { url, ownerUrl }: { readonly url: string; readonly ownerUrl: string },
  dataFolder: string,
): Promise<RunningService> {
  const settings = loadSettings({
    // In development, every page reads and compiles its templates again.
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'error',
    DATA_FOLDER: dataFolder,
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: ownerUrl,
    SANDBOX: 'off',
  });
  return startService(settings, Logger.create(settings), { schedule: false });
}

/**
 * After start, the service verifies and seals the money of all records in the background. Pages are measured after
 * that.
 */
async function waitUntilVerified(database: Database): Promise<void> {
  for (let second = 0; second < MAX_WAIT_S; second += 1) {
    const [{ sealed } = { sealed: false }] = await database.query<{ sealed: boolean }>(
      'SELECT EXISTS (SELECT FROM money_seal) AS sealed',
    );
    if (sealed) return;
    await delay(1_000);
  }
  throw new Error(`the money is not verified ${MAX_WAIT_S} s after the start`);
}

async function visitorsOf(service: RunningService): Promise<PortalVisitor[]> {
  const signIn = (name: string, userId: number) => visitor(service, name, userId);
  const visitors = [await signIn('platform', OPERATOR_ID), await signIn('organisation', OWNER_ID)];
  for (const { name, get, post } of visitors)
    await post('/dashboard/toggle-admin-mode', { admin_mode: 'on' }).then(async () => {
      // The administrator view states whose records it shows.
      if (!(await (await get('/dashboard')).text()).includes('admin-strip'))
        throw new Error(`${name} is not in the view of an administrator`);
    });
  return [...visitors, await signIn('large account', 1), await signIn('small account', 50)];
}

async function visitor({ application, url }: RunningService, name: string, userId: number) {
  const sessions = application.get(SessionsService, { strict: false });
  const database = application.get(Database, { strict: false });
  const cookie = `svc_session=${await database.transaction((tx) => sessions.open(tx, userId))}`;
  const send = async (path: string, options: RequestInit): Promise<Response> => {
    const headers = { cookie, accept: 'text/html', ...options.headers };
    return requireOk(path, await fetch(url + path, { ...options, headers, redirect: 'manual' }));
  };
  return {
    name,
    get: (path: string) => send(path, {}),
    post: (path: string, body: object) =>
      send(path, {
        method: 'POST',
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          'sec-fetch-site': 'same-origin',
        },
        body: JSON.stringify(body),
      }),
  };
}

/** Issues a key and replaces the secret of `fill`'s first key with its own. */
async function createLargestKeyVisitor({ application, url }: RunningService): Promise<PortalVisitor> {
  const database = application.get(Database, { strict: false });
  const keys = application.get(KeysService, { strict: false });
  const { text } = await database.transaction(async (tx) => {
    const owner = { userId: 1, organisationId: null, departmentId: null, projectId: null };
    const issuedKey = await keys.issue(platformScope, tx, {
      ...owner,
      kind: 'client',
      name: 'largest',
      createdBy: 'bench',
    });
    const [issuedRow] = await tx.query<{ public_id: string; secret_hash: Buffer }[]>(
      'SELECT public_id, secret_hash FROM api_key WHERE id = $1',
      [issuedKey.id],
    );
    const setSecret = (id: number, publicId: unknown, hash: unknown) =>
      tx.query('UPDATE api_key SET public_id = $2, secret_hash = $3 WHERE id = $1', [id, publicId, hash]);
    await setSecret(issuedKey.id, 'bench0000000', Buffer.alloc(32));
    await setSecret(1, issuedRow?.public_id, issuedRow?.secret_hash);
    return issuedKey;
  });
  return {
    name: 'the largest key',
    get: async (path) =>
      requireOk(path, await fetch(url + path, { headers: { authorization: `Bearer ${text}` } })),
  };
}

function requireOk(path: string, answer: Response): Response {
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return answer;
}
