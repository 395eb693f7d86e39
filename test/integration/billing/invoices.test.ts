import { Invoices } from '#product/billing';
import { invoiceAccountOf, parseUsd, uuidv7 } from '#product/kernel';
import { Logger } from '#product/platform';
import { until } from '../../support/until';
import { costing, expectMoneyToAddUp, MoneyHouse, wallet } from './money-support';

/** Two nodes serve a payer who is billed by invoice. */
let house: MoneyHouse;
let invoices: Invoices;
beforeAll(async () => {
  house = await MoneyHouse.open();
  invoices = new Invoices(
    house.database,
    house.ledger,
    house.limits,
    Logger.create({ logLevel: 'silent', logFormat: 'json' }),
  );
});
afterAll(() => house.close());

const call = parseUsd('0.01');
const mayOwe = (payer: number, dollars: string) =>
  house.database.transaction((tx) =>
    house.limits.setCreditLimit(tx, invoiceAccountOf(payer), parseUsd(dollars)),
  );
const balanceOf = async (account: number) => (await house.ledger.wallet(account)).balance;

test('a hundred calls at once on a credit of forty: no more is owed, and the wallet is untouched', async () => {
  const payer = 11;
  await house.credit(payer, parseUsd('7'));
  await mayOwe(payer, '0.4');
  const nodes = [await house.node(), await house.node()];
  const refs = [wallet(invoiceAccountOf(payer))];
  const answers = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, place) => {
      const hold = await nodes[place % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
      await hold.settle(costing(call, refs));
    }),
  );
  await until(() => nodes.every((node) => node.pending === 0));
  const served = BigInt(answers.filter(({ status }) => status === 'fulfilled').length);
  const codes = answers.flatMap((one) =>
    one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
  );
  expect(codes.filter((code) => !['billing_limit_reached', 'capacity_exceeded'].includes(code))).toEqual([]);
  const { owed } = await invoices.state(payer);
  expect([owed, await balanceOf(payer)]).toEqual([served * call, parseUsd('7')]);
  expect(owed <= parseUsd('0.4')).toBe(true);
  await expectMoneyToAddUp(house.database);
});

test('a type that is switched to and fro while calls settle: nothing is lost or counted twice', async () => {
  const payer = 12;
  await house.credit(payer, parseUsd('50'));
  await mayOwe(payer, '50');
  const nodes = [await house.node(), await house.node()];
  let served = 0n;
  const calls = Array.from({ length: 60 }, async (_, place) => {
    const refs = [wallet(place % 3 === 0 ? payer : invoiceAccountOf(payer))];
    const hold = await nodes[place % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
    await hold.settle(costing(call, refs));
    served += call;
  });
  const switches = Array.from({ length: 10 }, async () => {
    await house.database.transaction((tx) => invoices.moveToWallet(tx, payer));
    await mayOwe(payer, '50');
  });
  await Promise.allSettled([...calls, ...switches]);
  await until(() => nodes.every((node) => node.pending === 0));
  await house.database.transaction((tx) => invoices.moveToWallet(tx, payer));
  expect(await house.database.transaction((tx) => invoices.moveToWallet(tx, payer))).toBe(0n);
  expect([await balanceOf(payer), await balanceOf(invoiceAccountOf(payer))]).toEqual([
    parseUsd('50') - served,
    0n,
  ]);
  await expectMoneyToAddUp(house.database);
});
