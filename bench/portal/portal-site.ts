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

export interface Visitor {
  readonly name: string;
  /** Anything but 200 is an error. */
  get(path: string): Promise<Response>;
}

/** Those whom the records of `fill` belong to, beyond them the two who look at those of others. */
const PEOPLE = 200;
const OPERATOR = 1_001;
const OWNER = 1_002;
const ORGANISATION = 2;
const MOST_SECONDS = 600;

type Undo = () => Promise<unknown> | void;

/** The service before a database with many records, and people who look at it. */
export class PortalSite {
  private constructor(
    /** The operator first. */
    readonly visitors: readonly Visitor[],
    /** The key that a third of all records belong to. */
    readonly largest: Visitor,
    private readonly undo: Undo[],
  ) {}

  static async open(rows: number): Promise<PortalSite> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-bench-'));
    chmodSync(folder, 0o711);
    const undo: Undo[] = [() => rmSync(folder, { recursive: true, force: true })];
    try {
      const server = await startEmbeddedPostgres({ dataFolder: folder });
      undo.unshift(() => server.stop());
      await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: false });
      await fillAll(server.ownerUrl, rows);
      const service = await start(server, join(folder, 'service'));
      undo.unshift(() => service.close());
      await verified(service.application.get(Database, { strict: false }));
      return new PortalSite(await visitorsOf(service), await largestKey(service), undo);
    } catch (error) {
      for (const step of undo) await step();
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
    const began = performance.now();
    await fillPeople(database);
    await fill(source, database, rows);
    await database.query('CHECKPOINT');
    process.stdout.write(
      `        ${rows.toLocaleString('en')} records filled in ${((performance.now() - began) / 1_000).toFixed(0)} s\n`,
    );
  } finally {
    await source.destroy();
  }
}

/** The owners that `fill` names by number. */
async function fillPeople(database: Database): Promise<void> {
  await database.query(`INSERT INTO organisation (id, name, slug)
    SELECT n, 'Organisation ' || n, 'organisation-' || n FROM generate_series(1, 20) AS n`);
  await database.query(
    `INSERT INTO user_account (id, email, display_name, role, status, organisation_id)
     SELECT n, 'person-' || n || '@example.com', 'Person ' || n, 'user', 'active', 1 + n % 20
       FROM generate_series(1, $1::integer) AS n`,
    [PEOPLE],
  );
  await database.query(`INSERT INTO project (id, organisation_id, name, created_by)
    SELECT n, 1 + n % 20, 'Project ' || n, n FROM generate_series(1, 10) AS n`);
  await database.query(
    `INSERT INTO api_key (id, public_id, secret_hash, name, user_id, organisation_id, project_id, created_by)
     SELECT n, 'bench' || lpad(n::text, 7, '0'), sha256(n::text::bytea), 'Key ' || n, n, 1 + n % 20, 1 + n % 10, 'bench'
       FROM generate_series(1, $1::integer) AS n`,
    [PEOPLE],
  );
  const viewers = [
    [OPERATOR, 'platform_owner', null],
    [OWNER, 'org_owner', ORGANISATION],
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
    // In development, every page reads and compiles all templates anew.
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

/** A start verifies the money of all records beside its first answers, and seals them. The pages are measured after it. */
async function verified(database: Database): Promise<void> {
  for (let second = 0; second < MOST_SECONDS; second += 1) {
    const [{ sealed } = { sealed: false }] = await database.query<{ sealed: boolean }>(
      'SELECT EXISTS (SELECT FROM money_seal) AS sealed',
    );
    if (sealed) return;
    await delay(1_000);
  }
  throw new Error(`the money is not verified ${MOST_SECONDS} s after the start`);
}

async function visitorsOf(service: RunningService): Promise<Visitor[]> {
  const of = (name: string, userId: number) => visitor(service, name, userId);
  const visitors = [await of('platform', OPERATOR), await of('organisation', OWNER)];
  for (const { name, get, post } of visitors)
    await post('/dashboard/toggle-admin-mode', { admin_mode: 'on' }).then(async () => {
      // The view of an administrator says whose records it shows.
      if (!(await (await get('/dashboard')).text()).includes('admin-strip'))
        throw new Error(`${name} is not in the view of an administrator`);
    });
  return [...visitors, await of('large account', 1), await of('small account', 50)];
}

async function visitor({ application, url }: RunningService, name: string, userId: number) {
  const sessions = application.get(SessionsService, { strict: false });
  const database = application.get(Database, { strict: false });
  const cookie = `svc_session=${await database.transaction((tx) => sessions.open(tx, userId))}`;
  const send = async (path: string, options: RequestInit): Promise<Response> => {
    const headers = { cookie, accept: 'text/html', ...options.headers };
    return checked(path, await fetch(url + path, { ...options, headers, redirect: 'manual' }));
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

/** Its secret is made now, in place of that of the first key of `fill`. */
async function largestKey({ application, url }: RunningService): Promise<Visitor> {
  const database = application.get(Database, { strict: false });
  const keys = application.get(KeysService, { strict: false });
  const { text } = await database.transaction(async (tx) => {
    const owner = { userId: 1, organisationId: null, departmentId: null, projectId: null };
    const issued = await keys.issue(platformScope, tx, {
      ...owner,
      kind: 'client',
      name: 'largest',
      createdBy: 'bench',
    });
    const [made] = await tx.query<{ public_id: string; secret_hash: Buffer }[]>(
      'SELECT public_id, secret_hash FROM api_key WHERE id = $1',
      [issued.id],
    );
    const give = (id: number, publicId: unknown, hash: unknown) =>
      tx.query('UPDATE api_key SET public_id = $2, secret_hash = $3 WHERE id = $1', [id, publicId, hash]);
    await give(issued.id, 'bench0000000', Buffer.alloc(32));
    await give(1, made?.public_id, made?.secret_hash);
    return issued;
  });
  return {
    name: 'the largest key',
    get: async (path) =>
      checked(path, await fetch(url + path, { headers: { authorization: `Bearer ${text}` } })),
  };
}

function checked(path: string, answer: Response): Response {
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return answer;
}
