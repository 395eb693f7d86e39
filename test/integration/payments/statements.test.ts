import { readFileSync } from 'node:fs';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { serialiseRecord } from '#product/audit';
import { postingKinds, PostgresMoneyStore } from '#product/billing';
import { invoiceAccountOf, parseUsd, uuidv7 } from '#product/kernel';
import { formatTime } from '#product/views';
import { administer } from '../../support/postgres';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;

describe('Ledger and statements', () => {
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  beforeEach(async () => {
    payer = await fixture.payer();
  });
  afterAll(async () => {
    await removeInventedPostings();
    await fixture.close();
  });

  /** Removes the invented postings, which would violate the ledger's invariants. */
  async function removeInventedPostings(): Promise<void> {
    await administer(
      fixture.app.environment['MIGRATION_DATABASE_URL'] ?? '',
      `SET session_replication_role = replica;
       WITH t AS (DELETE FROM ledger_transaction WHERE ref ~ '^(words of|many) ' OR kind = 'invoice-left' RETURNING id),
       e AS (DELETE FROM ledger_entry e USING t WHERE e.transaction_id = t.id RETURNING e.account_id, e.amount)
       UPDATE spending_window w SET limit_nano = limit_nano - removed.amount
         FROM (SELECT a.owner_id, sum(e.amount) AS amount FROM e JOIN ledger_account a ON a.id = e.account_id
                WHERE a.kind = 'wallet' GROUP BY a.owner_id) AS removed
        WHERE w.kind = 'wallet' AND w.owner_id = removed.owner_id`,
    );
  }

  const get = (path: string, reader: Payer = payer): Promise<Response> =>
    fetch(fixture.app.url + path, {
      headers: { cookie: reader.cookie, accept: 'text/html' },
      redirect: 'manual',
    });
  const text = async (path: string, one: Payer = payer): Promise<string> => (await get(path, one)).text();
  const recordCosts = (owner: Payer, at: number, costs: readonly bigint[], userIds: readonly number[] = []) =>
    new PostgresMoneyStore(fixture.app.database).settle({
      lease: null,
      number: 0,
      records: costs.map((costNano, place) => {
        const userId = userIds[place] ?? null;
        return serialiseRecord(uuidv7(), at, ordinaryOutcome({ costNano, walletId: owner.userId, userId }));
      }),
      releases: [],
    });

  test("usage days are UTC days and statement postings show UTC times, in every reader's time zone", async () => {
    const easternPayer = await fixture.payer({ timeZone: 'Pacific/Kiritimati' });
    await fixture.topUp(easternPayer, 30);
    await recordCosts(easternPayer, Date.parse('2020-03-05T12:00:00Z'), [USD]);
    const ledger = await text('/dashboard/billing/ledger', easternPayer);
    expect(ledger).toContain('5 Mar 2020');
    expect(ledger).not.toContain('6 Mar 2020');
    const [posted] = await fixture.rows<{ at: Date }>(
      `SELECT t.created_at AS at FROM ledger_account a JOIN ledger_entry e ON e.account_id = a.id
         JOIN ledger_transaction t ON t.id = e.transaction_id WHERE a.kind = 'wallet' AND a.owner_id = $1`,
      [easternPayer.userId],
    );
    const statement = await text('/dashboard/billing/statements', easternPayer);
    expect(statement).toContain('Date (UTC)');
    expect(statement).toContain(formatTime('en', 'UTC', posted?.at ?? new Date(0), 'minute'));
  });

  test('a statement with very many members and postings adds up, with the remainder in summary lines', async () => {
    const members = Array.from({ length: 203 }, (_, place) => place + 1);
    await recordCosts(
      payer,
      Date.now(),
      members.map((member) => USD - BigInt(member)),
      members.map((member) => 1_000_000 + member),
    );
    await fixture.app.database.transaction((tx) =>
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
    for (const expectedText of ['All others', '3 more']) expect(page).toContain(expectedText);
    expect((await get('/dashboard/billing/statements/pdf')).status).toBe(200);
  });

  test.each(['en', 'de', 'fr', 'it', 'es'])('every posting kind has a label in %s', async (language) => {
    const person = await fixture.payer({ preferredLanguage: language });
    const credit = (account: number, kinds: readonly string[]) =>
      fixture.app.database.query(
        `SELECT money_credit($1, 1000000000, 'adjustment', kind, $2 || kind) FROM unnest($3::text[]) AS kind`,
        [account, `words of ${account} `, kinds],
      );
    await credit(
      person.userId,
      postingKinds.filter((kind) => kind !== 'invoice-left'),
    );
    // Funds for the invoice postings, because the ledger is verified at the end.
    await credit(invoiceAccountOf(person.userId), ['adjustment']);
    await fixture.app.database.query('SELECT money_leave_invoices($1)', [person.userId]);
    const page = await text('/dashboard/billing/ledger', person);
    const cells = [...page.matchAll(/<td[^>]*>\s*([^<]*?)\s*<\/td>/g)].map(([, cell = '']) => cell);
    const translations = JSON.parse(readFileSync(`locales/${language}.json`, 'utf8')) as {
      billing: { kind: Record<string, string> };
    };
    for (const kind of postingKinds) {
      expect(translations.billing.kind[kind]).toEqual(expect.any(String));
      expect(cells).toContain(translations.billing.kind[kind]);
    }
  });
});
