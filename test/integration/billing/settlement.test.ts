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
import { costing, expectMoneyToAddUp, key, MoneyHouse, wallet } from './money-support';
import { until } from '../../support/until';

let house: MoneyHouse;
let store: PostgresMoneyStore;
let walletId = 100;
beforeAll(async () => {
  house = await MoneyHouse.open();
  store = new PostgresMoneyStore(house.database);
});
beforeEach(() => house.credit((walletId += 1), 10_000n));
afterEach(() => expectMoneyToAddUp(house.database));
afterAll(() => house.close());

const recordOf = (outcome: SettleOutcome, requestId: string = uuidv7(), createdMs = Date.now()) =>
  serialiseRecord(requestId, createdMs, outcome);
const balance = async () => (await house.ledger.wallet(walletId)).balance;
const countOf = async (requestId: string) =>
  (await house.database.query('SELECT FROM request_record WHERE request_id = $1', [requestId])).length;

/** A journal as a node leaves it that was killed. */
function leaveJournal(folder: string, records: readonly SettleOutcome[], damage = ''): string[] {
  const frames = new FrameBuffer();
  const header = { ...(JSON.parse(journalHeader('dead-node')) as object), pid: 2 ** 22 + 1 };
  frames.add(JSON.stringify(header));
  const all = records.map((record) => recordOf(record));
  // As the end of one turn of the event loop writes them.
  frames.add(all.map(({ text }) => text).join(','));
  mkdirSync(join(folder, 'journal'), { recursive: true });
  const bytes = Buffer.concat([frames.content, Buffer.from(damage)]);
  writeFileSync(join(folder, 'journal', 'dead-node.1.journal'), bytes);
  return all.map(({ requestId }) => requestId);
}

test('a node settles at its start what its predecessor had only journalled, once', async () => {
  const folder = house.folder();
  const ids = leaveJournal(folder, [
    costing(300n, [wallet(walletId)]),
    costing(20n, [wallet(walletId), key(7)]),
  ]);
  const copy = readFileSync(join(folder, 'journal', 'dead-node.1.journal'));
  await house.node({ dataFolder: folder });
  expect(await balance()).toBe(9_680n);
  expect(await Promise.all(ids.map(countOf))).toEqual([1, 1]);
  writeFileSync(join(folder, 'journal', 'dead-node.2.journal'), copy);
  expect(await replayJournals(join(folder, 'journal'), store)).toMatchObject({ records: 2 });
  expect(await balance()).toBe(9_680n);
});

test('what the dead node held is free again only after its spending was counted', async () => {
  const folder = house.folder();
  const lease = '00000000-0000-7000-8000-00000000dead';
  await store.beat(lease, 'dead-node', true);
  await store.draw(lease, 1, [{ ref: wallet(walletId), need: 5_000n, want: 5_000n }]);
  leaveJournal(folder, [costing(4_000n, [wallet(walletId)])]);
  await house.node({ dataFolder: folder });
  expect(await house.ledger.wallet(walletId)).toMatchObject({ balance: 6_000n, escrowed: 0n });
});

/** As if thirty seconds had passed without a word of that node. */
const lapse = (node: string) =>
  administer(
    house.test.ownerUrl,
    `UPDATE escrow_lease SET expires_at = now() - interval '1 second' WHERE node = '${node}'`,
  );
const deadWith = async (node: string, amount: bigint) => {
  const lease = uuidv7();
  await store.beat(lease, node, true, 'elsewhere:/data');
  const [drawn] = await store.draw(lease, 1, [{ ref: wallet(walletId), need: amount, want: amount }]);
  await lapse(node);
  return { lease, drawn: drawn! };
};

const leased = async (node: string) =>
  (await house.database.query('SELECT FROM escrow_lease WHERE node = $1', [node])).length > 0;

test('what a dead node may have journalled belongs to nobody else until its journal was read', async () => {
  const folder = house.folder();
  await deadWith('dead-node', 6_000n);
  leaveJournal(folder, [costing(5_500n, [wallet(walletId)])]);
  const other = await house.node({ lease: { beatMs: 20 } });
  const take = (amount: bigint) =>
    other.escrow.hold({ requestId: uuidv7(), amount, refs: [wallet(walletId)] });
  (await take(4_000n)).release();
  await expect(take(5_000n)).rejects.toMatchObject({ code: 'capacity_exceeded' });
  expect(await store.unreadJournals()).toMatchObject([
    { node: 'dead-node', journal: 'elsewhere:/data', held: [{ ref: wallet(walletId), amount: 6_000n }] },
  ]);
  await house.node({ dataFolder: folder });
  expect(await store.unreadJournals()).toEqual([]);
  (await take(4_400n)).release();
  expect(await balance()).toBe(4_500n);
});

