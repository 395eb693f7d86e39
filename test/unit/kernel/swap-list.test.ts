import * as fc from 'fast-check';
import { type SwapListMember, SwapList } from '../../../src/kernel';

class ListMember implements SwapListMember {
  index = -1;
}

it('contains what was added and not removed, like a set', () => {
  const member = fc.nat({ max: 19 });
  const move = fc.record({ comes: fc.boolean(), who: member });
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
      const members = Array.from({ length: 20 }, () => new ListMember());
      const list = new SwapList<ListMember>();
      const model = new Set<ListMember>();
      for (const { comes, who } of moves) {
        const member = members[who]!;
        if (comes && model.has(member)) continue;
        if (comes) {
          list.add(member);
          model.add(member);
        } else {
          list.remove(member);
          model.delete(member);
        }
        expect(list.size).toBe(model.size);
        expect(new Set(list.all())).toEqual(model);
      }
    }),
  );
});

it('allows members to be removed while a copy is iterated', () => {
  const list = new SwapList<ListMember>();
  for (let count = 0; count < 10; count += 1) list.add(new ListMember());
  for (const member of list.all()) list.remove(member);
  expect(list.size).toBe(0);
});
