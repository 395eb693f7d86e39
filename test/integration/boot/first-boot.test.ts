import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { runChild } from '../../support/child';
import { Program } from '../../system/program';
import { administer, createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';

const rootOfProject = join(__dirname, '../../..');
const keyPattern = /svc_[0-9A-Za-z]{57}/g;

interface BootedNode {
  readonly child: Program;
  readonly url: string;
  /** Everything printed up to the end of the start messages. */
  readonly printed: string;
}

let database: TestDatabase;
let simulator: Simulator;
let folder: string;
const children: Program[] = [];

beforeAll(async () => {
  [database, simulator] = await Promise.all([createTestDatabase(), startSimulator()]);
  folder = makeScratchFolder('switchboard-first-boot-');
});
afterAll(async () => {
  for (const child of children) child.kill();
  await Promise.all(children.map(({ ended }) => ended));
  await simulator.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function bootNode(): Promise<BootedNode> {
  const child = runChild(join(__dirname, 'service-process.ts'), [simulator.url], {
    NODE_ENV: 'test',
    PORT: '0',
    BASE_URL: 'http://portal.localhost:4000',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'trace',
    DATA_FOLDER: folder,
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    DATABASE_POOL_SIZE: '3',
    SANDBOX: 'off',
    SESSION_SECRET: 'a secret of the tests, long enough for anybody',
    KEY_PEPPER: 'a pepper of the tests, long enough for anybody',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  children.push(child);
  const lines: string[] = [];
  let url: string | undefined;
  while (url === undefined) {
    const line = await child.line();
    lines.push(line);
    url = / is ready at (http:\S+)/.exec(line)?.[1];
  }
  await fetch(`${url}/trouble/marker`);
  while (lines.at(-1) !== 'told everything') lines.push(await child.line());
  return { child, url, printed: lines.join('\n') };
}

/** Stops the node and returns the lines printed since its start. */
async function stop({ child }: BootedNode): Promise<string[]> {
  child.signal('SIGTERM');
  expect(await child.ended).toBe(0);
  const lines: string[] = [];
  for (;;) {
    const line = await child.line().catch(() => null);
    if (line === null) return lines;
    lines.push(line);
  }
}

const rows = <Row extends object>(sql: string): Promise<Row[]> => queryRows<Row>(database.ownerUrl, sql);

const chat = (node: BootedNode, key: string) =>
  fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] }),
  });