test('a node that was not heard for long loses nothing while it keeps a journal', async () => {
  const { lease, drawn } = await deadWith('silent', 2_000n);
  expect(await store.sweep()).toBe(0);
  expect(await store.beat(lease, 'silent', false)).toMatchObject({ alive: true });
  await store.giveBack(lease, 2, [{ windowId: drawn.window!.id, amount: drawn.granted! }]);
  expect(await store.sweep('silent')).toBe(1);
});

test('a dead node without a journal, or with nothing held, holds up nobody', async () => {
  await store.beat(uuidv7(), 'commits', true, null);
  await store.beat(uuidv7(), 'idle', true, 'elsewhere:/data');
  await Promise.all(['commits', 'idle'].map(lapse));
  await store.sweep();
  await until(async () => !(await leased('commits')) && !(await leased('idle')));
});

test('a journal that was given up frees what was held, and charges nothing when it turns up', async () => {
  const folder = house.folder();
  await deadWith('dead-node', 6_000n);
  leaveJournal(folder, [costing(5_500n, [wallet(walletId)])]);
  const recorded: string[] = [];
  const record = (): Promise<void> => Promise.resolve(void recorded.push('forgotten'));
  expect(await store.forget('dead-node', record)).toBe(true);
  expect(await store.forget('dead-node', record)).toBe(false);
  expect(recorded).toEqual(['forgotten']);
  const node = await house.node({ dataFolder: folder });
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10_000n, refs: [wallet(walletId)] });
  hold.release();
  expect(await balance()).toBe(10_000n);
  expect(readdirSync(join(folder, 'journal'))).toContain('dead-node.1.journal.forgotten');
  const [note] = await house.database.query<{ held: unknown }>(
    "SELECT held FROM escrow_forgotten WHERE node = 'dead-node'",
  );
  expect(note?.held).toEqual([{ kind: 'wallet', owner_id: walletId, nano_usd: '6000' }]);
  await administer(house.test.ownerUrl, "DELETE FROM escrow_forgotten WHERE node = 'dead-node'");
});

test('a node whose lease runs cannot be given up', async () => {
  const node = await house.node();
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 5n, refs: [wallet(walletId)] });
  const never = (): Promise<void> => Promise.reject(new Error('put on record'));
  expect(await store.forget(node.node, never)).toBe(false);
  hold.release();
});

test('with SETTLE_ACK=commit nothing is journalled, so nothing is left to be read', async () => {
  const folder = house.folder();
  const node = await house.node({ dataFolder: folder, acknowledge: 'commit' });
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 5n, refs: [wallet(walletId)] });
  expect(readdirSync(join(folder, 'journal'))).toEqual([]);
  await lapse(node.node);
  expect(await store.unreadJournals()).toEqual([]);
  await store.sweep();
  await until(async () => !(await leased(node.node)));
  hold.release();
});

test('a journal that appears later is read once its node is dead, without a start', async () => {
  const folder = house.folder();
  await deadWith('dead-node', 3_000n);
  await house.node({ dataFolder: folder, lease: { beatMs: 20 } });
  leaveJournal(folder, [costing(2_500n, [wallet(walletId)])]);
  await until(async () => (await balance()) === 7_500n);
  await until(async () => (await house.ledger.wallet(walletId)).escrowed === 0n);
});

test('a torn journal: everything before the damage is settled, the damage is reported and kept', async () => {
  const folder = house.folder();
  leaveJournal(folder, [costing(1n, [wallet(walletId)]), costing(2n, [wallet(walletId)])], 'half a fra');
  const report = await replayJournals(join(folder, 'journal'), store);
  expect(report).toMatchObject({
    files: 1,
    records: 2,
    torn: [{ file: expect.stringContaining('dead-node') as string }],
  });
  expect(readdirSync(join(folder, 'journal'))).toEqual(['dead-node.1.journal.torn']);
  expect(await balance()).toBe(9_997n);
});

test('the journal of a node that still runs is left alone', async () => {
  const folder = house.folder();
  const node = await house.node({ dataFolder: folder });
  expect(await replayJournals(join(folder, 'journal'), store)).toMatchObject({ files: 0 });
  expect(readdirSync(join(folder, 'journal'))).toEqual([`${node.node}.1.journal`]);
});

test('a commit whose answer was lost is repeated without effect', async () => {
  const lease = uuidv7();
  await store.beat(lease, 'n', true);
  const [drawn] = await store.draw(lease, 1, [{ ref: wallet(walletId), need: 1_000n, want: 1_000n }]);
  const release = { windowId: drawn!.window!.id, amount: 400n };
  const record = recordOf(costing(400n, [wallet(walletId)]));
  const batch: SettlementRequest = { lease, number: 1, records: [record], releases: [release] };
  expect(await store.settle(batch)).toMatchObject({ known: [] });
  expect(await store.settle(batch)).toMatchObject({ known: [0] });
  expect(await house.ledger.wallet(walletId)).toMatchObject({
    spent: 400n,
    escrowed: drawn!.granted! - 400n,
  });
});

