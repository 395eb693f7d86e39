/**
 * Recomputes every charge from the suppliers' reports and the price list, and compares it with the records, limits,
 * wallets and ledger. An independent program that shares only the database with the service; prints one JSON line per
 * check.
 */
import { readFileSync } from 'node:fs';
import type { CallSeen, Evidence, JournalRequest } from '../evidence';
import { add, type AuditedBooks, readBooks, type RequestRecordRow } from './books';
import { check } from './check';
import { type ExpectedCharge, expectedOf } from './expected';
import { nanoOf } from './price';

interface AuditedCall {
  readonly call: CallSeen;
  readonly supplierRequests: readonly JournalRequest[];
  readonly expected: ExpectedCharge | null;
  readonly record: RequestRecordRow | undefined;
}

const CALL_MARK = /call-(\d{7})/;

async function journalOf({ journalUrl }: Evidence): Promise<Map<number, JournalRequest[]>> {
  const answer = await fetch(`${journalUrl}/requests`);
  const { requests } = (await answer.json()) as { requests: JournalRequest[] };
  const byCall = new Map<number, JournalRequest[]>();
  for (const request of requests) {
    const number = Number(CALL_MARK.exec(request.rawBody ?? '')?.[1]);
    byCall.set(number, [...(byCall.get(number) ?? []), request]);
  }
  return byCall;
}

const nameOf = ({ number, dialect, model, form }: CallSeen): string =>
  `${number} ${dialect} ${model} ${form}`;

function checkCalls(audited: readonly AuditedCall[], books: AuditedBooks): void {
  const answeredCalls = audited.filter(({ call }) => call.status === 200);
  const duplicates = books.records.length - new Set(books.records.map((record) => record.request_id)).size;
  check('a call that was answered is on record once, and a refused one costs nothing', audited.length, [
    ...audited
      .filter(({ call, record }) => (call.status === 200 ? !record : BigInt(record?.cost_nano ?? 0) > 0n))
      .map(({ call }) => `${nameOf(call)} ${call.status}`),
    ...(duplicates === 0 ? [] : [`${duplicates} on record twice`]),
  ]);
  check(
    'its charge is what its supplier reported, at the listed price, to the nano-dollar',
    answeredCalls.length,
    answeredCalls.flatMap(({ call, expected, record }) =>
      expected !== null && record !== undefined && BigInt(record.cost_nano) === expected.cost
        ? []
        : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
    ),
  );
  check(
    'and so are its tokens, each counted in one place',
    answeredCalls.length,
    answeredCalls.flatMap(({ call, expected, record }) =>
      hasSameTokens(expected, record) ? [] : [nameOf(call)],
    ),
  );
  const pricedCalls = answeredCalls.filter(({ call }) => call.toldUsd !== null);
  check(
    'what the caller was told it cost',
    pricedCalls.length,
    pricedCalls.flatMap(({ call, record }) =>
      record !== undefined && nanoOf(call.toldUsd ?? '') === BigInt(record.cost_nano) ? [] : [nameOf(call)],
    ),
  );
}

function hasSameTokens(expected: ExpectedCharge | null, record: RequestRecordRow | undefined): boolean {
  if (expected === null || record === undefined) return false;
  const { usage: used } = expected;
  return (
    record.input_tokens === used.input &&
    record.output_tokens === used.output &&
    record.cache_read_tokens === used.cacheRead &&
    record.cache_write_tokens === used.cacheWrite &&
    record.reasoning_tokens === used.reasoning
  );
}

/** The charge of a streamed call equals that of its non-streaming twin if both were served alike. */
function checkTwins(audited: readonly AuditedCall[]): void {
  const twins = Map.groupBy(audited, ({ call }) => call.twin);
  const pairs = [...twins.values()].filter(
    ([one, other]) =>
      one?.record !== undefined &&
      other?.record !== undefined &&
      one.record.supplier === other.record.supplier &&
      one.call.ended &&
      other.call.ended &&
      one.record.usage_source === 'supplier',
  );
  check(
    'streamed costs what the same costs not streamed',
    pairs.length,
    pairs.flatMap(([one, other]) =>
      one !== undefined && one.record?.cost_nano === other?.record?.cost_nano ? [] : [nameOf(one!.call)],
    ),
  );
}

