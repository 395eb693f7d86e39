import fc from 'fast-check';
import { ActivityLog, ActivityRetention, ChainReview, type ReviewSummary, systemActor } from '#product/audit';
import { executeCommand } from '#inside/commands/run-command';
import { Metrics, Outbox, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { addUser, signIn } from '../../support/people';
import { administer } from '../../support/postgres';
import { mailTo } from '../accounts/account-house';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let review: ChainReview;

beforeAll(async () => {
  app = await startTestApp({ environment: { ACTIVITY_RETENTION_MONTHS: '2' } });
  review = app.application.get(ChainReview, { strict: false });
});
afterAll(() => app.close());

const run = (entries?: number): Promise<ReviewSummary> => review.review(AbortSignal.timeout(30_000), entries);

/** Once through what is new, and twice through all. */
const rounds = async (): Promise<number> => (await run()).breaks + (await run()).breaks;

/** Blocks of the given sizes in the chain of an organisation. */
async function sealed(organisationId: number, sizes: readonly number[]): Promise<string[]> {
  const log = app.application.get(ActivityLog, { strict: false });
  for (const size of sizes) {
    await app.database.transaction(async (tx) => {
      for (let each = 0; each < size; each += 1)
        await log.write(tx, {
          action: 'project.changed',
          object: { type: 'project', id: String(each), label: `Project ${each}` },
          concerns: { organisationId },
          actor: systemActor('test'),
        });
    });
    await sealAll(app);
  }
  const rows = await app.database.query<{ id: string }>(
    'SELECT id FROM activity WHERE organisation_id = $1 ORDER BY id',
    [organisationId],
  );
  return rows.map(({ id }) => id);
}

/** Past the service, as the owner of the tables could. */
const tamper = (statement: string): Promise<void> =>
  administer(
    String(app.environment['MIGRATION_DATABASE_URL']),
    `ALTER TABLE activity DISABLE TRIGGER activity_is_final;
     ALTER TABLE activity_block DISABLE TRIGGER activity_block_is_final;
     ${statement};
     ALTER TABLE activity ENABLE TRIGGER activity_is_final;
     ALTER TABLE activity_block ENABLE TRIGGER activity_block_is_final`,
  );

const breaksOf = (chain: number): Promise<unknown[]> =>
  app.database.query(
    'SELECT kind, block::integer AS block, entry::text AS entry FROM audit_break WHERE chain = $1 ORDER BY id',
    [chain],
  );
const pointer = async (chain: number): Promise<number> => {
  const [row] = await app.database.query<{ number: string }>(
    'SELECT number FROM audit_check WHERE chain = $1',
    [chain],
  );
  return Number(row?.number ?? 0);
};

test('in runs of any size every chain is checked to its end, and what is right raises no alarm', async () => {
  let chain = 100;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 12 }),
      async (sizes, budget) => {
        chain += 1;
        await sealed(chain, sizes);
        let runs = 0;
        for (let complete = false; !complete; runs += 1) complete = (await run(budget)).isComplete;
        expect(await pointer(chain)).toBe(sizes.length);
        expect(runs).toBeGreaterThanOrEqual(1);
      },
    ),
    { numRuns: 8 },
  );
  expect(await rounds()).toBe(0);
  expect(await app.database.query('SELECT FROM audit_break')).toEqual([]);
});

test('a run that has nothing new goes over what was right before, from where it was', async () => {
  await sealed(200, [3, 3, 3]);
  await run();
  const again = async (): Promise<number> => {
    const [row] = await app.database.query<{ number: string }>(
      'SELECT again_number AS number FROM audit_check WHERE chain = 200',
    );
    return Number(row?.number);
  };
  await app.database.query("UPDATE audit_check SET again_at = 'epoch', again_number = 0 WHERE chain = 200");
  await run(1);
  expect(await again()).toBeGreaterThan(0);
});

interface Harm {
  readonly name: string;
  readonly statement: (ids: readonly string[], chain: number) => string;
  readonly kind: string;
  /** The check finds this of blocks that it never saw; null where only copies elsewhere know of them. */
  readonly kindUnseen?: string | null;
}

const block = (set: string, number: number) => (_: readonly string[], chain: number) =>
  `UPDATE activity_block SET ${set} WHERE chain = ${chain} AND number = ${number}`;

const harms: readonly Harm[] = [
  {
    name: 'an edited entry',
    statement: (ids) => `UPDATE activity SET object_label = 'other' WHERE id = ${ids[4]}`,
    kind: 'edited',
  },
  {
    name: 'a removed entry',
    statement: (ids) => `DELETE FROM activity WHERE id = ${ids[4]}`,
    kind: 'missing',
  },
  { name: 'an emptied block', statement: block('entries = NULL, digests = NULL', 2), kind: 'emptied' },
  {
    name: 'a removed block',
    statement: (_, chain) => `DELETE FROM activity_block WHERE chain = ${chain} AND number = 2`,
    kind: 'block-missing',
  },
  { name: 'an altered head', statement: block("sealed_at = sealed_at - interval '1 day'", 2), kind: 'head' },
  {
    name: 'an altered last head',
    statement: block("sealed_at = sealed_at - interval '1 day'", 3),
    kind: 'fork',
    kindUnseen: 'head',
  },
  {
    name: 'an end that was cut off',
    statement: (_, chain) => `DELETE FROM activity_block WHERE chain = ${chain} AND number = 3`,
    kind: 'cut',
    // By the anchor in the data folder.
    kindUnseen: 'fork',
  },
  {
    name: 'a chain that is gone',
    statement: (_, chain) => `DELETE FROM activity_block WHERE chain = ${chain}`,
    kind: 'cut',
    kindUnseen: null,
  },
];

