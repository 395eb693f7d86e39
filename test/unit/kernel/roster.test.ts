import * as fc from 'fast-check';
import { type Listed, Roster } from '../../../src/kernel';

class Guest implements Listed {
  index = -1;
}

it('holds whoever came and has not left, like a set', () => {
  const guest = fc.nat({ max: 19 });
  const move = fc.record({ comes: fc.boolean(), who: guest });
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
      const guests = Array.from({ length: 20 }, () => new Guest());
      const roster = new Roster<Guest>();
      const model = new Set<Guest>();
      for (const { comes, who } of moves) {
        const member = guests[who]!;
        if (comes && model.has(member)) continue;
        if (comes) {
          roster.add(member);
          model.add(member);
        } else {
          roster.remove(member);
          model.delete(member);
        }
        expect(roster.size).toBe(model.size);
        expect(new Set(roster.all())).toEqual(model);
      }
    }),
  );
});

it('lets everybody leave while they are being told', () => {
  const roster = new Roster<Guest>();
  for (let count = 0; count < 10; count += 1) roster.add(new Guest());
  for (const guest of roster.all()) roster.remove(guest);
  expect(roster.size).toBe(0);
});