function checkEnds(audited: readonly AuditedCall[]): void {
  const ends: readonly [form: CallSeen['form'], what: string][] = [
    ['cut', 'broken off by the supplier: what came of its report, else input and delivered text'],
    ['left', 'broken off by the caller: the same rule'],
    ['unfinished', 'without a terminator: the same rule'],
  ];
  for (const [form, what] of ends) {
    const callsOfForm = audited.filter(({ call }) => call.form === form && call.status === 200);
    check(
      what,
      callsOfForm.length,
      callsOfForm.flatMap(({ call, expected, record }) =>
        record !== undefined &&
        expected?.delivered.textBytes === call.textBytes &&
        BigInt(record.cost_nano) === expected.cost
          ? []
          : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
      ),
    );
  }
}

/** A gate rewrote these requests; each is priced by the bytes that a supplier received. */
function checkRewritten(audited: readonly AuditedCall[]): void {
  const rewritten = audited.filter(({ call }) => call.hidden !== null && call.status === 200);
  const isUnchanged = ({ call, supplierRequests: asked, record }: AuditedCall): boolean =>
    asked.every(({ rawBody }) => rawBody?.includes(call.hidden!) === false) &&
    record?.gates?.some(({ verdict }) => verdict === 'rewrite') === true;
  check(
    'rewritten by a gate: no supplier got what it took out, and its record says so',
    rewritten.length,
    rewritten.flatMap((one) => (isUnchanged(one) ? [] : [nameOf(one.call)])),
  );
  for (const [isReported, what] of [
    [true, 'and it costs what its supplier reported for what was sent'],
    [false, 'or, without a report, what the bytes come to that were sent'],
  ] as const) {
    const callsOfSource = rewritten.filter(
      ({ record }) => (record?.usage_source === 'supplier') === isReported,
    );
    check(
      what,
      callsOfSource.length,
      callsOfSource.flatMap(({ call, expected, record }) =>
        BigInt(record?.cost_nano ?? 0) === expected?.cost
          ? []
          : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
      ),
    );
  }
}

function checkRoutes(audited: readonly AuditedCall[]): void {
  const servedCalls = audited.filter(({ call, record }) => call.status === 200 && record !== undefined);
  check(
    'charged is the supplier that answered',
    servedCalls.length,
    servedCalls.flatMap(({ call, expected, record }) =>
      record?.supplier === expected?.supplier ? [] : [nameOf(call)],
    ),
  );
  const continued = servedCalls.filter(({ expected }) => expected?.continued === true);
  check(
    'one that another supplier brought to its end is charged once, at the price of that one',
    continued.length,
    continued.flatMap(({ call, expected, record }) =>
      BigInt(record?.cost_nano ?? 0) === expected?.cost ? [] : [nameOf(call)],
    ),
  );
  const secondAttempts = servedCalls.filter(({ expected }) => (expected?.tries ?? 0) > 1);
  check(
    'failover is on record where a supplier was asked before',
    secondAttempts.length,
    secondAttempts.flatMap(({ call, record }) => (record?.failover === true ? [] : [nameOf(call)])),
  );
}

