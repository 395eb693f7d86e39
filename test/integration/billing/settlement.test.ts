import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresMoneyStore, type SettleOutcome } from '#product/billing';
import { FrameBuffer } from '#inside/billing/engine/settlement/journal-frames';
import { journalHeader } from '#inside/billing/engine/settlement/journal-owner';
import { replayJournals } from '#inside/billing/engine/settlement/journal-replay';
import { refusedFile } from '#inside/billing/engine/settlement/refused-records';
import { administer } from '../../support/postgres';
import { serialiseRecord } from '#product/audit';
import type { SettlementRequest, MoneyStore } from '../../../src/billing/engine/store/money-store';
import { uuidv7 } from '#product/kernel';
import { outcomeOf, expectMoneyToAddUp, key, MoneyFixture, wallet } from './money-fixture';
import { until } from '../../support/until';

let fixture: MoneyFixture;
let store: PostgresMoneyStore;
let walletId = 100;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
  store = new PostgresMoneyStore(fixture.database);
});
beforeEach(() => fixture.credit((walletId += 1), 10_000n));
afterEach(() => expectMoneyToAddUp(fixture.database));
afterAll(() => fixture.close());

const recordOf = (outcome: SettleOutcome, requestId: string = uuidv7(), createdMs = Date.now()) =>
  serialiseRecord(requestId, createdMs, outcome);
const balance = async () => (await fixture.ledger.wallet(walletId)).balance;
const countOf = async (requestId: string) =>
  (await fixture.database.query('SELECT FROM request_record WHERE request_id = $1', [requestId])).length;

/** Writes a journal as a killed node leaves it. */
function leaveJournal(folder: string, records: readonly SettleOutcome[], damage = ''): string[] {
  const frames = new FrameBuffer();
  const header = { ...(JSON.parse(journalHeader('dead-node')) as object), pid: 2 ** 22 + 1 };
  frames.add(JSON.stringify(header));
  const writtenRecords = records.map((record) => recordOf(record));
  // Written together, as at the end of one turn of the event loop.
  frames.add(writtenRecords.map(({ text }) => text).join(','));
  mkdirSync(join(folder, 'journal'), { recursive: true });
  const bytes = Buffer.concat([frames.content, Buffer.from(damage)]);
  writeFileSync(join(folder, 'journal', 'dead-node.1.journal'), bytes);
  return writtenRecords.map(({ requestId }) => requestId);
}

test('a node that starts settles the journal of its predecessor once', async () => {
  const folder = fixture.createFolder();
  const ids = leaveJournal(folder, [
    outcomeOf(300n, [wallet(walletId)]),
    outcomeOf(20n, [wallet(walletId), key(7)]),
  ]);
  const journalCopy = readFileSync(join(folder, 'journal', 'dead-node.1.journal'));
  await fixture.node({ dataFolder: folder });
  expect(await balance()).toBe(9_680n);
  expect(await Promise.all(ids.map(countOf))).toEqual([1, 1]);
  writeFileSync(join(folder, 'journal', 'dead-node.2.journal'), journalCopy);
  expect(await replayJournals(join(folder, 'journal'), store)).toMatchObject({ records: 2 });
  expect(await balance()).toBe(9_680n);
});

test('money held by a dead node is released only after its spending is counted', async () => {
  const folder = fixture.createFolder();
  const lease = '00000000-0000-7000-8000-00000000dead';
  await store.beat(lease, 'dead-node', true);
  await store.draw(lease, 1, [{ ref: wallet(walletId), need: 5_000n, want: 5_000n }]);
  leaveJournal(folder, [outcomeOf(4_000n, [wallet(walletId)])]);
  await fixture.node({ dataFolder: folder });
  expect(await fixture.ledger.wallet(walletId)).toMatchObject({ balance: 6_000n, escrowed: 0n });
});

/** Simulates that the node was silent for thirty seconds. */
const expireLease = (node: string) =>
  administer(
    fixture.test.ownerUrl,
    `UPDATE escrow_lease SET expires_at = now() - interval '1 second' WHERE node = '${node}'`,
  );
