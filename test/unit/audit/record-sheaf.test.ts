import * as fc from 'fast-check';
import { RecordSheaf } from '../../../src/audit';
import { aRecord, written } from '../billing/a-record';

const hour = 3_600_000;

const record = fc
  .record({
    keyId: fc.constantFrom(null, 1, 2),
    walletId: fc.constantFrom(null, 1, 2),
    projectId: fc.constantFrom(null, 1),
    costNano: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2n ** 60n })),
    createdAt: fc.nat(3).map((hours) => new Date(1_700_000_000_000 + hours * hour)),
    model: fc.string({ unit: 'grapheme', maxLength: 300 }),
  })
  .map((rest) => written(aRecord(rest)));

const owners = ['keyId', 'userId', 'organisationId', 'departmentId', 'projectId', 'walletId'] as const;

function sumsOf(records: Iterable<ReturnType<typeof written>>): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const one of records) {
    const name = [...owners.map((owner) => one[owner]), Math.floor(one.createdMs / hour)].join(' ');
    if (one.costNano > 0n) sums.set(name, (sums.get(name) ?? 0n) + one.costNano);
  }
  return sums;
}

it('gives back every record as it was, and sums them as they are, with or without some', () => {
  const sheaf = new RecordSheaf();
  fc.assert(
    fc.property(fc.array(fc.tuple(record, fc.boolean()), { maxLength: 40, size: 'max' }), (given) => {
      sheaf.clear();
      const records = given.map(([one]) => one);
      const middle = records.length >> 1;
      const texts = [sheaf.add(records.slice(0, middle)), sheaf.add(records.slice(middle))];
      expect(texts.filter((text) => text !== '').join(',')).toBe(records.map(({ text }) => text).join(','));
      expect(sheaf.length).toBe(records.length);
      expect([...sheaf]).toEqual(records);
      expect(records.map((_, place) => sheaf.at(place))).toEqual(records);
      const { cells } = sheaf;
      expect(cells[0]).toBe(1);
      expect(cells.toString('utf8', 1)).toBe(`[${records.map(({ text }) => text).join(',')}]`);
      const without = new Set([...given.keys()].filter((place) => given[place]![1]));
      for (const left of [new Set<number>(), without]) {
        const charges = sheaf.charges(left).map(({ who, hour: at, amount }) => {
          const name = [...owners.map((owner) => who[owner]), at].join(' ');
          return [name, amount] as const;
        });
        const rest = records.filter((_, place) => !left.has(place));
        expect(new Map(charges)).toEqual(sumsOf(rest));
        expect(charges).toHaveLength(new Map(charges).size);
      }
    }),
  );
});
