import { uuidv7 } from '#product/kernel';
import { CommandFixture } from './command-fixture';

const MOMENT = '2026-01-31T12:00:00Z';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
});
afterAll(() => fixture.close());

test('quarantine begin accepts only a past moment with a time zone', async () => {
  for (const moment of ['yesterday', '2026-01-31', '2026-01-31T12:00:00', '2999-01-31T12:00:00Z'])
    expect(await fixture.run(['quarantine', 'begin', '--moment', moment])).toMatchObject({ code: 64 });
  expect(await fixture.run(['quarantine', 'begin'])).toMatchObject({ code: 64 });
});

test('quarantine show and release have nothing to do when nothing was restored', async () => {
  expect((await fixture.run(['quarantine', 'show'])).output).toBe(
    'This installation was never restored from a backup.\n',
  );
  expect(await fixture.run(['quarantine', 'release', '--yes'])).toMatchObject({
    code: 1,
    complaint: 'No quarantine is open.\n',
  });
});

test('quarantine begin is refused while a node runs', async () => {
  const lease = uuidv7();
  await fixture.database.query('SELECT * FROM escrow_beat($1, $2, true, NULL)', [lease, 'a-node']);
  expect(await fixture.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({ code: 1 });
  await fixture.database.query('SELECT escrow_sweep($1)', ['a-node']);
});

test('an operator begins a quarantine, reviews it and decides per group, and the decision waits for the service', async () => {
  expect(await fixture.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({ code: 0 });
  expect(await fixture.run(['quarantine', 'begin', '--moment', MOMENT])).toMatchObject({
    code: 1,
    complaint: 'A quarantine is open already. "quarantine show" shows it.\n',
  });
  const overview = (await fixture.run(['quarantine', 'show'])).output;
  expect(overview).toContain('Restored to 2026-01-31T12:00:00.000Z\n');
  expect(overview).toContain('Jobs and payments: start the service, which looks at them.\n');
  expect(overview).toContain('To decide: payments, mails, evaluations\n');
  expect(await fixture.run(['quarantine', 'release', '--mails', 'send', '--yes'])).toMatchObject({
    code: 1,
    complaint: 'Decide about these as well:\n  --payments take|later\n  --evaluations run|drop\n',
  });
  expect(await fixture.run(['quarantine', 'release', '--mails', 'burn', '--yes'])).toMatchObject({
    code: 64,
  });
  const args = ['quarantine', 'release', '--mails', 'send', '--payments', 'later', '--evaluations', 'drop'];
  expect(await fixture.run(args)).toMatchObject({ code: 1 });
  expect(await fixture.run(args, true)).toMatchObject({ code: 0 });
  expect(await fixture.database.query('SELECT decisions, released_at FROM quarantine')).toEqual([
    { decisions: { mails: 'send', payments: 'later', evaluations: 'drop' }, released_at: null },
  ]);
});