describe.each([
  ['before it was checked', false],
  ['after it was checked', true],
])('%s', (_, isChecked) => {
  test.each(harms)('$name is found, once', async ({ name, statement, kind, kindUnseen = kind }) => {
    const chain = 300 + harms.findIndex((harm) => harm.name === name) + (isChecked ? 100 : 0);
    const ids = await sealed(chain, [3, 3, 3]);
    const expected = isChecked ? kind : kindUnseen;
    if (isChecked) await run();
    await tamper(statement(ids, chain));
    await rounds();
    // The service goes on, and with it the comparison with the anchor.
    await sealed(chain, [1]);
    const found = (await breaksOf(chain)) as { kind: string; entry: string }[];
    if (expected === null) return;
    expect(found.map((each) => each.kind)).toContain(expected);
    if (kind === 'edited' || kind === 'missing')
      expect(found).toEqual([{ kind, block: 2, entry: String(ids[4]) }]);
    await rounds();
    expect(await rounds()).toBe(0);
    const entries = await app.database.query(
      "SELECT FROM activity WHERE action = 'log.break-found' AND object_label = $1",
      [`the chain of organisation ${chain}`],
    );
    expect(entries.length).toBeGreaterThan(0);
  });
});

test('a block that a stranger signed is no block of this log', async () => {
  await sealed(500, [2]);
  await run();
  await sealed(500, [2]);
  await tamper(
    `UPDATE activity_block SET signer = decode(repeat('01', 32), 'hex') WHERE chain = 500 AND number = 2`,
  );
  await run();
  expect(await breaksOf(500)).toContainEqual({ kind: 'head', block: 2, entry: '0' });
});

test('what retention removes raises no alarm', async () => {
  await app.database.query(
    `INSERT INTO activity (action, actor_kind, actor_label, organisation_id, object_type, object_id, occurred_at)
     VALUES ('key.created', 'system', 'test', 600, 'key', 'old', now() - interval '6 months')`,
  );
  await sealAll(app);
  await sealed(600, [1]);
  await run();
  expect(await app.application.get(ActivityRetention, { strict: false }).deleteExpired(new Date())).toBe(1);
  await sealed(600, [1]);
  await rounds();
  expect(await breaksOf(600)).toEqual([]);
});

test('an open break is told by the log, the numbers, doctor, the pages, and one mail to each owner', async () => {
  const owner = await addUser(app, 'platform_owner');
  await app.database.query("UPDATE user_account SET email = 'owner@house.example' WHERE id = $1", [owner]);
  const upkeep = app.application.get(RepeatingJobs, { strict: false });
  await upkeep.run('audit-breaks');
  await upkeep.run('audit-breaks');
  await mailTo(app, 'owner@house.example', /does not match its chain/);
  const told = await mails();
  expect(told.filter(({ to }) => to === 'owner@house.example')).toHaveLength(1);
  // The job of the service may have told the owners of before what was found until then.
  expect(told.map(({ text }) => text).join('\n')).toContain('edited: entry');

  expect(app.log.join('')).toContain('the chain of the activity log does not fit');
  expect(await app.application.get(Metrics, { strict: false }).text()).toMatch(
    /^gateway_audit_chain_breaks [1-9]/m,
  );
  expect(await command('doctor')).toMatchObject({
    code: 1,
    output: expect.stringMatching(/fail {2}audit chain: \d+ places do not fit/),
  });
  const cookie = await signIn(app, owner);
  for (const path of ['/dashboard/admin', '/dashboard/admin/audit']) {
    const page = await ask(app.url, { path, headers: { cookie, accept: 'text/html' } });
    expect(page.body).toContain('The audit log does not match its chain.');
  }
});

test('what was examined ends the alarm, with its conclusion on record', async () => {
  const listed = await command('audit:breaks');
  expect(listed).toMatchObject({
    code: 1,
    output: expect.stringMatching(/chain 300: edited: entry \d+, block 2/),
  });
  const newest = /^(\d+) {2}/m.exec(listed.output)?.[1] ?? '';
  expect((await command('audit:breaks', '--examined', newest)).code).toBe(64);
  expect(
    await command('audit:breaks', '--examined', newest, '--conclusion', 'the restore of Monday'),
  ).toMatchObject({
    code: 0,
  });
  expect(await command('audit:breaks')).toMatchObject({
    code: 0,
    output: expect.stringContaining('Nothing is open.'),
  });
  expect((await command('doctor')).output).toContain('audit chain: nothing found that does not fit');
  const [entry] = await app.database.query(
    "SELECT actor_label, reason FROM activity WHERE action = 'log.break-examined'",
  );
  expect(entry).toEqual({ actor_label: 'command line', reason: 'the restore of Monday' });
  expect((await command('audit:breaks', '--examined', newest, '--conclusion', 'again')).code).toBe(1);
});

const mails = async (): Promise<readonly { readonly to: string; readonly text: string }[]> =>
  (await app.application.get(Outbox, { strict: false }).list()).filter(({ subject }) =>
    subject.includes('does not match its chain'),
  );

async function command(...words: string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const code = await executeCommand(words, {
    environment: { ...app.environment },
    write: (text) => (output += text),
    writeStderr: (text) => (output += text),
    confirm: () => Promise.resolve(false),
  });
  return { code, output };
}
