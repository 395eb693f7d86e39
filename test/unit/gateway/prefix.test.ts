import fc from 'fast-check';
import { DeliveredPrefix } from '../../../src/gateway/relay/prefix';
import type { CanonicalEvent } from '../../../src/protocol';

type Piece = { kind: 'text' | 'reasoning' | 'tool'; text: string };

/** The events of an answer, its texts in pieces of the given size. */
function eventsOf(blocks: readonly Piece[], size: number): CanonicalEvent[] {
  const events: CanonicalEvent[] = [{ type: 'message-start', id: 'm', model: 'm' }];
  let tools = 0;
  for (const { kind, text } of blocks) {
    const pieces = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
    const index = tools;
    if (kind === 'tool') {
      tools += 1;
      events.push({ type: 'tool-start', index, id: `call-${size}-${index}`, name: 'look' });
      for (const piece of pieces) events.push({ type: 'tool-arguments-delta', index, text: piece });
      events.push({ type: 'tool-end', index });
    } else {
      events.push({ type: `${kind}-start` });
      for (const piece of pieces) events.push({ type: `${kind}-delta`, text: piece });
      events.push({ type: `${kind}-end` });
    }
  }
  events.push({ type: 'message-end', finish: { unified: 'stop', raw: null } });
  return events;
}

const textIn = (events: readonly CanonicalEvent[]): string =>
  events.map((event) => ('text' in event ? event.text : '')).join('');

const blocks = fc.array(
  fc.record<Piece>({
    kind: fc.constantFrom('text', 'reasoning', 'tool'),
    text: fc.string({ minLength: 1, maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 4 },
);
const size = fc.integer({ min: 1, max: 9 });

test('an answer that is repeated goes on exactly where it broke off, however it is cut', () => {
  fc.assert(
    fc.property(blocks, size, size, fc.nat(), (answer, first, second, place) => {
      const all = eventsOf(answer, first);
      const delivered = all.slice(0, 1 + (place % (all.length - 1)));
      const prefix = new DeliveredPrefix(delivered);
      const compared = eventsOf(answer, second).map((event) => prefix.compare(event));
      expect(compared).not.toContain('differs');
      const fresh = compared.filter((event) => typeof event !== 'string');
      expect(textIn(delivered) + textIn(fresh)).toBe(textIn(all));
      expect(fresh.filter(({ type }) => type === 'message-end')).toHaveLength(1);
      // Everything that was opened is closed once, by whichever of the two.
      for (const type of ['text', 'reasoning', 'tool'] as const) {
        const count = (suffix: string): number =>
          [...delivered, ...fresh].filter((event) => event.type === `${type}-${suffix}`).length;
        expect(count('end')).toBe(count('start'));
      }
    }),
  );
});

test('an answer that differs in what was delivered is never taken', () => {
  fc.assert(
    fc.property(blocks, size, size, fc.nat(), (answer, first, second, place) => {
      const texts = answer.map(({ text }) => text).join('');
      const at = place % texts.length;
      let passed = 0;
      const changed = answer.map(({ kind, text }) => {
        const own = at - passed;
        passed += text.length;
        return own < 0 || own >= text.length
          ? { kind, text }
          : { kind, text: `${text.slice(0, own)}${text[own] === 'x' ? 'y' : 'x'}${text.slice(own + 1)}` };
      });
      const prefix = new DeliveredPrefix(eventsOf(answer, first).slice(0, -1));
      expect(eventsOf(changed, second).map((event) => prefix.compare(event))).toContain('differs');
    }),
  );
});

test('an answer that ends sooner is not the same', () => {
  const delivered = eventsOf([{ kind: 'text', text: 'hello there' }], 3).slice(0, -2);
  const prefix = new DeliveredPrefix(delivered);
  expect(eventsOf([{ kind: 'text', text: 'hello' }], 3).map((event) => prefix.compare(event))).toContain(
    'differs',
  );
});