const createDeadNode = async (node: string, amount: bigint) => {
  const lease = uuidv7();
  await store.beat(lease, node, true, 'elsewhere:/data');
  const [drawn] = await store.draw(lease, 1, [{ ref: wallet(walletId), need: amount, want: amount }]);
  await expireLease(node);
  return { lease, drawn: drawn! };
};

const hasLease = async (node: string) =>
  (await fixture.database.query('SELECT FROM escrow_lease WHERE node = $1', [node])).length > 0;

test('money that a dead node might have spent is unavailable until its journal is read', async () => {
  const folder = fixture.createFolder();
  await createDeadNode('dead-node', 6_000n);
  leaveJournal(folder, [outcomeOf(5_500n, [wallet(walletId)])]);
  const other = await fixture.node({ lease: { beatMs: 20 } });
  const takeHold = (amount: bigint) =>
    other.escrow.hold({ requestId: uuidv7(), amount, refs: [wallet(walletId)] });
  (await takeHold(4_000n)).release();
  await expect(takeHold(5_000n)).rejects.toMatchObject({ code: 'capacity_exceeded' });
  expect(await store.unreadJournals()).toMatchObject([
    { node: 'dead-node', journal: 'elsewhere:/data', held: [{ ref: wallet(walletId), amount: 6_000n }] },
  ]);
  await fixture.node({ dataFolder: folder });
  expect(await store.unreadJournals()).toEqual([]);
  (await takeHold(4_400n)).release();
  expect(await balance()).toBe(4_500n);
});

test('a silent node with a journal keeps its holds', async () => {
  const { lease, drawn } = await createDeadNode('silent', 2_000n);
  expect(await store.sweep()).toBe(0);
  expect(await store.beat(lease, 'silent', false)).toMatchObject({ alive: true });
  await store.giveBack(lease, 2, [{ windowId: drawn.window!.id, amount: drawn.granted! }]);
  expect(await store.sweep('silent')).toBe(1);
});

test('a dead node without a journal or without holds blocks nothing', async () => {
  await store.beat(uuidv7(), 'commits', true, null);
  await store.beat(uuidv7(), 'idle', true, 'elsewhere:/data');
  await Promise.all(['commits', 'idle'].map(expireLease));
  await store.sweep();
  await until(async () => !(await hasLease('commits')) && !(await hasLease('idle')));
});

test('forgetting a lost journal releases its holds, and the journal charges nothing if found later', async () => {
  const folder = fixture.createFolder();
  await createDeadNode('dead-node', 6_000n);
  leaveJournal(folder, [outcomeOf(5_500n, [wallet(walletId)])]);
  const recorded: string[] = [];
  const record = (): Promise<void> => Promise.resolve(void recorded.push('forgotten'));
  expect(await store.forget('dead-node', record)).toBe(true);
  expect(await store.forget('dead-node', record)).toBe(false);
  expect(recorded).toEqual(['forgotten']);
  const node = await fixture.node({ dataFolder: folder });
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10_000n, refs: [wallet(walletId)] });
  hold.release();
  expect(await balance()).toBe(10_000n);
  expect(readdirSync(join(folder, 'journal'))).toContain('dead-node.1.journal.forgotten');
  const [note] = await fixture.database.query<{ held: unknown }>(
    "SELECT held FROM escrow_forgotten WHERE node = 'dead-node'",
  );
  expect(note?.held).toEqual([{ kind: 'wallet', owner_id: walletId, nano_usd: '6000' }]);
  await administer(fixture.test.ownerUrl, "DELETE FROM escrow_forgotten WHERE node = 'dead-node'");
});

test('a node with a valid lease cannot be forgotten', async () => {
  const node = await fixture.node();
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 5n, refs: [wallet(walletId)] });
  const failRecording = (): Promise<void> => Promise.reject(new Error('put on record'));
  expect(await store.forget(node.node, failRecording)).toBe(false);
  hold.release();
});

test('SETTLE_ACK=commit writes no journal, so a dead node leaves none to read', async () => {
  const folder = fixture.createFolder();
  const node = await fixture.node({ dataFolder: folder, acknowledge: 'commit' });
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 5n, refs: [wallet(walletId)] });
  expect(readdirSync(join(folder, 'journal'))).toEqual([]);
  await expireLease(node.node);
  expect(await store.unreadJournals()).toEqual([]);
  await store.sweep();
  await until(async () => !(await hasLease(node.node)));
  hold.release();
});

