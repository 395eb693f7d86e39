import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { factsOf, isEnded, laneFacts } from '../../../src/vendors';

/** Ids of the types that the SDKs of OpenAI and Anthropic export; `npm pack` of a newer version gives the next list. */
const sdks = JSON.parse(
  readFileSync(join(__dirname, '../../fixtures/vendors/sdk-models.json'), 'utf8'),
) as Record<string, Record<string, string[]>>;
const ids = Object.values(sdks).flatMap((types) => Object.values(types).flat());

describe('model ids of the SDK types', () => {
  test('are all in the table of facts, or ended', () => {
    expect(ids).toContain('gpt-6.2-astra');
    expect(ids).toContain('claude-opus-5-5');
    expect(ids.filter((id) => factsOf(id) === null && !isEnded(id))).toEqual([]);
  });

  test('are not both known and ended', () => {
    expect(ids.filter((id) => factsOf(id) !== null && isEnded(id))).toEqual([]);
  });

  test.each(['gpt-6-astra', 'gpt-6.2-astra', 'gpt-6.1-sol', 'gpt-6.2-sol', 'gpt-6.1-terra'])(
    '%s takes no tools on /chat/completions',
    (id) => {
      expect(factsOf(id)?.chat).toBe('tools-refused');
      expect(factsOf(id)?.thinking?.efforts).toEqual(expect.arrayContaining(['low', 'max']));
    },
  );
});

describe('assumed facts', () => {
  test('say how a model is called, and nothing that lowers a hold', () => {
    const facts = laneFacts('gpt-7-nova', {}, 'openai');
    expect(facts).toMatchObject({ known: null, assumed: 'gpt-6.2-astra', chat: 'tools-refused' });
    for (const name of ['window', 'maxOutput', 'pictures', 'longContext', 'ends'])
      expect(facts).not.toHaveProperty(name);
  });

  test('give way to what the operator says', () => {
    const facts = laneFacts('claude-opus-7', { window: 400_000, prefill: true }, 'anthropic');
    expect(facts).toMatchObject({ window: 400_000, prefill: true, assumed: 'claude-opus-5-5' });
  });

  test('are those of the base model for a fine-tuned one', () => {
    expect(laneFacts('ft:gpt-5.5:acme::1', {}, 'openai').assumed).toBe('gpt-5.5');
  });

  test.each(['o1', 'ft:gpt-3.5-turbo:acme::1'])('are not made for %s, which has ended', (name) => {
    expect(laneFacts(name, {}, 'openai')).toEqual({ known: null });
  });

  test('are not made without a vendor', () => {
    expect(laneFacts('gpt-7-nova', {})).toEqual({ known: null });
  });
});
