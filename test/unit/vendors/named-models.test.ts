import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FACTS_CHECKED, factsOf } from '../../../src/vendors';

const project = join(__dirname, '../../..');

/** Folders and files from which users copy model names. */
const paths = [
  'README.md',
  'docs',
  'examples',
  'gallery',
  'src/commands',
  'src/catalogue',
  'src/routing/suppliers/sandbox',
];

/** Name pattern of the vendors: a family, then a version. */
const VENDOR_NAME =
  /(?<![\w/.-])(?:claude-(?:(?:opus|sonnet|haiku|fable|mythos|instant)-\d|\d)|(?:chat)?gpt-\d|o[1-9](?=-(?:mini|pro|preview))|gpt-(?:image|audio|realtime)|gemini-\d|deepseek-(?:v?\d|chat|reasoner|flash)|grok-\d|(?:mistral|ministral|magistral|codestral|devstral)-(?:\d|large|medium|small|latest)|command-(?:a|r)|text-embedding|whisper-\d|tts-\d|dall-e)[\w.@:-]*/g;

function* filesIn(path: string): Generator<string> {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path)) yield* filesIn(join(path, entry));
}

/** A full stop can follow a name. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(VENDOR_NAME)].map(([name]) => name.replace(/[.:-]+$/, ''));

/** Ids of price lists are read and not recommended: `hd/1024-x-1792/dall-e-3`. */
const quotedNames: Readonly<Record<string, readonly string[]>> = {
  'src/catalogue/plan/price-list/litellm-pictures.ts': ['dall-e-3'],
};

const isServedToday = (name: string): boolean => {
  const facts = factsOf(name);
  return facts !== null && (facts.ends === undefined || facts.ends >= FACTS_CHECKED);
};

describe('Model names in shipped files', () => {
  it('are of models that are still served', () => {
    const retiredNames = paths
      .flatMap((place) => [...filesIn(join(project, place))])
      .flatMap((file) => {
        const relativePath = file.slice(project.length + 1);
        return namesIn(readFileSync(file, 'utf8'))
          .filter((name) => !quotedNames[relativePath]?.includes(name))
          .map((name) => ({ place: relativePath, name }));
      });
    expect(retiredNames.map(({ name }) => name)).toContain('gpt-6.1-sol');
    expect(retiredNames.filter(({ name }) => !isServedToday(name))).toEqual([]);
  });

  it.each([
    ['the model gpt-4.', ['gpt-4']],
    ['{ model: claude-sonnet-4-5, region: us }', ['claude-sonnet-4-5']],
    ['`claude-3-5-haiku-latest` and o3-mini', ['claude-3-5-haiku-latest', 'o3-mini']],
    ['gemini-2.0-flash: gone', ['gemini-2.0-flash']],
    ['claude-writer, gpt-large, my-gpt-4, --command-line', []],
  ])('are recognised in %p', (text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  it.each(['gpt-4', 'o3-mini', 'gemini-2.0-flash', 'claude-3-5-haiku-latest', 'gpt-image-1'])(
    'are recognised as retired: %p',
    (name) => {
      expect(isServedToday(name)).toBe(false);
    },
  );
});
