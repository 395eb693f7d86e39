import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  DataFolderInUse,
  type EmbeddedPostgres,
  type SupervisorEvent,
  startEmbeddedPostgres,
  stopAbandonedPostgres,
} from '#inside/platform/database/embedded-postgres';
import { runningProcess } from '#inside/platform/database/embedded/processes';
import { RestoredPostgres } from '#product/platform';
import { runChild } from '../../support/child';
import { inSession } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

const instance = join(__dirname, 'embedded-instance.process.ts');
/** The global setup of a later run sweeps what a killed run leaves in folders with this name. */
const top = makeScratchFolder('switchboard-test-');
const dataFolder = join(top, 'data');
const serverFolder = join(dataFolder, 'postgres');

beforeAll(() => chmodSync(top, 0o711));

afterAll(async () => {
  await stopAbandonedPostgres(dataFolder);
  rmSync(top, { recursive: true, force: true });
});

const start = () => startEmbeddedPostgres({ dataFolder, durable: false });

const ask = (url: string, sql: string): Promise<unknown[][]> =>
  inSession(url, async (session) => (await session.query<unknown[]>({ text: sql, rowMode: 'array' })).rows);

const postmaster = () =>
  Number(readFileSync(join(serverFolder, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0]);
const notes = async (url: string) => (await ask(url, 'SELECT text FROM note')).flat();

async function withServer<T>(work: (server: EmbeddedPostgres) => Promise<T>): Promise<T> {
  const server = await start();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** The system reports the end of a process that is not our child only to those who look. */
async function gone(pid: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (runningProcess(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} does not end`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the first start creates a cluster, the next one finds its data', async () => {
  const pid = await withServer(async (server) => {
    await ask(server.ownerUrl, 'CREATE TABLE note AS SELECT 1 AS id, $$kept$$ AS text');
    await ask(server.ownerUrl, 'GRANT SELECT ON note TO PUBLIC');
    return postmaster();
  });
  expect(runningProcess(pid)).toBeUndefined();
  await withServer(async (server) => expect(await notes(server.url)).toEqual(['kept']));
});

test('the login of the service owns nothing, and the passwords are readable by nobody else', async () => {
  await withServer(async (server) => {
    await expect(ask(server.url, 'CREATE TABLE other (id int)')).rejects.toThrow('permission denied');
    await expect(ask(server.url, 'CREATE ROLE other')).rejects.toThrow('permission denied');
    const guessed = server.url.replace(/:[0-9a-f]+@/, ':guess@');
    await expect(ask(guessed, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });
  expect(statSync(join(serverFolder, 'passwords.json')).mode & 0o777).toBe(0o600);
});

test('a second instance is refused while the first lives', async () => {
  await withServer(async (server) => {
    const refusal = await start().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DataFolderInUse);
    expect(String(refusal)).toContain(
      `The data folder ${dataFolder} is in use by the process ${process.pid}.`,
    );
    const { code, complaint } = await runChild(instance, [dataFolder]).finish();
    expect([code, complaint]).toEqual([1, expect.stringContaining('DataFolderInUse: ')]);
    expect(await notes(server.url)).toEqual(['kept']);
  });
});

test('what a killed process left running is taken over', async () => {
  const killed = runChild(instance, [dataFolder]);
  const url = await killed.line();
  const orphan = postmaster();
  killed.kill();
  await killed.ended;
  await withServer(async (server) => {
    expect(postmaster()).toBe(orphan);
    expect(server.url).toBe(url);
    expect(await notes(server.url)).toEqual(['kept']);
  });
  expect(runningProcess(orphan)).toBeUndefined();
});

test('after both processes were killed the data is recovered', async () => {
  const killed = runChild(instance, [dataFolder]);
  await killed.line();
  const pid = postmaster();
  killed.kill();
  process.kill(pid, 'SIGKILL');
  await killed.ended;
  await withServer(async (server) => {
    expect(postmaster()).not.toBe(pid);
    expect(await notes(server.url)).toEqual(['kept']);
  });
});

test('SIGTERM to the process that holds the server leaves nothing running', async () => {
  const child = runChild(instance, [dataFolder]);
  await child.line();
  const pid = postmaster();
  child.signal('SIGTERM');
  expect(await child.finish()).toMatchObject({ code: 0, complaint: '' });
  expect(runningProcess(pid)).toBeUndefined();
  expect(existsSync(join(serverFolder, 'owner.json'))).toBe(false);
});

/** Starts a server and tells what becomes of it. */
async function supervised(giveUpMs: number) {
  const events: SupervisorEvent[] = [];
  let wake = (): void => undefined;
  const server = await startEmbeddedPostgres({
    dataFolder,
    durable: false,
    supervision: {
      giveUpMs,
      report: (event) => {
        events.push(event);
        wake();
      },
    },
  });
  const happened = async (kind: SupervisorEvent['kind'], times = 1): Promise<void> => {
    while (events.filter((event) => event.kind === kind).length < times)
      await new Promise<void>((resolve) => (wake = resolve));
  };
  return { server, happened };
}

test('a server that dies under the service is started again where it was, as often as it dies', async () => {
  const { server, happened } = await supervised(60_000);
  for (const times of [1, 2]) {
    process.kill(postmaster(), 'SIGKILL');
    await happened('restarted', times);
    expect(await notes(server.url)).toEqual(['kept']);
  }
  const pid = postmaster();
  await server.stop();
  expect(runningProcess(pid)).toBeUndefined();
});

test('a server that was taken over is started again, too', async () => {
  const killed = runChild(instance, [dataFolder]);
  await killed.line();
  killed.kill();
  await killed.ended;
  const { server, happened } = await supervised(60_000);
  process.kill(postmaster(), 'SIGKILL');
  await happened('restarted');
  expect(await notes(server.url)).toEqual(['kept']);
  await server.stop();
});

test('the end of a server that cannot be started again is reported', async () => {
  const { server, happened } = await supervised(0);
  const version = join(serverFolder, 'cluster', 'PG_VERSION');
  const text = readFileSync(version);
  writeFileSync(version, 'none');
  try {
    process.kill(postmaster(), 'SIGKILL');
    await happened('given-up');
    await server.exited;
    await server.stop();
  } finally {
    writeFileSync(version, text);
  }
});

test('a process that bears the number of an earlier server is not taken for it', async () => {
  writeFileSync(join(serverFolder, 'cluster', 'postmaster.pid'), `${process.pid}\n${serverFolder}\n0\n1\n`);
  await withServer(async (server) => expect(await notes(server.url)).toEqual(['kept']));
});

test('a server whose data folder its account cannot reach is put elsewhere, and found again', async () => {
  const [home, moved, sharedFolder] = [join(top, 'home'), join(top, 'moved'), join(top, 'shared')];
  const closed = (folder: string) =>
    startEmbeddedPostgres({ dataFolder: join(folder, 'data'), sharedFolder, durable: false });
  mkdirSync(home, { mode: 0o700 });
  const first = await closed(home);
  try {
    // Only root has to lend the server another account.
    expect(first.folder.startsWith(process.getuid?.() === 0 ? sharedFolder : home)).toBe(true);
    await ask(first.ownerUrl, 'CREATE TABLE note AS SELECT $$kept$$ AS text');
  } finally {
    await first.stop();
  }
  renameSync(home, moved);
  const second = await closed(moved);
  try {
    expect(await notes(second.ownerUrl)).toEqual(['kept']);
  } finally {
    await second.stop();
  }
});

test('where its account can go nowhere, nothing is begun, and the message says as whom to run it', async () => {
  const [home, sharedFolder] = [join(top, 'closed'), join(top, 'closed-too')];
  for (const folder of [home, sharedFolder]) mkdirSync(folder, { mode: 0o700 });
  const dataFolder = join(home, 'data');
  const restored = RestoredPostgres.prepare(dataFolder, sharedFolder);
  // An account that is not root's needs nobody's leave.
  if (process.getuid?.() === 0)
    await expect(restored).rejects.toThrow(/cannot enter .* Run this as the user/);
  else await expect(restored).resolves.toBeDefined();
  expect(readdirSync(sharedFolder)).toEqual([]);
});

test('a server that is no longer where it was put is missed, not begun anew', async () => {
  const elsewhere = join(top, 'elsewhere');
  mkdirSync(join(elsewhere, 'postgres'), { recursive: true });
  writeFileSync(join(elsewhere, 'postgres', 'location'), join(top, 'deleted'));
  await expect(startEmbeddedPostgres({ dataFolder: elsewhere })).rejects.toThrow('which is gone');
});

test('a cluster without its passwords is not opened, and the message names the file', async () => {
  const passwords = join(serverFolder, 'passwords.json');
  const kept = readFileSync(passwords);
  rmSync(passwords);
  try {
    await expect(start()).rejects.toThrow(`The file ${passwords} is missing`);
  } finally {
    writeFileSync(passwords, kept, { mode: 0o600 });
  }
});

test('the server of a killed process can be ended from outside', async () => {
  const killed = runChild(instance, [dataFolder]);
  await killed.line();
  const orphan = postmaster();
  await expect(stopAbandonedPostgres(dataFolder)).rejects.toThrow(DataFolderInUse);
  killed.kill();
  await killed.ended;
  await stopAbandonedPostgres(dataFolder);
  await gone(orphan);
});
