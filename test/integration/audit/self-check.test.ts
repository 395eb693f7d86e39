import fc from 'fast-check';
import { ActivityLog, ActivityRetention, ChainReview, type ReviewSummary, systemActor } from '#product/audit';
import { executeCommand } from '#inside/commands/run-command';
import { Metrics, Outbox, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { addUser, signIn } from '../../support/users';
import { administer } from '../../support/postgres';
import { mailTo } from '../accounts/account-fixture';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let review: ChainReview;

beforeAll(async () => {
  app = await startTestApp({ environment: { ACTIVITY_RETENTION_MONTHS: '2' } });
  review = app.application.get(ChainReview, { strict: false });
});
afterAll(() => app.close());

const runReview = (entries?: number): Promise<ReviewSummary> =>
  review.review(AbortSignal.timeout(30_000), entries);

/** Reviews new entries once and every chain twice; returns the number of breaks. */
const reviewTwice = async (): Promise<number> => (await runReview()).breaks + (await runReview()).breaks;

/** Seals blocks of these sizes in the chain of an organisation. */
async function sealBlocks(organisationId: number, sizes: readonly number[]): Promise<string[]> {
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

/** Changes rows outside the service, as the owner of the tables could. */
const changeAsOwner = (statement: string): Promise<void> =>
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
const reviewedUntil = async (chain: number): Promise<number> => {
  const [row] = await app.database.query<{ number: string }>(
    'SELECT number FROM audit_check WHERE chain = $1',
    [chain],
  );
  return Number(row?.number ?? 0);
};

test('runs of any size check every chain to its end and raise no alarm for valid chains', async () => {
  let chain = 100;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 12 }),
      async (sizes, budget) => {
        chain += 1;
        await sealBlocks(chain, sizes);
        let runs = 0;
        for (let complete = false; !complete; runs += 1) complete = (await runReview(budget)).isComplete;
        expect(await reviewedUntil(chain)).toBe(sizes.length);
        expect(runs).toBeGreaterThanOrEqual(1);
      },
    ),
    { numRuns: 8 },
  );
  expect(await reviewTwice()).toBe(0);
  expect(await app.database.query('SELECT FROM audit_break')).toEqual([]);
});

test('a run without new entries rechecks older ones from where it stopped', async () => {
  await sealBlocks(200, [3, 3, 3]);
  await runReview();
  const recheckFrom = async (): Promise<number> => {
    const [row] = await app.database.query<{ number: string }>(
      'SELECT again_number AS number FROM audit_check WHERE chain = 200',
    );
    return Number(row?.number);
  };
  await app.database.query("UPDATE audit_check SET again_at = 'epoch', again_number = 0 WHERE chain = 200");
  await runReview(1);
  expect(await recheckFrom()).toBeGreaterThan(0);
});

interface ChainDamage {
  readonly name: string;
  readonly statement: (ids: readonly string[], chain: number) => string;
  readonly kind: string;
  /** Break reported for blocks that were never checked; null if only external copies can reveal it. */
  readonly kindUnseen?: string | null;
}

const block = (set: string, number: number) => (_: readonly string[], chain: number) =>
  `UPDATE activity_block SET ${set} WHERE chain = ${chain} AND number = ${number}`;

const chainDamages: readonly ChainDamage[] = [
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
    // Detected through the anchor in the data folder.
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
])('Damage %s', (_, isChecked) => {
  test.each(chainDamages)('is reported once: $name', async ({ name, statement, kind, kindUnseen = kind }) => {
    const chain = 300 + chainDamages.findIndex((harm) => harm.name === name) + (isChecked ? 100 : 0);
    const ids = await sealBlocks(chain, [3, 3, 3]);
    const expected = isChecked ? kind : kindUnseen;
    if (isChecked) await runReview();
    await changeAsOwner(statement(ids, chain));
    await reviewTwice();
    // A new block makes the service compare the chain with its anchor.
    await sealBlocks(chain, [1]);
    const foundBreaks = (await breaksOf(chain)) as { kind: string; entry: string }[];
    if (expected === null) return;
    expect(foundBreaks.map((each) => each.kind)).toContain(expected);
    if (kind === 'edited' || kind === 'missing')
      expect(foundBreaks).toEqual([{ kind, block: 2, entry: String(ids[4]) }]);
    await reviewTwice();
    expect(await reviewTwice()).toBe(0);
    const entries = await app.database.query(
      "SELECT FROM activity WHERE action = 'log.break-found' AND object_label = $1",
      [`the chain of organisation ${chain}`],
    );
    expect(entries.length).toBeGreaterThan(0);
  });
});

