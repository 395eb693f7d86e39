import { SEAL_LATE_MS } from '../../audit';
import { JOBS_RUN_SQL, LIVE_NODES_SQL, LONG_RUNNING_NODES_SQL } from '../../boot/other-nodes';
import { foreignMasterKeyIn } from '../../catalogue';
import { isProven } from '../../identity';
import { DAY_MS } from '../../kernel';
import { findForeignPepper } from '../../keys';
import { CLOCK_TOLERANCE_MS, type Database, type TableRow } from '../../platform';
import { readRestoredMark } from '../../quarantine';
import { fail, type CheckFinding, ok, type CheckContext, warn } from '../../checks';

const CLOCK_NOTICE_MS = 2_000;
const MIN_POSTGRES_VERSION = 150_000;

export async function checkDatabaseVersion({ database, settings }: CheckContext): Promise<CheckFinding> {
  const what = 'database';
  await database.ping();
  const [row] = await database.query<{ version: string; number: number }>(
    "SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number",
  );
  const kind = settings.databaseUrl === undefined ? 'embedded' : 'external';
  if ((row?.number ?? 0) < MIN_POSTGRES_VERSION)
    return fail(what, `PostgreSQL ${row?.version}`, 'PostgreSQL 15 or newer is needed.');
  return ok(what, `${kind} PostgreSQL ${row?.version} answers`);
}

export async function isDatabaseEmpty(database: Database): Promise<boolean> {
  const [row] = await database.query<{ tables: number }>(
    `SELECT count(*)::integer AS tables FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname = ANY ($1)`,
    [database.source.entityMetadatas.map(({ tableName }) => tableName)],
  );
  return row?.tables === 0;
}

