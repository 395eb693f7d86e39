import { uuidv7 } from '#product/kernel';
import { CommandHouse } from './command-house';

const MOMENT = '2026-01-31T12:00:00Z';

let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
});
afterAll(() => house.close());

test('a moment is a time with its zone in the past', async () => {
  for (const moment of ['yesterday', '2026-01-31', '2026-01-31T12:00:00', '2999-01-31T12:00:00Z'])
    expect(await house.run(['quarantine', 'begin', '--moment', moment])).toMatchObject({ code: 64 });
  expect(await house.run(['quarantine', 'begin'])).toMatchObject({ code: 64 });
});

test('nothing was restored, so there is nothing to show and to release', async () => {
  expect((await house.run(['quarantine', 'show'])).output).toBe(
    'This installation was never restored from a backup.\n',
  );
  expect(await house.run(['quarantine', 'release', '--yes'])).toMatchObject({
    code: 1,
    complaint: 'No quarantine is open.\n',
  });
});

test('it does not begin while a node runs', async () => {
  const lease = uuidv7();
  await house.database.query('SELECT * FROM escrow_beat($1, $2, true, NULL)', [lease, 'a-node']);
  expect(await house.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({ code: 1 });
  await house.database.query('SELECT escrow_sweep($1)', ['a-node']);
});

test('an operator begins, looks, decides about each group, and the decision waits for the service', async () => {
  expect(await house.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({ code: 0 });
  expect(await house.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({
    code: 1,
    complaint: 'A quarantine is open already. "quarantine show" shows it.\n',
  });
  const shown = (await house.run(['quarantine', 'show'])).output;
  expect(shown).toContain('Restored to 2026-01-31T12:00:00.000Z\n');
  expect(shown).toContain('Jobs and payments: start the service, which looks at them.\n');
  expect(shown).toContain('To decide: payments, mails, evaluations\n');
  expect(await house.run(['quarantine', 'release', '--mails', 'send', '--yes'])).toMatchObject({
    code: 1,
    complaint: 'Decide about these as well:\n  --payments take|later\n  --evaluations run|drop\n',
  });
  expect(await house.run(['quarantine', 'release', '--mails', 'burn', '--yes'])).toMatchObject({ code: 64 });
  const words = ['quarantine', 'release', '--mails', 'send', '--payments', 'later', '--evaluations', 'drop'];
  expect(await house.run(words)).toMatchObject({ code: 1 });
  expect(await house.run(words, true)).toMatchObject({ code: 0 });
  expect(await house.database.query('SELECT decisions, released_at FROM quarantine')).toEqual([
    { decisions: { mails: 'send', payments: 'later', evaluations: 'drop' }, released_at: null },
  ]);
});