test('a block signed with an unknown key is rejected', async () => {
  await sealBlocks(500, [2]);
  await runReview();
  await sealBlocks(500, [2]);
  await changeAsOwner(
    `UPDATE activity_block SET signer = decode(repeat('01', 32), 'hex') WHERE chain = 500 AND number = 2`,
  );
  await runReview();
  expect(await breaksOf(500)).toContainEqual({ kind: 'head', block: 2, entry: '0' });
});

test('entries removed by retention raise no alarm', async () => {
  await app.database.query(
    `INSERT INTO activity (action, actor_kind, actor_label, organisation_id, object_type, object_id, occurred_at)
     VALUES ('key.created', 'system', 'test', 600, 'key', 'old', now() - interval '6 months')`,
  );
  await sealAll(app);
  await sealBlocks(600, [1]);
  await runReview();
  expect(await app.application.get(ActivityRetention, { strict: false }).deleteExpired(new Date())).toBe(1);
  await sealBlocks(600, [1]);
  await reviewTwice();
  expect(await breaksOf(600)).toEqual([]);
});

test('an open break is reported in the log, metrics, doctor, pages and one email per owner', async () => {
  const owner = await addUser(app, 'platform_owner');
  await app.database.query("UPDATE user_account SET email = 'owner@house.example' WHERE id = $1", [owner]);
  const jobs = app.application.get(RepeatingJobs, { strict: false });
  await jobs.run('audit-breaks');
  await jobs.run('audit-breaks');
  await mailTo(app, 'owner@house.example', /does not match its chain/);
  const sentMails = await listMails();
  expect(sentMails.filter(({ to }) => to === 'owner@house.example')).toHaveLength(1);
  // The scheduled job might already have reported earlier breaks to the owners.
  expect(sentMails.map(({ text }) => text).join('\n')).toContain('edited: entry');

  expect(app.log.join('')).toContain('the chain of the activity log does not fit');
  expect(await app.application.get(Metrics, { strict: false }).text()).toMatch(
    /^gateway_audit_chain_breaks [1-9]/m,
  );
  expect(await runCommand('doctor')).toMatchObject({
    code: 1,
    output: expect.stringMatching(/fail {2}audit chain: \d+ places do not fit/),
  });
  const cookie = await signIn(app, owner);
  for (const path of ['/dashboard/admin', '/dashboard/admin/audit']) {
    const page = await sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } });
    expect(page.body).toContain('The audit log does not match its chain.');
  }
});

test('examining a break ends the alarm and logs the conclusion', async () => {
  const breaksResult = await runCommand('audit:breaks');
  expect(breaksResult).toMatchObject({
    code: 1,
    output: expect.stringMatching(/chain 300: edited: entry \d+, block 2/),
  });
  const newestBreak = /^(\d+) {2}/m.exec(breaksResult.output)?.[1] ?? '';
  expect((await runCommand('audit:breaks', '--examined', newestBreak)).code).toBe(64);
  expect(
    await runCommand('audit:breaks', '--examined', newestBreak, '--conclusion', 'the restore of Monday'),
  ).toMatchObject({
    code: 0,
  });
  expect(await runCommand('audit:breaks')).toMatchObject({
    code: 0,
    output: expect.stringContaining('Nothing is open.'),
  });
  expect((await runCommand('doctor')).output).toContain('audit chain: nothing found that does not fit');
  const [entry] = await app.database.query(
    "SELECT actor_label, reason FROM activity WHERE action = 'log.break-examined'",
  );
  expect(entry).toEqual({ actor_label: 'command line', reason: 'the restore of Monday' });
  expect((await runCommand('audit:breaks', '--examined', newestBreak, '--conclusion', 'again')).code).toBe(1);
});

const listMails = async (): Promise<readonly { readonly to: string; readonly text: string }[]> =>
  (await app.application.get(Outbox, { strict: false }).list()).filter(({ subject }) =>
    subject.includes('does not match its chain'),
  );

async function runCommand(...words: string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const code = await executeCommand(words, {
    environment: { ...app.environment },
    write: (text) => (output += text),
    writeStderr: (text) => (output += text),
    confirm: () => Promise.resolve(false),
  });
  return { code, output };
}
