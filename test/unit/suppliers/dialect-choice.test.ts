import type { LaneView } from '../../../src/catalogue';
import { NO_NEEDS, SupplierStyles, type WireNeeds } from '../../../src/routing';
import { laneFacts, type Wire } from '../../../src/vendors';

const styles = new SupplierStyles();
const laneOf = (upstreamModel: string, wire: Wire | null = null, profile = 'openai'): LaneView =>
  ({
    upstreamModel,
    wire,
    facts: laneFacts(upstreamModel, {}),
    provider: { id: 1, name: 'p', style: 'openai-style', settings: { profile } },
  }) as unknown as LaneView;

const tools: WireNeeds = { tools: true, effort: null, thinks: false };
const withEffort = (effort: string, more = tools): WireNeeds => ({ ...more, effort, thinks: true });

describe('Dialect of a request', () => {
  test.each([
    ['messages', 'gpt-5.4', tools, 'responses'],
    ['messages', 'gpt-5.4', NO_NEEDS, 'chat'],
    ['messages', 'gpt-5.4', { ...NO_NEEDS, thinks: true }, 'responses'],
    ['messages', 'gpt-4o', tools, 'chat'],
    ['messages', 'gpt-5.5-pro', NO_NEEDS, 'responses'],
    ['chat', 'gpt-5.5-pro', NO_NEEDS, 'responses'],
    ['chat', 'gpt-5.5', tools, 'chat'],
    ['chat', 'gpt-5.5', withEffort('high'), 'responses'],
    ['chat', 'gpt-5.5', withEffort('none'), 'chat'],
    ['chat', 'gpt-5.6', tools, 'responses'],
    ['chat', 'gpt-5.6', withEffort('none'), 'chat'],
    ['chat', 'gpt-5.6', withEffort('max', NO_NEEDS), 'responses'],
    ['chat', 'gpt-6-astra', tools, 'responses'],
    ['chat', 'gpt-6-astra', NO_NEEDS, 'chat'],
    ['chat', 'an-unknown-model', withEffort('high'), 'chat'],
    ['messages', 'an-unknown-model', tools, 'chat'],
    ['responses', 'gpt-4o', NO_NEEDS, 'responses'],
    ['embeddings', 'text-embedding-3-small', NO_NEEDS, 'embeddings'],
  ] as const)('dialect of %s to %s with %j is %s', (operation, model, needs, wire) => {
    expect(styles.wireFor(laneOf(model), operation, needs)).toBe(wire);
    if (operation !== 'embeddings')
      expect(styles.wireFor(laneOf(model, null, 'azure'), operation, needs)).toBe(wire);
  });

  test("is the operator's choice if there is one", () => {
    for (const operation of ['chat', 'messages', 'responses'] as const)
      for (const wire of ['chat', 'responses'] as const)
        expect(styles.wireFor(laneOf('gpt-5.5-pro', wire), operation, tools)).toBe(wire);
    expect(styles.wireFor(laneOf('text-embedding-3-small', 'chat'), 'embeddings', NO_NEEDS)).toBe(
      'embeddings',
    );
  });

  test('dialect is chat for a supplier with chat only', () => {
    expect(styles.wireFor(laneOf('gpt-5.5-pro', 'responses', 'generic'), 'messages', tools)).toBe('chat');
  });
});