test('a journal that appears later is read without a restart once its node is dead', async () => {
  const folder = fixture.createFolder();
  await createDeadNode('dead-node', 3_000n);
  await fixture.node({ dataFolder: folder, lease: { beatMs: 20 } });
  leaveJournal(folder, [outcomeOf(2_500n, [wallet(walletId)])]);
  await until(async () => (await balance()) === 7_500n);
  await until(async () => (await fixture.ledger.wallet(walletId)).escrowed === 0n);
});

test('the intact part of a damaged journal is settled, and the damage is reported and kept', async () => {
  const folder = fixture.createFolder();
  leaveJournal(folder, [outcomeOf(1n, [wallet(walletId)]), outcomeOf(2n, [wallet(walletId)])], 'half a fra');
  const report = await replayJournals(join(folder, 'journal'), store);
  expect(report).toMatchObject({
    files: 1,
    records: 2,
    torn: [{ file: expect.stringContaining('dead-node') as string }],
  });
  expect(readdirSync(join(folder, 'journal'))).toEqual(['dead-node.1.journal.torn']);
  expect(await balance()).toBe(9_997n);
});

test('the journal of a running node is left alone', async () => {
  const folder = fixture.createFolder();
  const node = await fixture.node({ dataFolder: folder });
  expect(await replayJournals(join(folder, 'journal'), store)).toMatchObject({ files: 0 });
  expect(readdirSync(join(folder, 'journal'))).toEqual([`${node.node}.1.journal`]);
});

test('repeating a commit whose response was lost has no effect', async () => {
  const lease = uuidv7();
  await store.beat(lease, 'n', true);
  const [drawn] = await store.draw(lease, 1, [{ ref: wallet(walletId), need: 1_000n, want: 1_000n }]);
  const release = { windowId: drawn!.window!.id, amount: 400n };
  const record = recordOf(outcomeOf(400n, [wallet(walletId)]));
  const batch: SettlementRequest = { lease, number: 1, records: [record], releases: [release] };
  expect(await store.settle(batch)).toMatchObject({ known: [] });
  expect(await store.settle(batch)).toMatchObject({ known: [0] });
  expect(await fixture.ledger.wallet(walletId)).toMatchObject({
    spent: 400n,
    escrowed: drawn!.granted! - 400n,
  });
});

test('a duplicate record in a batch is charged once, and one id at two times is charged twice', async () => {
  const outcome = outcomeOf(30n, [wallet(walletId)]);
  const [id, at] = [uuidv7(), Date.now()];
  const [record, later] = [recordOf(outcome, id, at), recordOf(outcome, id, at + 1)];
  const batch = { lease: null, number: 0, releases: [] };
  expect(await store.settle({ ...batch, records: [record, later, record] })).toMatchObject({
    known: [2],
  });
  expect(await countOf(id)).toBe(2);
  expect(await balance()).toBe(9_940n);
  expect(await store.settle({ ...batch, records: [recordOf(outcome), later] })).toMatchObject({
    known: [1],
  });
  expect(await balance()).toBe(9_910n);
});

test('a settlement after the lease was swept is charged and affects no other hold', async () => {
  const node = await fixture.node();
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 500n, refs });
  await store.sweep(node.node);
  const otherNode = await fixture.node();
  await (
    await otherNode.escrow.hold({ requestId: uuidv7(), amount: 9_000n, refs })
  ).settle(outcomeOf(100n, refs));
  await hold.settle(outcomeOf(450n, refs));
  await until(() => node.pending + otherNode.pending === 0);
  expect(await balance()).toBe(9_450n);
});

test('a cost above the hold is charged completely and affects no other hold', async () => {
  const node = await fixture.node();
  const refs = [wallet(walletId)];
  const holds = await Promise.all(
    [100n, 100n, 9_700n].map((amount) => node.escrow.hold({ requestId: uuidv7(), amount, refs })),
  );
  await holds[0]!.settle(outcomeOf(350n, refs));
  await holds[1]!.settle(outcomeOf(100n, refs));
  await holds[2]!.settle(outcomeOf(9_700n, refs));
  await until(() => node.pending === 0);
  expect(await balance()).toBe(-150n);
});

