import { RequestRecords } from '#product/audit';
import { startTestApp, type TestApp } from '../../support/app';

describe('Partitions of request records', () => {
  let app: TestApp;
  let records: RequestRecords;

  beforeAll(async () => {
    app = await startTestApp();
    records = app.application.get(RequestRecords, { strict: false });
  });
  afterAll(() => app.close());

  const partitions = async (): Promise<string[]> => {
    const rows = await app.database.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'request_record'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const insert = (at: string): Promise<unknown[]> =>
    app.database.query(
      `INSERT INTO request_record
         (request_id, created_at, surface, usage_source, cost_nano, status, stream, failover, latency_ms)
       VALUES (gen_random_uuid(), $1, 'chat', 'none', 0, 200, false, false, 1)`,
      [at],
    );
  const partitionOf = async (at: string): Promise<string | undefined> => {
    const rows = await app.database.query<{ home: string }>(
      'SELECT tableoid::regclass::text AS home FROM request_record WHERE created_at = $1',
      [at],
    );
    return rows[0]?.home;
  };

  test('are created ahead of time, once, also across the end of a year', async () => {
    const december = new Date(Date.UTC(2030, 11, 15));
    expect(await records.createPartitions(3, december)).toBe(3);
    expect(await records.createPartitions(3, december)).toBe(0);
    expect(await partitions()).toEqual(
      expect.arrayContaining(['request_record_203012', 'request_record_203101', 'request_record_203102']),
    );
  });

  test('contain the records of their month in UTC, to the last moment', async () => {
    await insert('2030-12-31T23:59:59.999Z');
    await insert('2031-01-01T00:00:00.000Z');
    expect(await partitionOf('2030-12-31T23:59:59.999Z')).toBe('request_record_203012');
    expect(await partitionOf('2031-01-01T00:00:00.000Z')).toBe('request_record_203101');
  });

  test('do not lose a record whose month has no partition', async () => {
    await insert('2040-06-01T12:00:00Z');
    expect(await partitionOf('2040-06-01T12:00:00Z')).toBe('request_record_default');
  });

  test('are dropped by retention one complete month at a time', async () => {
    expect(await records.dropBefore(new Date(Date.UTC(2031, 0, 20)))).toEqual(
      expect.arrayContaining(['request_record_203012']),
    );
    expect(await partitionOf('2030-12-31T23:59:59.999Z')).toBeUndefined();
    expect(await partitionOf('2031-01-01T00:00:00.000Z')).toBe('request_record_203101');
  });

  test('can be neither created nor dropped by the service login', async () => {
    await expect(app.database.query('DROP TABLE request_record_203101')).rejects.toThrow(/must be owner/);
    await expect(app.database.query('DELETE FROM request_record')).rejects.toThrow(/permission denied/);
  });
});
