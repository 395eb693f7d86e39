/**
 * Recomputes every charge from the suppliers' reports and the price list, and compares it with the records, limits,
 * wallets and ledger. An independent program: it shares only the database with the service. Prints one JSON line a
 * check.
 */
import { readFileSync } from 'node:fs';
import type { CallSeen, Evidence, SupplierRequest } from '../evidence';
import { add, type Books, readBooks, type RecordRow } from './books';
import { check } from './check';
import { type Expected, expectedOf } from './expected';
import { nanoOf } from './price';

interface Audited {
  readonly call: CallSeen;
  readonly asked: readonly SupplierRequest[];
  readonly expected: Expected | null;
  readonly record: RecordRow | undefined;
}

const MARK = /call-(\d{7})/;

async function journalOf({ journalUrl }: Evidence): Promise<Map<number, SupplierRequest[]>> {
  const answer = await fetch(`${journalUrl}/requests`);
  const { requests } = (await answer.json()) as { requests: SupplierRequest[] };
  const byCall = new Map<number, SupplierRequest[]>();
  for (const request of requests) {
    const number = Number(MARK.exec(request.rawBody ?? '')?.[1]);
    byCall.set(number, [...(byCall.get(number) ?? []), request]);
  }
  return byCall;
}

const nameOf = ({ number, dialect, model, form }: CallSeen): string =>
  `${number} ${dialect} ${model} ${form}`;

function checkCalls(audited: readonly Audited[], books: Books): void {
  const answered = audited.filter(({ call }) => call.status === 200);
  const twice = books.records.length - new Set(books.records.map((record) => record.request_id)).size;
  check('a call that was answered is on record once, and a refused one costs nothing', audited.length, [
    ...audited
      .filter(({ call, record }) => (call.status === 200 ? !record : BigInt(record?.cost_nano ?? 0) > 0n))
      .map(({ call }) => `${nameOf(call)} ${call.status}`),
    ...(twice === 0 ? [] : [`${twice} on record twice`]),
  ]);
  check(
    'its charge is what its supplier reported, at the listed price, to the nano-dollar',
    answered.length,
    answered.flatMap(({ call, expected, record }) =>
      expected !== null && record !== undefined && BigInt(record.cost_nano) === expected.cost
        ? []
        : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
    ),
  );
  check(
    'and so are its tokens, each counted in one place',
    answered.length,
    answered.flatMap(({ call, expected, record }) => (sameTokens(expected, record) ? [] : [nameOf(call)])),
  );
  const told = answered.filter(({ call }) => call.toldUsd !== null);
  check(
    'what the caller was told it cost',
    told.length,
    told.flatMap(({ call, record }) =>
      record !== undefined && nanoOf(call.toldUsd ?? '') === BigInt(record.cost_nano) ? [] : [nameOf(call)],
    ),
  );
}

function sameTokens(expected: Expected | null, record: RecordRow | undefined): boolean {
  if (expected === null || record === undefined) return false;
  const { used } = expected;
  return (
    record.input_tokens === used.input &&
    record.output_tokens === used.output &&
    record.cache_read_tokens === used.cacheRead &&
    record.cache_write_tokens === used.cacheWrite &&
    record.reasoning_tokens === used.reasoning
  );
}

