import { readFileSync } from 'node:fs';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { serialiseRecord } from '#product/audit';
import { postingKinds, PostgresMoneyStore } from '#product/billing';
import { invoiceAccountOf, parseUsd, uuidv7 } from '#product/kernel';
import { formatTime } from '#product/views';
import { administer } from '../../support/postgres';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;

describe('the ledger and statements', () => {
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
  });
  beforeEach(async () => {
    payer = await house.payer();
  });
  afterAll(async () => {
    await removeInvented();
    await house.close();
  });

  /** Postings of all kinds that nobody made would not agree with the rest of the books. */
  async function removeInvented(): Promise<void> {
    await administer(
      house.app.environment['MIGRATION_DATABASE_URL'] ?? '',
      `SET session_replication_role = replica;
       WITH t AS (DELETE FROM ledger_transaction WHERE ref ~ '^(words of|many) ' OR kind = 'invoice-left' RETURNING id),
       e AS (DELETE FROM ledger_entry e USING t WHERE e.transaction_id = t.id RETURNING e.account_id, e.amount)
       UPDATE spending_window w SET limit_nano = limit_nano - removed.amount
         FROM (SELECT a.owner_id, sum(e.amount) AS amount FROM e JOIN ledger_account a ON a.id = e.account_id
                WHERE a.kind = 'wallet' GROUP BY a.owner_id) AS removed
        WHERE w.kind = 'wallet' AND w.owner_id = removed.owner_id`,
    );
  }

  const get = (path: string, one: Payer = payer): Promise<Response> =>
    fetch(house.app.url + path, { headers: { cookie: one.cookie, accept: 'text/html' }, redirect: 'manual' });
  const text = async (path: string, one: Payer = payer): Promise<string> => (await get(path, one)).text();
  const record = (one: Payer, at: number, costs: readonly bigint[], userIds: readonly number[] = []) =>
    new PostgresMoneyStore(house.app.database).settle({
      lease: null,
      number: 0,
      records: costs.map((costNano, place) => {
        const userId = userIds[place] ?? null;
        return serialiseRecord(uuidv7(), at, ordinaryOutcome({ costNano, walletId: one.userId, userId }));
      }),
      releases: [],
    });

  test('a day of usage bears its day of UTC and postings of a statement their time of UTC, wherever it is read', async () => {
    const east = await house.payer({ timeZone: 'Pacific/Kiritimati' });
    await house.topUp(east, 30);
    await record(east, Date.parse('2020-03-05T12:00:00Z'), [USD]);
    const ledger = await text('/dashboard/billing/ledger', east);
    expect(ledger).toContain('5 Mar 2020');
    expect(ledger).not.toContain('6 Mar 2020');
    const [posted] = await house.rows<{ at: Date }>(
      `SELECT t.created_at AS at FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
         JOIN ledger_transaction t ON t.id = e.transaction_id WHERE a.kind = 'wallet' AND a.owner_id = $1`,
      [east.userId],
    );
    const statement = await text('/dashboard/billing/statements', east);
    expect(statement).toContain('Date (UTC)');
    expect(statement).toContain(formatTime('en', 'UTC', posted?.at ?? new Date(0), 'minute'));
  });

  test('a statement with very many members and postings adds up: the rest stands in lines of its own', async () => {
    const members = Array.from({ length: 203 }, (_, place) => place + 1);
    await record(
      payer,
      Date.now(),
      members.map((member) => USD - BigInt(member)),
      members.map((member) => 1_000_000 + member),
    );
    await house.app.database.transaction((tx) =>
      tx.query(
        `SELECT money_credit($1, 1000000000, 'adjustment', 'adjustment', $2 || n)
           FROM generate_series(1, 1003) n`,
        [payer.userId, `many ${payer.userId} `],
      ),
    );
    const csv = await text('/dashboard/billing/statements/export');
    const lines = csv
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    const sum = (...names: string[]): bigint =>
      lines
        .filter(([line = '']) => names.includes(line))
        .reduce((total, [, , , , amount = '']) => total + parseUsd(amount), 0n);
    const usage = 203n * USD - (203n * 204n) / 2n;
    expect(sum('member', 'other_members')).toBe(-usage);
    expect(lines.filter(([line]) => line === 'member')).toHaveLength(200);
    expect(lines.find(([line]) => line === 'other_members')).toEqual([
      'other_members',
      '',
      '',
      '3',
      '-2.999999394',
      '',
    ]);
    expect(sum('project', 'other_projects')).toBe(-usage);
    expect(lines.find(([line]) => line === 'further_postings')).toEqual([
      'further_postings',
      '',
      'adjustment',
      '3',
      '3',
      '',
    ]);
    expect(sum('opening') + sum('posting', 'further_postings') - usage).toBe(sum('closing'));
    const page = await text('/dashboard/billing/statements');
    for (const shown of ['All others', '3 more']) expect(page).toContain(shown);
    expect((await get('/dashboard/billing/statements/pdf')).status).toBe(200);
  });

  test.each(['en', 'de', 'fr', 'it', 'es'])('every kind of posting has its words in %s', async (language) => {
    const person = await house.payer({ preferredLanguage: language });
    const credit = (account: number, kinds: readonly string[]) =>
      house.app.database.query(
        `SELECT money_credit($1, 1000000000, 'adjustment', kind, $2 || kind) FROM unnest($3::text[]) AS kind`,
        [account, `words of ${account} `, kinds],
      );
    await credit(
      person.userId,
      postingKinds.filter((kind) => kind !== 'invoice-left'),
    );
    // The money that leaves the invoices has to come from there: the books are compared at the end.
    await credit(invoiceAccountOf(person.userId), ['adjustment']);
    await house.app.database.query('SELECT money_leave_invoices($1)', [person.userId]);
    const page = await text('/dashboard/billing/ledger', person);
    const cells = [...page.matchAll(/<td[^>]*>\s*([^<]*?)\s*<\/td>/g)].map(([, cell = '']) => cell);
    const texts = JSON.parse(readFileSync(`locales/${language}.json`, 'utf8')) as {
      billing: { kind: Record<string, string> };
    };
    for (const kind of postingKinds) {
      expect(texts.billing.kind[kind]).toEqual(expect.any(String));
      expect(cells).toContain(texts.billing.kind[kind]);
    }
  });
});
