import * as fc from 'fast-check';
import { limitRefs } from '../../../src/billing';
import { ChargeTotals } from '../../../src/billing/engine/store/charge-totals';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';

const hour = 3_600_000;

const record = fc
  .record({
    keyId: fc.constantFrom(null, 1, 2),
    walletId: fc.constantFrom(null, 1, 2),
    projectId: fc.constantFrom(null, 1),
    costNano: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2n ** 50n })),
    createdAt: fc.nat(3).map((hours) => new Date(1_700_000_000_000 + hours * hour)),
  })
  .map((rest) => toWrittenRecord(createRecord(rest)));

it('charges every scope and wallet with the exact cost of its records per hour', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40, size: 'max' }), (records) => {
      const sheet = new ChargeTotals(records, new Map([1, 2].map((wallet) => [wallet, BigInt(wallet * 10)])));
      const charges = new Map<string, bigint>();
      const wallets = new Map<number, bigint>();
      for (const chargedRecord of records.filter(({ costNano }) => costNano > 0n)) {
        const at = new Date(Math.floor(chargedRecord.createdMs / hour) * hour).toISOString();
        for (const { kind, id } of limitRefs(chargedRecord)) {
          const name = `${kind} ${id} ${at}`;
          charges.set(name, (charges.get(name) ?? 0n) + chargedRecord.costNano);
        }
        if (chargedRecord.walletId !== null)
          wallets.set(
            chargedRecord.walletId,
            (wallets.get(chargedRecord.walletId) ?? 0n) + chargedRecord.costNano,
          );
      }
      const names = sheet.kinds.map((kind, index) => `${kind} ${sheet.owners[index]} ${sheet.hours[index]}`);
      expect(new Map(names.map((name, index) => [name, BigInt(sheet.amounts[index]!)]))).toEqual(charges);
      expect(names).toHaveLength(charges.size);
      expect(new Map(sheet.wallets.map((wallet, index) => [wallet, BigInt(sheet.sums[index]!)]))).toEqual(
        wallets,
      );
      expect(sheet.settlements).toEqual(sheet.wallets.map((wallet) => String(wallet * 10)));
    }),
  );
});