/** The charge of a call that was streamed is that of its twin, wherever both were served alike. */
function checkTwins(audited: readonly Audited[]): void {
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

function checkEnds(audited: readonly Audited[]): void {
  const ends: readonly [form: CallSeen['form'], what: string][] = [
    ['cut', 'broken off by the supplier: what came of its report, else input and delivered text'],
    ['left', 'broken off by the caller: the same rule'],
    ['unfinished', 'without a terminator: the same rule'],
  ];
  for (const [form, what] of ends) {
    const some = audited.filter(({ call }) => call.form === form && call.status === 200);
    check(
      what,
      some.length,
      some.flatMap(({ call, expected, record }) =>
        record !== undefined &&
        expected?.delivered.textBytes === call.textBytes &&
        BigInt(record.cost_nano) === expected.cost
          ? []
          : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
      ),
    );
  }
}

/** A gate rewrote these requests: each is priced by the bytes that a supplier got. */
function checkRewritten(audited: readonly Audited[]): void {
  const rewritten = audited.filter(({ call }) => call.hidden !== null && call.status === 200);
  const isKept = ({ call, asked, record }: Audited): boolean =>
    asked.every(({ rawBody }) => rawBody?.includes(call.hidden!) === false) &&
    record?.gates?.some(({ verdict }) => verdict === 'rewrite') === true;
  check(
    'rewritten by a gate: no supplier got what it took out, and its record says so',
    rewritten.length,
    rewritten.flatMap((one) => (isKept(one) ? [] : [nameOf(one.call)])),
  );
  for (const [isReported, what] of [
    [true, 'and it costs what its supplier reported for what was sent'],
    [false, 'or, without a report, what the bytes come to that were sent'],
  ] as const) {
    const some = rewritten.filter(({ record }) => (record?.usage_source === 'supplier') === isReported);
    check(
      what,
      some.length,
      some.flatMap(({ call, expected, record }) =>
        BigInt(record?.cost_nano ?? 0) === expected?.cost
          ? []
          : [`${nameOf(call)}: ${record?.cost_nano ?? 'none'}, not ${expected?.cost ?? 'known'}`],
      ),
    );
  }
}

function checkRoutes(audited: readonly Audited[]): void {
  const served = audited.filter(({ call, record }) => call.status === 200 && record !== undefined);
  check(
    'charged is the supplier that answered',
    served.length,
    served.flatMap(({ call, expected, record }) =>
      record?.supplier === expected?.supplier ? [] : [nameOf(call)],
    ),
  );
  const continued = served.filter(({ expected }) => expected?.continued === true);
  check(
    'one that another supplier brought to its end is charged once, at the price of that one',
    continued.length,
    continued.flatMap(({ call, expected, record }) =>
      BigInt(record?.cost_nano ?? 0) === expected?.cost ? [] : [nameOf(call)],
    ),
  );
  const second = served.filter(({ expected }) => (expected?.tries ?? 0) > 1);
  check(
    'failover is on record where a supplier was asked before',
    second.length,
    second.flatMap(({ call, record }) => (record?.failover === true ? [] : [nameOf(call)])),
  );
}

/** Every sum again, from the recomputed charges and from what was set up: whose a key is and who pays. */
function checkSums(audited: readonly Audited[], evidence: Evidence, books: Books): void {
  const spent = new Map<string, bigint>();
  const paid = new Map<number, bigint>();
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
      if (id !== null) add(spent, `${kind} ${id}`, expected.cost);
    }
    paid.set(owner.payerId, (paid.get(owner.payerId) ?? 0n) + expected.cost);
  }
  for (const kinds of [['key'], ['user', 'organisation', 'department', 'project'], ['wallet']]) {
    const limits = [...books.spent].filter(([name]) => kinds.includes(name.split(' ')[0] ?? ''));
    check(
      `spent of every ${kinds.join(', ')}`,
      limits.length,
      limits.flatMap(([name, found]) =>
        found === (spent.get(name) ?? 0n) ? [] : [`${name}: ${found}, not ${spent.get(name) ?? 0n}`],
      ),
    );
  }
  checkLedger(paid, evidence, books);
  const total = [...paid.values()].reduce((sum, amount) => sum + amount, 0n);
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
  paid: ReadonlyMap<number, bigint>,
  { wallets }: Evidence,
  { entries, records }: Books,
): void {
  const balances = new Map<string, bigint>();
  const transactions = new Map<string, bigint>();
  const settled = new Map<string, bigint>();
  for (const { account, owner_id: owner, amount, transaction_id: id, transaction } of entries) {
    if (account === 'wallet') add(balances, owner, BigInt(amount));
    add(transactions, id, BigInt(amount));
    if (account === 'usage' && transaction === 'settlement') add(settled, id, BigInt(amount));
  }
  check(
    'every wallet holds what was paid in less what its calls cost',
    Object.keys(wallets).length,
    Object.entries(wallets).flatMap(([wallet, paidIn]) => {
      const due = BigInt(paidIn) - (paid.get(Number(wallet)) ?? 0n);
      return balances.get(wallet) === due
        ? []
        : [`wallet ${wallet}: ${balances.get(wallet) ?? 0n}, not ${due}`];
    }),
  );
  check(
    'every transaction of the ledger is zero',
    transactions.size,
    [...transactions].filter(([, sum]) => sum !== 0n).map(([id, sum]) => `${id}: ${sum}`),
  );
  const recorded = new Map<string, bigint>();
  for (const { settlement_id: id, cost_nano: cost } of records)
    if (id !== null) add(recorded, id, BigInt(cost));
  check(
    'every settlement is the sum of its records',
    settled.size,
    [...settled].filter(([id, sum]) => recorded.get(id) !== sum).map(([id]) => id),
  );
}

async function main(): Promise<void> {
  const evidence = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Evidence;
  const journal = await journalOf(evidence);
  const books = await readBooks(evidence.databaseUrl);
  const byId = Map.groupBy(books.records, (record) => record.request_id);
  const audited: Audited[] = [];
  for (const call of evidence.calls) {
    const asked = journal.get(call.number) ?? [];
    const expected = await expectedOf(call, asked, evidence);
    const [record] = byId.get(call.requestId) ?? [];
    audited.push({ call, asked, expected, record });
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