test('a record that a batch holds twice is charged once, two of one id at two times are both', async () => {
  const outcome = costing(30n, [wallet(walletId)]);
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

test('a settlement after the lease was swept is charged, and takes nothing from others', async () => {
  const node = await house.node();
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 500n, refs });
  await store.sweep(node.node);
  const other = await house.node();
  await (await other.escrow.hold({ requestId: uuidv7(), amount: 9_000n, refs })).settle(costing(100n, refs));
  await hold.settle(costing(450n, refs));
  await until(() => node.pending + other.pending === 0);
  expect(await balance()).toBe(9_450n);
});

test('a cost above the hold is charged in full and spoils no other hold', async () => {
  const node = await house.node();
  const refs = [wallet(walletId)];
  const holds = await Promise.all(
    [100n, 100n, 9_700n].map((amount) => node.escrow.hold({ requestId: uuidv7(), amount, refs })),
  );
  await holds[0]!.settle(costing(350n, refs));
  await holds[1]!.settle(costing(100n, refs));
  await holds[2]!.settle(costing(9_700n, refs));
  await until(() => node.pending === 0);
  expect(await balance()).toBe(-150n);
});

test('a request id that is used again makes nothing free', async () => {
  const node = await house.node();
  const refs = [wallet(walletId)];
  const requestId = uuidv7().toUpperCase();
  const holds = await Promise.all(
    Array.from({ length: 20 }, () => node.escrow.hold({ requestId, amount: 10n, refs })),
  );
  await Promise.all(holds.map((hold) => hold.settle(costing(10n, refs))));
  await until(() => node.pending === 0);
  expect(await balance()).toBe(9_800n);
});

test('a record that the database will not take is set aside, and the others are settled', async () => {
  const folder = house.folder();
  const node = await house.node({ dataFolder: folder });
  const refs = [wallet(walletId)];
  const outcomes = [costing(10n, refs), { ...costing(10n, refs), latencyMs: 2 ** 40 }, costing(10n, refs)];
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

test('a record that cannot even be set aside charges nobody twice, and goes when it can', async () => {
  const folder = house.folder();
  const node = await house.node({ dataFolder: folder });
  const refs = [wallet(walletId)];
  const settle = async (outcome: SettleOutcome) => {
    const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
    await hold.settle(outcome);
  };
  const bad = { ...costing(10n, refs), latencyMs: 2 ** 40 };
  const inTheWay = refusedFile(join(folder, 'journal'));
  mkdirSync(inTheWay);
  await Promise.all([costing(10n, refs), bad, costing(10n, refs)].map(settle));
  await until(async () => (await balance()) === 9_990n);
  await Promise.all([settle(costing(10n, refs)), settle(bad)]);
  rmSync(inTheWay, { recursive: true });
  await until(() => node.pending === 0);
  expect(await balance()).toBe(9_970n);
  expect(readFileSync(inTheWay, 'utf8').trim().split('\n')).toHaveLength(2);
});

test('no text makes a request go unrecorded: what cannot be stored is stored as nearly as it can', async () => {
  const node = await house.node({ acknowledge: 'commit' });
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  const odd = 'a\0b\ud800c';
  await hold.settle({
    ...costing(10n, refs),
    model: odd,
    finishReason: odd.repeat(1_000),
    sessionKey: odd,
    dropped: { [odd]: 2 },
  });
  const [row] = await house.database.query('SELECT * FROM request_record WHERE request_id = $1', [
    hold.requestId,
  ]);
  const near = 'a\ufffdb\ufffdc';
  expect(row).toMatchObject({ model: near, session_key: near, dropped: { [near]: 2 }, cost_nano: '10' });
  expect(await balance()).toBe(9_990n);
});

test('with SETTLE_ACK=commit the answer waits for the database', async () => {
  const node = await house.node({ acknowledge: 'commit' });
  const refs = [wallet(walletId)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  await hold.settle(costing(9n, refs));
  expect(await countOf(hold.requestId)).toBe(1);
  expect(await balance()).toBe(9_991n);
});

test('a batch that fails half way leaves nothing of itself', async () => {
  const lease = uuidv7();
  const broken: MoneyStore['settle'] = store.settle.bind(store);
  const record = recordOf(costing(5n, [wallet(walletId)]));
  const impossible = {
    lease,
    number: 1,
    records: [record],
    releases: [{ windowId: 'no number', amount: 1n }],
  };
  await expect(broken(impossible)).rejects.toThrow('invalid input syntax');
  expect(await countOf(record.requestId)).toBe(0);
  expect(await balance()).toBe(10_000n);
});
