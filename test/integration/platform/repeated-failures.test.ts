import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';

interface FailureLogEntry {
  readonly level: string;
  readonly msg: string;
  readonly context?: string;
  readonly error?: { readonly code?: string; readonly stack?: string };
}

const TABLES = ['request_record', 'kept_response', 'api_key', 'activity'];
const ROUNDS = 60;

describe('A database that refuses every write', () => {
  let database: TestDatabase;
  let owner: Client;
  let supplier: Simulator;
  let app: TestApp;

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: database,
      environment: { SETTLE_ACK: 'journal' },
    });
    owner = new Client({ connectionString: database.ownerUrl });
    await owner.connect();
    await owner.query(`CREATE FUNCTION refuse_for_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file "base/16384/%": No space left on device',
        floor(random() * 1000000) USING ERRCODE = 'disk_full'; END $$`);
  });
  afterAll(async () => {
    await owner.query('DROP FUNCTION IF EXISTS refuse_for_space CASCADE');
    await app.close();
    await owner.end();
    await supplier.stop();
    await database.drop();
  });

  const post = async (path: string, key: string | undefined, body: object): Promise<number> => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await answer.text();
    return answer.status;
  };

  test('is logged once with its stack per call site, and counted afterwards', async () => {
    const logLengthBefore = app.log.length;
    for (const table of TABLES)
      await owner.query(`CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON ${table}
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_for_space()`);
    for (let round = 0; round < ROUNDS; round += 1) {
      await post('/v1/responses', app.firstKeys?.demo, { model: 'sim-small', input: `${round}` });
      expect(await post('/v1/manage/keys', app.firstKeys?.root, { name: `key ${round}` })).toBe(500);
    }
    const entries = app.log.slice(logLengthBefore).map((line) => JSON.parse(line) as FailureLogEntry);
    const stacks = entries.filter(({ error }) => error?.stack !== undefined);
    const callSites = stacks.map(({ msg, context, error }) => `${context} ${msg} ${error?.code}`);
    expect(callSites.some((place) => place.includes('53100'))).toBe(true);
    // Each call site appears once.
    expect(callSites.length).toBe(new Set(callSites).size);
    expect(stacks.length).toBeLessThan(10);
    for (const table of TABLES) await owner.query(`DROP TRIGGER no_space ON ${table}`);
  });
});
