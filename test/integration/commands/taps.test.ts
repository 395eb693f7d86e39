import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
});
afterAll(() => fixture.close());

const request = '01900000-0000-7000-8000-000000000001';
const otherRequest = '01900000-0000-7000-8000-000000000002';

beforeEach(async () => {
  await fixture.database.query('DELETE FROM tap');
  await fixture.database.query(
    `INSERT INTO tap (name, after_xid, after_id, failures, last_error)
     VALUES ('acme/siem', '1', 0, 3, 'no room'), ('core/file', pg_snapshot_xmin(pg_current_snapshot()), 0, 0, NULL)`,
  );
  await fixture.database.query(
    `INSERT INTO tap_dead_letter (tap, request_id, created_at, error)
     VALUES ('acme/siem', $1, now(), 'x'), ('acme/siem', $2, now(), 'y')`,
    [request, otherRequest],
  );
});

const replayedIds = async (): Promise<string[]> =>
  (
    await fixture.database.query<{ request_id: string }>(
      'SELECT request_id FROM tap_dead_letter WHERE replay_at IS NOT NULL ORDER BY request_id',
    )
  ).map((row) => row.request_id);

test('tap:list lists the taps', async () => {
  const { code, output } = await fixture.run(['tap:list']);
  expect(code).toBe(0);
  expect(output).toBe(
    [
      'acme/siem',
      '  0 waiting; 0 delivered, 0 left undelivered, 2 dead letters',
      '  last success: none',
      '  failed 3 times in a row: no room',
      'core/file',
      '  0 waiting; 0 delivered, 0 left undelivered, 0 dead letters',
      '  last success: none',
      '',
    ].join('\n'),
  );
});

test('tap:replay queues one or all dead letters and logs it', async () => {
  expect((await fixture.run(['tap:replay', 'acme/siem', request])).output).toBe(
    '1 is delivered once more by the running service.\n',
  );
  expect(await replayedIds()).toEqual([request]);
  expect((await fixture.run(['tap:replay', 'acme/siem', '--all'])).output).toBe(
    '2 are delivered once more by the running service.\n',
  );
  expect(await replayedIds()).toEqual([request, otherRequest]);
  expect(await fixture.run(['tap:replay', 'core/file', '--all'])).toMatchObject({
    code: 1,
    complaint: 'core/file has no such dead letter. "tap:list" lists the taps.\n',
  });
  for (const args of [[], ['acme/siem'], ['acme/siem', '--all', request], ['acme/siem', 'x']])
    expect((await fixture.run(['tap:replay', ...args])).code).toBe(64);
  const entries = await fixture.database.query<object>(
    "SELECT actor_label, object_id, changes FROM activity WHERE action = 'tap.letters-replayed' ORDER BY id",
  );
  expect(entries).toEqual([
    {
      actor_label: 'command line',
      object_id: 'acme/siem',
      changes: { count: [null, 1], request_id: [null, request] },
    },
    { actor_label: 'command line', object_id: 'acme/siem', changes: { count: [null, 2] } },
  ]);
});

test('tap:forget removes a tap after a confirmation', async () => {
  expect((await fixture.run(['tap:forget', 'acme/siem'])).code).toBe(1);
  expect((await fixture.run(['tap:forget', 'nobody/knows', '--yes'])).code).toBe(1);
  expect((await fixture.run(['tap:forget', 'acme/siem'], true)).output).toContain('Taken away: acme/siem.');
  expect(await fixture.database.query('SELECT name FROM tap')).toEqual([{ name: 'core/file' }]);
  expect(await fixture.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
});
