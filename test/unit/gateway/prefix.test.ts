import fc from 'fast-check';
import { DeliveredPrefix } from '../../../src/gateway/relay/prefix';
import type { CanonicalEvent } from '../../../src/protocol';

type ReplyBlock = { kind: 'text' | 'reasoning' | 'tool'; text: string };

/** Returns the events of a response, its texts in pieces of the given size. */
function eventsOf(blocks: readonly ReplyBlock[], size: number): CanonicalEvent[] {
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

const textOf = (events: readonly CanonicalEvent[]): string =>
  events.map((event) => ('text' in event ? event.text : '')).join('');

const blocks = fc.array(
  fc.record<ReplyBlock>({
    kind: fc.constantFrom('text', 'reasoning', 'tool'),
    text: fc.string({ minLength: 1, maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 4 },
);
const size = fc.integer({ min: 1, max: 9 });

test('repeated response resumes exactly where it was interrupted, however it is cut', () => {
  fc.assert(
    fc.property(blocks, size, size, fc.nat(), (answer, first, second, place) => {
      const allEvents = eventsOf(answer, first);
      const delivered = allEvents.slice(0, 1 + (place % (allEvents.length - 1)));
      const prefix = new DeliveredPrefix(delivered);
      const comparisons = eventsOf(answer, second).map((event) => prefix.compare(event));
      expect(comparisons).not.toContain('differs');
      const newEvents = comparisons.filter((event) => typeof event !== 'string');
      expect(textOf(delivered) + textOf(newEvents)).toBe(textOf(allEvents));
      expect(newEvents.filter(({ type }) => type === 'message-end')).toHaveLength(1);
      // Everything that was opened is closed once, by either of the two.
      for (const type of ['text', 'reasoning', 'tool'] as const) {
        const count = (suffix: string): number =>
          [...delivered, ...newEvents].filter((event) => event.type === `${type}-${suffix}`).length;
        expect(count('end')).toBe(count('start'));
      }
    }),
  );
});

test('response that differs from the delivered part is rejected', () => {
  fc.assert(
    fc.property(blocks, size, size, fc.nat(), (answer, first, second, place) => {
      const texts = answer.map(({ text }) => text).join('');
      const position = place % texts.length;
      let passedLength = 0;
      const changedAnswer = answer.map(({ kind, text }) => {
        const ownPosition = position - passedLength;
        passedLength += text.length;
        return ownPosition < 0 || ownPosition >= text.length
          ? { kind, text }
          : {
              kind,
              text: `${text.slice(0, ownPosition)}${text[ownPosition] === 'x' ? 'y' : 'x'}${text.slice(ownPosition + 1)}`,
            };
      });
      const prefix = new DeliveredPrefix(eventsOf(answer, first).slice(0, -1));
      expect(eventsOf(changedAnswer, second).map((event) => prefix.compare(event))).toContain('differs');
    }),
  );
});

test('response that ends earlier than the delivered part is rejected', () => {
  const delivered = eventsOf([{ kind: 'text', text: 'hello there' }], 3).slice(0, -2);
  const prefix = new DeliveredPrefix(delivered);
  expect(eventsOf([{ kind: 'text', text: 'hello' }], 3).map((event) => prefix.compare(event))).toContain(
    'differs',
  );
});