/** Recomputes every sum from the recomputed charges and the configured owners and payers of keys. */
function checkSums(audited: readonly AuditedCall[], evidence: Evidence, books: AuditedBooks): void {
  const spentByOwner = new Map<string, bigint>();
  const paidByWallet = new Map<number, bigint>();
  for (const { call, expected } of audited) {
    const owner = evidence.keys.find(({ key }) => key === call.key);
    if (owner === undefined || expected === null || call.status !== 200) continue;
    for (const [kind, id] of [
      ['key', owner.keyId],
      ['user', owner.userId],
      ['organisation', owner.organisationId],
      ['department', owner.departmentId],
      ['project', owner.projectId],
      ['wallet', owner.payerId],
    ] as const) {
      if (id !== null) add(spentByOwner, `${kind} ${id}`, expected.cost);
    }
    paidByWallet.set(owner.payerId, (paidByWallet.get(owner.payerId) ?? 0n) + expected.cost);
  }
  for (const kinds of [['key'], ['user', 'organisation', 'department', 'project'], ['wallet']]) {
    const limits = [...books.spentByOwner].filter(([name]) => kinds.includes(name.split(' ')[0] ?? ''));
    check(
      `spent of every ${kinds.join(', ')}`,
      limits.length,
      limits.flatMap(([name, found]) =>
        found === (spentByOwner.get(name) ?? 0n)
          ? []
          : [`${name}: ${found}, not ${spentByOwner.get(name) ?? 0n}`],
      ),
    );
  }
  checkLedger(paidByWallet, evidence, books);
  const total = [...paidByWallet.values()].reduce((sum, amount) => sum + amount, 0n);
  check('nothing is left set aside', 1, books.escrowed === 0n ? [] : [`${books.escrowed} nano-dollars`]);
  const usage = books.entries
    .filter(({ account }) => account === 'usage')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  check(
    `the ledger earned what all calls cost together, ${total} nano-dollars`,
    1,
    usage === total ? [] : [`${usage} nano-dollars`],
  );
}

function checkLedger(
  paidByWallet: ReadonlyMap<number, bigint>,
  { wallets }: Evidence,
  { entries, records }: AuditedBooks,
): void {
  const balances = new Map<string, bigint>();
  const transactions = new Map<string, bigint>();
  const settledByCall = new Map<string, bigint>();
  for (const { account, owner_id: owner, amount, transaction_id: id, transaction } of entries) {
    if (account === 'wallet') add(balances, owner, BigInt(amount));
    add(transactions, id, BigInt(amount));
    if (account === 'usage' && transaction === 'settlement') add(settledByCall, id, BigInt(amount));
  }
  check(
    'every wallet holds what was paid in less what its calls cost',
    Object.keys(wallets).length,
    Object.entries(wallets).flatMap(([wallet, paidIn]) => {
      const expectedBalance = BigInt(paidIn) - (paidByWallet.get(Number(wallet)) ?? 0n);
      return balances.get(wallet) === expectedBalance
        ? []
        : [`wallet ${wallet}: ${balances.get(wallet) ?? 0n}, not ${expectedBalance}`];
    }),
  );
  check(
    'every transaction of the ledger is zero',
    transactions.size,
    [...transactions].filter(([, sum]) => sum !== 0n).map(([id, sum]) => `${id}: ${sum}`),
  );
  const recordedByCall = new Map<string, bigint>();
  for (const { settlement_id: id, cost_nano: cost } of records)
    if (id !== null) add(recordedByCall, id, BigInt(cost));
  check(
    'every settlement is the sum of its records',
    settledByCall.size,
    [...settledByCall].filter(([id, sum]) => recordedByCall.get(id) !== sum).map(([id]) => id),
  );
}

async function main(): Promise<void> {
  const evidence = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Evidence;
  const journal = await journalOf(evidence);
  const books = await readBooks(evidence.databaseUrl);
  const byId = Map.groupBy(books.records, (record) => record.request_id);
  const audited: AuditedCall[] = [];
  for (const call of evidence.calls) {
    const supplierRequests = journal.get(call.number) ?? [];
    const expected = await expectedOf(call, supplierRequests, evidence);
    const [record] = byId.get(call.requestId) ?? [];
    audited.push({ call, supplierRequests, expected, record });
  }
  checkCalls(audited, books);
  checkTwins(audited);
  checkEnds(audited);
  checkRewritten(audited);
  checkRoutes(audited);
  checkSums(audited, evidence, books);
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
