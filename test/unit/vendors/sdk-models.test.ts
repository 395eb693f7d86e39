import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { factsOf, isEnded, laneFacts } from '../../../src/vendors';

/**
 * Ids of the types that the SDKs of OpenAI and Anthropic export; `npm pack` of a newer version yields the next list.
 */
const sdks = JSON.parse(
  readFileSync(join(__dirname, '../../fixtures/vendors/sdk-models.json'), 'utf8'),
) as Record<string, Record<string, string[]>>;
const ids = Object.values(sdks).flatMap((types) => Object.values(types).flat());

describe('Model ids of the SDK types', () => {
  test('are all listed in the facts or as retired', () => {
    expect(ids).toContain('gpt-6.2-astra');
    expect(ids).toContain('claude-opus-5-5');
    expect(ids.filter((id) => factsOf(id) === null && !isEnded(id))).toEqual([]);
  });

  test('are never both listed and retired', () => {
    expect(ids.filter((id) => factsOf(id) !== null && isEnded(id))).toEqual([]);
  });

  test.each(['gpt-6-astra', 'gpt-6.2-astra', 'gpt-6.1-sol', 'gpt-6.2-sol', 'gpt-6.1-terra'])(
    '%s supports no tools on /chat/completions',
    (id) => {
      expect(factsOf(id)?.chat).toBe('tools-refused');
      expect(factsOf(id)?.thinking?.efforts).toEqual(expect.arrayContaining(['low', 'max']));
    },
  );
});

describe('Assumed facts', () => {
  test('describe how to call a model without lowering a hold', () => {
    const facts = laneFacts('gpt-7-nova', {}, 'openai');
    expect(facts).toMatchObject({ known: null, assumed: 'gpt-6.2-astra', chat: 'tools-refused' });
    for (const name of ['window', 'maxOutput', 'pictures', 'longContext', 'ends'])
      expect(facts).not.toHaveProperty(name);
  });

  test("are overridden by the operator's settings", () => {
    const facts = laneFacts('claude-opus-7', { window: 400_000, prefill: true }, 'anthropic');
    expect(facts).toMatchObject({ window: 400_000, prefill: true, assumed: 'claude-opus-5-5' });
  });

  test('facts of a fine-tuned model are those of its base model', () => {
    expect(laneFacts('ft:gpt-5.5:acme::1', {}, 'openai').assumed).toBe('gpt-5.5');
  });

  test.each(['o1', 'ft:gpt-3.5-turbo:acme::1'])('do not exist for the retired model %s', (name) => {
    expect(laneFacts(name, {}, 'openai')).toEqual({ known: null });
  });

  test('do not exist without a vendor', () => {
    expect(laneFacts('gpt-7-nova', {})).toEqual({ known: null });
  });
});