test('a reused request id releases nothing', async () => {
  const node = await fixture.node();
  const refs = [wallet(walletId)];
  const requestId = uuidv7().toUpperCase();
  const holds = await Promise.all(
    Array.from({ length: 20 }, () => node.escrow.hold({ requestId, amount: 10n, refs })),
  );
  await Promise.all(holds.map((hold) => hold.settle(outcomeOf(10n, refs))));
  await until(() => node.pending === 0);
  expect(await balance()).toBe(9_800n);
});

test('a record that the database refuses is set aside, and the others are settled', async () => {
  const folder = fixture.createFolder();
  const node = await fixture.node({ dataFolder: folder });
  const refs = [wallet(walletId)];
  const outcomes = [
    outcomeOf(10n, refs),
    { ...outcomeOf(10n, refs), latencyMs: 2 ** 40 },
    outcomeOf(10n, refs),
  ];
  await Promise.all(
    outcomes.map(async (outcome) => {
      const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
      await hold.settle(outcome);
    }),
  );
  await until(() => node.pending === 0);
  expect(await balance()).toBe(9_980n);
  expect(
    readFileSync(refusedFile(join(folder, 'journal')), 'utf8')
      .trim()
      .split('\n'),
  ).toHaveLength(1);
});

test('a refused record that cannot be stored is charged only once and stored later', async () => {
  const folder = fixture.createFolder();
  const node = await fixture.node({ dataFolder: folder });
  const refs = [wallet(walletId)];
  const settle = async (outcome: SettleOutcome) => {
    const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
    await hold.settle(outcome);
  };
  const badOutcome = { ...outcomeOf(10n, refs), latencyMs: 2 ** 40 };
  const blockingFile = refusedFile(join(folder, 'journal'));
  mkdirSync(blockingFile);
  await Promise.all([outcomeOf(10n, refs), badOutcome, outcomeOf(10n, refs)].map(settle));
  await until(async () => (await balance()) === 9_990n);
  await Promise.all([settle(outcomeOf(10n, refs)), settle(badOutcome)]);
  rmSync(blockingFile, { recursive: true });
  await until(() => node.pending === 0);
  expect(await balance()).toBe(9_970n);
  expect(readFileSync(blockingFile, 'utf8').trim().split('\n')).toHaveLength(2);
});

test('a request with unstorable text is recorded with the invalid characters replaced', async () => {
  const node = await fixture.node({ acknowledge: 'commit' });
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  const invalidText = 'a\0b\ud800c';
  await hold.settle({
    ...outcomeOf(10n, refs),
    model: invalidText,
    finishReason: invalidText.repeat(1_000),
    sessionKey: invalidText,
    dropped: { [invalidText]: 2 },
  });
  const [row] = await fixture.database.query('SELECT * FROM request_record WHERE request_id = $1', [
    hold.requestId,
  ]);
  const replacedText = 'a\ufffdb\ufffdc';
  expect(row).toMatchObject({
    model: replacedText,
    session_key: replacedText,
    dropped: { [replacedText]: 2 },
    cost_nano: '10',
  });
  expect(await balance()).toBe(9_990n);
});

test('SETTLE_ACK=commit makes the response wait for the database', async () => {
  const node = await fixture.node({ acknowledge: 'commit' });
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  await hold.settle(outcomeOf(9n, refs));
  expect(await countOf(hold.requestId)).toBe(1);
  expect(await balance()).toBe(9_991n);
});

test('a batch that fails halfway is rolled back completely', async () => {
  const lease = uuidv7();
  const originalSettle: MoneyStore['settle'] = store.settle.bind(store);
  const record = recordOf(outcomeOf(5n, [wallet(walletId)]));
  const impossibleRecord = {
    lease,
    number: 1,
    records: [record],
    releases: [{ windowId: 'no number', amount: 1n }],
  };
  await expect(originalSettle(impossibleRecord)).rejects.toThrow('invalid input syntax');
  expect(await countOf(record.requestId)).toBe(0);
  expect(await balance()).toBe(10_000n);
});
