import { CommandHouse } from './command-house';

let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
});
afterAll(() => house.close());

const request = '01900000-0000-7000-8000-000000000001';
const other = '01900000-0000-7000-8000-000000000002';

beforeEach(async () => {
  await house.database.query('DELETE FROM tap');
  await house.database.query(
    `INSERT INTO tap (name, after_xid, after_id, failures, last_error)
     VALUES ('acme/siem', '1', 0, 3, 'no room'), ('core/file', pg_snapshot_xmin(pg_current_snapshot()), 0, 0, NULL)`,
  );
  await house.database.query(
    `INSERT INTO tap_dead_letter (tap, request_id, created_at, error)
     VALUES ('acme/siem', $1, now(), 'x'), ('acme/siem', $2, now(), 'y')`,
    [request, other],
  );
});

const asked = async (): Promise<string[]> =>
  (
    await house.database.query<{ request_id: string }>(
      'SELECT request_id FROM tap_dead_letter WHERE replay_at IS NOT NULL ORDER BY request_id',
    )
  ).map((row) => row.request_id);

test('taps are listed', async () => {
  const { code, output } = await house.run(['tap:list']);
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

test('dead letters are asked for once more, one or all, and that is on record', async () => {
  expect((await house.run(['tap:replay', 'acme/siem', request])).output).toBe(
    '1 is delivered once more by the running service.\n',
  );
  expect(await asked()).toEqual([request]);
  expect((await house.run(['tap:replay', 'acme/siem', '--all'])).output).toBe(
    '2 are delivered once more by the running service.\n',
  );
  expect(await asked()).toEqual([request, other]);
  expect(await house.run(['tap:replay', 'core/file', '--all'])).toMatchObject({
    code: 1,
    complaint: 'core/file has no such dead letter. "tap:list" lists the taps.\n',
  });
  for (const words of [[], ['acme/siem'], ['acme/siem', '--all', request], ['acme/siem', 'x']])
    expect((await house.run(['tap:replay', ...words])).code).toBe(64);
  const entries = await house.database.query<object>(
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

test('a tap is taken away after a question', async () => {
  expect((await house.run(['tap:forget', 'acme/siem'])).code).toBe(1);
  expect((await house.run(['tap:forget', 'nobody/knows', '--yes'])).code).toBe(1);
  expect((await house.run(['tap:forget', 'acme/siem'], true)).output).toContain('Taken away: acme/siem.');
  expect(await house.database.query('SELECT name FROM tap')).toEqual([{ name: 'core/file' }]);
  expect(await house.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
});
