import { Invoices } from '#product/billing';
import { invoiceAccountOf, parseUsd, uuidv7 } from '#product/kernel';
import { Logger } from '#product/platform';
import { until } from '../../support/until';
import { outcomeOf, expectMoneyToAddUp, MoneyFixture, wallet } from './money-fixture';

/** Two nodes serve a payer billed by invoice. */
let fixture: MoneyFixture;
let invoices: Invoices;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
  invoices = new Invoices(
    fixture.database,
    fixture.ledger,
    fixture.limits,
    Logger.create({ logLevel: 'silent', logFormat: 'json' }),
  );
});
afterAll(() => fixture.close());

const call = parseUsd('0.01');
const setInvoiceLimit = (payer: number, dollars: string) =>
  fixture.database.transaction((tx) =>
    fixture.limits.setCreditLimit(tx, invoiceAccountOf(payer), parseUsd(dollars)),
  );
const balanceOf = async (account: number) => (await fixture.ledger.wallet(account)).balance;

test('a hundred concurrent calls do not exceed an invoice credit of forty, and the wallet is unchanged', async () => {
  const payer = 11;
  await fixture.credit(payer, parseUsd('7'));
  await setInvoiceLimit(payer, '0.4');
  const nodes = [await fixture.node(), await fixture.node()];
  const refs = [wallet(invoiceAccountOf(payer))];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, place) => {
      const hold = await nodes[place % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
      await hold.settle(outcomeOf(call, refs));
    }),
  );
  await until(() => nodes.every((node) => node.pending === 0));
  const servedCount = BigInt(outcomes.filter(({ status }) => status === 'fulfilled').length);
  const codes = outcomes.flatMap((one) =>
    one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
  );
  expect(codes.filter((code) => !['billing_limit_reached', 'capacity_exceeded'].includes(code))).toEqual([]);
  const { owed } = await invoices.state(payer);
  expect([owed, await balanceOf(payer)]).toEqual([servedCount * call, parseUsd('7')]);
  expect(owed <= parseUsd('0.4')).toBe(true);
  await expectMoneyToAddUp(fixture.database);
});

test('switching the billing type while calls settle loses nothing and charges nothing twice', async () => {
  const payer = 12;
  await fixture.credit(payer, parseUsd('50'));
  await setInvoiceLimit(payer, '50');
  const nodes = [await fixture.node(), await fixture.node()];
  let servedCount = 0n;
  const calls = Array.from({ length: 60 }, async (_, place) => {
    const refs = [wallet(place % 3 === 0 ? payer : invoiceAccountOf(payer))];
    const hold = await nodes[place % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
    await hold.settle(outcomeOf(call, refs));
    servedCount += call;
  });
  const typeSwitches = Array.from({ length: 10 }, async () => {
    await fixture.database.transaction((tx) => invoices.moveToWallet(tx, payer));
    await setInvoiceLimit(payer, '50');
  });
  await Promise.allSettled([...calls, ...typeSwitches]);
  await until(() => nodes.every((node) => node.pending === 0));
  await fixture.database.transaction((tx) => invoices.moveToWallet(tx, payer));
  expect(await fixture.database.transaction((tx) => invoices.moveToWallet(tx, payer))).toBe(0n);
  expect([await balanceOf(payer), await balanceOf(invoiceAccountOf(payer))]).toEqual([
    parseUsd('50') - servedCount,
    0n,
  ]);
  await expectMoneyToAddUp(fixture.database);
});