/** The owner's link works once, on any node. */
const signInWithLink = async (node: BootedNode, token: string): Promise<number> => {
  const answer = await fetch(`${node.url}/sign-in-link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return answer.status;
};

test('two nodes on one empty database create one set of keys, show it once, and it works on both', async () => {
  const nodes = await Promise.all([bootNode(), bootNode()]);
  const announcedKeys = nodes.map(({ printed }) => [...new Set(printed.match(keyPattern) ?? [])]);
  const keys = announcedKeys.flat();
  expect(announcedKeys.map(({ length }) => length).sort()).toEqual([0, 2]);
  const [root = '', demo = ''] = keys;
  expect(nodes.map(({ printed }) => printed).join('\n')).toContain(
    'http://portal.localhost:4000/sign-in-link?token=',
  );

  expect(await rows('SELECT kind FROM api_key ORDER BY kind')).toEqual([
    { kind: 'client' },
    { kind: 'root' },
  ]);
  expect(await rows('SELECT role FROM user_account')).toEqual([{ role: 'platform_owner' }]);
  expect(await rows('SELECT slug FROM organisation')).toEqual([{ slug: 'first' }]);
  const entries = await rows<{ entry: string }>(
    "SELECT action || ': ' || object_label AS entry FROM activity WHERE actor_label = 'first start' ORDER BY id",
  );
  expect(entries.map(({ entry }) => entry)).toEqual([
    'organisation.created: First organisation',
    'account.registered: owner@localhost',
    'account.sign-in-link-made: owner@localhost',
    'key.created: Root admin key',
    'key.created: Demo key',
  ]);

  for (const node of nodes) {
    const answer = await chat(node, demo);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('chat.completion')]);
    expect((await chat(node, root)).status).toBe(403);
  }
  const [link = ''] = nodes.flatMap(
    ({ printed }) => /sign-in-link\?token=([\w-]{43})$/m.exec(printed)?.[1] ?? [],
  );
  const signIns = await Promise.all(nodes.map((node) => signInWithLink(node, link)));
  expect(signIns.sort()).toEqual([200, 401]);
  const laterLines = await Promise.all(nodes.map(stop));

  // The keys were shown once in the terminal; no log line and no database row contains them.
  const printed = [...nodes.flatMap((node) => node.printed.split('\n')), ...laterLines.flat()];
  const logged = printed.filter((line) => line.startsWith('{')).join('\n');
  expect(logged).toContain('stopping');
  const tables = await rows<{ name: string }>(
    "SELECT table_schema || '.' || table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
  );
  expect(tables.map(({ name }) => name)).toContain('public.request_record');
  const secrets = [link, ...keys.map((key) => key.slice(12))];
  for (const secret of secrets) expect(logged).not.toContain(secret);
  const containsSecret = secrets.map((secret) => `strpos(t::text, '${secret}') > 0`).join(' OR ');
  const searchQueries = tables.map(
    ({ name }) => `SELECT '${name}' AS name FROM ${name} AS t WHERE ${containsSecret}`,
  );
  expect(await rows(searchQueries.join(' UNION ALL '))).toEqual([]);

  const rebootedNode = await bootNode();
  expect(rebootedNode.printed.match(keyPattern)).toBeNull();
  expect((await chat(rebootedNode, demo)).status).toBe(200);
  await stop(rebootedNode);
}, 90_000);

test('a development start prints the outbox address with its access token', async () => {
  const ownDatabase = await createTestDatabase();
  const data = makeScratchFolder('switchboard-development-');
  const service = Program.node('bundle/main.js', [], {
    ...{ NODE_ENV: 'development', HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', SANDBOX: 'off' },
    ...{ DATA_FOLDER: data, DATABASE_URL: ownDatabase.url, MIGRATION_DATABASE_URL: ownDatabase.ownerUrl },
  });
  try {
    const [, url = ''] = await service.find(/ is ready at (http:\S+)/);
    const [, path = ''] = /(\/dev\/outbox\?token=\S+)/.exec(service.text) ?? [];
    const statusOf = async (address: string): Promise<number> => (await fetch(address)).status;
    expect([await statusOf(url + path), await statusOf(`${url}/dev/outbox`)]).toEqual([200, 403]);
    await service.stop();
  } finally {
    service.kill();
    await service.ended;
    await ownDatabase.drop();
    rmSync(data, { recursive: true, force: true });
  }
}, 60_000);

// "Root key and owner link in container logs (only systemd is spared)": the image sets FIRST_KEYS=file.
test.each(['the journal of systemd', 'the log of a container'])(
  'the first keys are not written to %s',
  async (log) => {
    const ownDatabase = await createTestDatabase();
    const scratchFolder = makeScratchFolder('switchboard-journal-');
    const data = join(scratchFolder, 'data');
    const journal = join(scratchFolder, 'journal');
    writeFileSync(journal, '');
    const { dev, ino } = statSync(journal, { bigint: true });
    const service = Program.node(
      'bundle/main.js',
      [],
      {
        ...{ NODE_ENV: 'test', HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', SANDBOX: 'off' },
        ...{ DATA_FOLDER: data, DATABASE_URL: ownDatabase.url, MIGRATION_DATABASE_URL: ownDatabase.ownerUrl },
        ...(log.includes('systemd') ? { JOURNAL_STREAM: `${dev}:${ino}` } : { FIRST_KEYS: 'file' }),
      },
      { logFile: journal },
    );
    try {
      const keysFile = join(data, 'first-start.txt');
      await until(() =>
        readFileSync(journal, 'utf8').includes(`read them in ${keysFile}, then delete that file.`),
      );
      expect(statSync(keysFile).mode & 0o777).toBe(0o600);
      const keysText = readFileSync(keysFile, 'utf8');
      expect(keysText.match(keyPattern)).toHaveLength(2);
      expect(keysText).toContain('/sign-in-link?token=');
      service.signal('SIGTERM');
      expect(await service.ended).toBe(0);
      const journalText = readFileSync(journal, 'utf8');
      expect(journalText).toContain('is ready at http://');
      expect(journalText).not.toMatch(keyPattern);
      expect(journalText).not.toContain('sign-in-link?token=');
    } finally {
      service.kill();
      await service.ended;
      await ownDatabase.drop();
      rmSync(scratchFolder, { recursive: true, force: true });
    }
  },
  60_000,
);

test('an uncaught error is logged, and the process keeps running', async () => {
  const node = await bootNode();
  for (const path of ['/trouble/rejection', '/trouble/exception', '/trouble/string']) {
    const answer = await fetch(node.url + path, { headers: { accept: 'application/json' } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  }
  const reports: string[] = [];
  while (reports.length < 2) {
    const line = await node.child.line();
    if (line.includes('"level":"error"') && line.includes('nobody knew')) reports.push(line);
  }
  expect((await fetch(`${node.url}/health`)).status).toBe(200);
  await stop(node);
});

test('an unreachable database ends the start with a clear message', async () => {
  const droppedDatabase = await createTestDatabase();
  await droppedDatabase.drop();
  await expect(administer(droppedDatabase.ownerUrl, 'SELECT 1')).rejects.toThrow();
  const child = runChild(join(rootOfProject, 'dist/bundle/main.js'), [], {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    DATA_FOLDER: folder,
    DATABASE_URL: droppedDatabase.url,
    MIGRATION_DATABASE_URL: droppedDatabase.ownerUrl,
    SANDBOX: 'off',
  });
  expect(await child.ended).toBe(1);
});

test('a port in use is reported before keys are created', async () => {
  const portHolder = createServer().listen(0, '127.0.0.1');
  await once(portHolder, 'listening');
  const { port } = portHolder.address() as AddressInfo;
  const ownDatabase = await createTestDatabase();
  const scratchFolder = makeScratchFolder('switchboard-taken-port-');
  try {
    const child = runChild(join(__dirname, 'service-process.ts'), [simulator.url], {
      NODE_ENV: 'test',
      HOST: '127.0.0.1',
      PORT: String(port),
      METRICS_PORT: '0',
      DATA_FOLDER: scratchFolder,
      DATABASE_URL: ownDatabase.url,
      MIGRATION_DATABASE_URL: ownDatabase.ownerUrl,
      SANDBOX: 'off',
    });
    children.push(child);
    const { code, complaint } = await child.finish();
    expect(code).toBe(78);
    expect(complaint).toContain(`PORT: port ${port} of 127.0.0.1 is taken`);
    expect(complaint).not.toContain('    at ');
    expect(await queryRows(ownDatabase.ownerUrl, 'SELECT FROM api_key')).toEqual([]);
  } finally {
    portHolder.close();
    await ownDatabase.drop();
    rmSync(scratchFolder, { recursive: true, force: true });
  }
});