/** Examines the tables themselves, because the list of migrations belongs to another role than the service's. */
export async function checkSchema({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'migrations';
  const rows = await database.query<{ name: string }>(
    `SELECT c.relname || '.' || a.attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped`,
  );
  const existingColumns = new Set(rows.map(({ name }) => name));
  const tables = database.source.entityMetadatas;
  const missing = tables.flatMap(({ tableName, columns }) =>
    columns
      .map(({ databaseName }) => `${tableName}.${databaseName}`)
      .filter((name) => !existingColumns.has(name)),
  );
  if (missing.length === 0) return ok(what, `all ${tables.length} tables are as this version expects`);
  return fail(what, `missing: ${missing.join(', ')}`, 'Start the service of this version once; it migrates.');
}

/** Reports keys that do not fit what is stored: the service would not start with them. */
export async function checkStoredSecrets({ database, settings }: CheckContext): Promise<CheckFinding[]> {
  const what = 'stored secrets';
  const faults = [
    [
      await foreignMasterKeyIn(database, settings),
      'Give the service the key it had, or enter these credentials again.',
    ],
    [
      await findForeignPepper(database, settings),
      'Set it as it was. If it was changed on purpose: root-key rotate --accept-pepper.',
    ],
  ] as const;
  const failures = faults.flatMap(([problem, advice]) =>
    problem === null ? [] : [fail(what, problem, advice)],
  );
  return failures.length > 0 ? failures : [ok(what, 'MASTER_KEY and KEY_PEPPER fit what is stored')];
}

const MAX_NAMED = 20;

/**
 * Each of these accounts keeps signing in with its own spelling; no further account can be created under the address.
 */
export async function checkDuplicateAddresses({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'mail addresses';
  const rows = await database.query<{ accounts: string }>(
    `SELECT string_agg(id || ' ' || email, ', ' ORDER BY id) AS accounts FROM user_account
      WHERE shares_address AND status <> 'deleted'
      GROUP BY canonical_address(email) HAVING count(*) > 1 ORDER BY min(id) LIMIT ${MAX_NAMED}`,
  );
  if (rows.length === 0) return ok(what, 'no two accounts have one in two spellings');
  return warn(
    what,
    `accounts with one address in several spellings: ${rows.map(({ accounts }) => accounts).join('; ')}`,
    'Ask their owners which to keep, and give the others another address.',
  );
}

/** Sign-in with a provider and links in emails wait until these hosts are proven. */
export async function checkResellerHosts({ database, settings }: CheckContext): Promise<CheckFinding[]> {
  const what = 'reseller hosts';
  const rows = await database.query<TableRow<'reseller_domain', 'host'> & { readonly proven: boolean }>(
    `SELECT d.host, ${isProven('d')} AS proven FROM reseller_domain d ORDER BY d.host`,
  );
  const unproven = rows.filter(({ proven }) => !proven).map(({ host }) => host);
  const names = unproven.length > MAX_NAMED ? [...unproven.slice(0, MAX_NAMED), '…'] : unproven;
  const insecureOrigins = settings.portalOrigins.filter(
    (origin) => origin.startsWith('http:') && settings.baseUrl.startsWith('https:'),
  );
  return [
    unproven.length === 0
      ? ok(what, rows.length === 0 ? 'none' : `all ${rows.length} are proven`)
      : warn(
          what,
          `${unproven.length} of ${rows.length} are not proven: ${names.join(', ')}`,
          'Set the TXT record that the page of the organisation shows; until then sign-in with a provider and mails lead to BASE_URL.',
        ),
    ...insecureOrigins.map((origin) =>
      warn('portal origins', `${origin} has no TLS`, 'Correct PORTAL_ORIGINS: nobody can sign in there.'),
    ),
  ];
}

export async function checkClock({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'clock';
  const before = Date.now();
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const after = Date.now();
  const databaseMs = row?.now.getTime() ?? before;
  const differenceMs = Math.max(0, databaseMs - after, before - databaseMs);
  if (differenceMs <= CLOCK_NOTICE_MS) return ok(what, `${differenceMs} ms from the database's`);
  const difference = `${(differenceMs / 1_000).toFixed(1)} s from the database's`;
  const advice = 'Let both machines keep their time by NTP.';
  if (differenceMs <= CLOCK_TOLERANCE_MS) return warn(what, difference, advice);
  return fail(what, difference, `${advice} Until then the service takes no jobs on this machine.`);
}

/** Without the partition of a month, its records go to the default partition, which is never dropped. */
export async function checkPartitions({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'partitions';
  const [row] = await database.query<{ ahead: number }>(
    `SELECT count(to_regclass('request_record_' || to_char(now() AT TIME ZONE 'utc' + make_interval(months => step),
            'YYYYMM')))::int AS ahead FROM generate_series(0, 1) AS step`,
  );
  if (row?.ahead === 2) return ok(what, 'this month and the next are ready');
  return fail(
    what,
    'this month or the next has none',
    'A process with WORKERS=inline has to run; it makes them every night.',
  );
}

/** A job that no node runs is as late as one that always fails; the logs of the nodes show which it is. */
export async function checkRepeatingJobs({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'repeating jobs';
  const rows = await database.rows<
    TableRow<'repeating_job', 'name, failures, succeeded_at'> & { readonly late: boolean }
  >('SELECT name, failures, succeeded_at, succeed_by < now() AS late FROM repeating_job ORDER BY name');
  if (rows.length === 0) return ok(what, 'none yet: the first start makes them');
  const late = rows.filter((row) => row.late);
  if (late.length === 0) return ok(what, `all ${rows.length} succeeded when they had to`);
  const lines = late.map(
    ({ name, failures, succeededAt: at }) =>
      `${name} (last success: ${at?.toISOString() ?? 'never'}, failures since: ${failures})`,
  );
  return fail(
    what,
    `without the success that was due: ${lines.join(', ')}`,
    'A process with WORKERS=inline has to run; where it does, its log says why a job fails.',
  );
}

/** A starting node serves no requests until an owner has decided. */
export async function checkQuarantine({ database, settings }: CheckContext): Promise<CheckFinding> {
  const what = 'quarantine';
  const mark = readRestoredMark(settings.dataFolder);
  if (mark !== null)
    return fail(
      what,
      `${settings.dataFolder} was restored to ${mark.moment.toISOString()}: the first start begins its quarantine`,
      'Start the service, then release it with "quarantine release" or on its page: docs/quarantine.md.',
    );
  const [open] = await database.rows<TableRow<'quarantine', 'moment'>>(
    'SELECT moment FROM quarantine WHERE released_at IS NULL',
  );
  if (open === undefined) return ok(what, 'none is open');
  return fail(
    what,
    `restored to ${open.moment.toISOString()} and not released: nobody is served`,
    'See what lies between with "quarantine show" or on its page, and release it: docs/quarantine.md.',
  );
}

/** Rates are counted in Redis if several nodes share them. */
export async function checkNodes({ database, settings }: CheckContext): Promise<CheckFinding> {
  const what = 'nodes';
  const [row] = await database.query<{ nodes: number }>(LIVE_NODES_SQL);
  const nodes = row?.nodes ?? 0;
  const countText = nodes === 1 ? 'one is running' : `${nodes} are running`;
  if (nodes < 2 || settings.redisUrl !== undefined) return ok(what, countText);
  return fail(
    what,
    `${countText} without REDIS_URL (one that was killed counts for 30 s)`,
    'Set REDIS_URL on every node: without it each lets in as much as a key may have. See docs/nodes.md.',
  );
}

/** Nodes that only serve the gateway run no jobs, so other nodes have to. */
export async function checkJobRunners({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'job runners';
  const [running] = await database.query<{ nodes: number }>(LONG_RUNNING_NODES_SQL);
  const [jobs] = await database.query<{ run: boolean }>(JOBS_RUN_SQL);
  if (jobs?.run === true) return ok(what, 'jobs were run within the last five minutes');
  if ((running?.nodes ?? 0) === 0) return ok(what, 'no node has run for five minutes yet');
  return fail(
    what,
    'nodes are running, and none has run a job for five minutes',
    'Run a node with SERVE=all or SERVE=portal, and WORKERS=inline. See docs/processes.md.',
  );
}

/** Uses the database's clock, and reads no block, so that a lock on blocks cannot delay the check. */
export async function checkAuditSeal({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'audit seal';
  const [row] = await database.query<{ waiting: number; seconds: number }>(
    `SELECT count(*)::integer AS waiting,
            coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0)::integer AS seconds
       FROM activity_unsealed`,
  );
  const { waiting, seconds } = row ?? { waiting: 0, seconds: 0 };
  if (seconds * 1_000 <= SEAL_LATE_MS) return ok(what, 'entries are sealed as they come');
  return fail(
    what,
    `${waiting} entries wait for their seal, the oldest for ${seconds} s`,
    'Start a node, or see who locks activity_block: docs/audit.md, "When something does not fit".',
  );
}

const CHECK_LATE_MS = 3 * DAY_MS;

/** Gives up after two seconds if the tables are locked. */
const readUnlocked = <Row>(database: CheckContext['database'], sql: string): Promise<Row[]> =>
  database.transaction(
    async (tx) => {
      await tx.query("SET LOCAL lock_timeout = '2s'");
      return tx.query<Row[]>(sql);
    },
    { withoutActivity: 'only reads' },
  );

export async function checkAuditChain({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'audit chain';
  const [row] = await readUnlocked<{ open: number; blocks: number; oldest: Date | null }>(
    database,
    `SELECT (SELECT count(*)::integer FROM audit_break WHERE examined_at IS NULL) AS open,
            (SELECT count(*)::integer FROM audit_check) AS blocks,
            (SELECT min(b.sealed_at) FROM audit_check c
               JOIN activity_block b ON b.chain = c.chain AND b.number = c.number + 1) AS oldest`,
  );
  if ((row?.open ?? 0) > 0)
    return fail(
      what,
      `${row?.open} places do not fit`,
      'See "When something does not fit" in docs/audit.md; audit:breaks lists them.',
    );
  const oldest = row?.oldest ?? null;
  if (oldest !== null && Date.now() - oldest.getTime() > CHECK_LATE_MS)
    return warn(
      what,
      `unchecked since ${oldest.toISOString().slice(0, 10)}`,
      'A process with WORKERS=inline has to run; it checks every night.',
    );
  return ok(
    what,
    row?.blocks === 0 ? 'not checked yet: the first night does' : 'nothing found that does not fit',
  );
}
