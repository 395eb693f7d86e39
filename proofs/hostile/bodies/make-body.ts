import { steeringFields } from '#product/routing';
import type { SeededRandom } from '../../../test/system/seeded-random';

/** A member in its written form: the name as the text between the quotation marks, the value as JSON. */
interface BodyMember {
  name: string;
  value: string;
}

export type ComparedRoute =
  'chat' | 'messages' | 'responses' | 'native' | 'completions' | 'embeddings' | 'rerank';

const question = '[{"role":"user","content":"Hello"}]';
const bases: Readonly<Record<ComparedRoute, readonly (readonly [string, string])[]>> = {
  chat: [['messages', question], ['max_completion_tokens', '60'], ['n', '1'], ['stream', 'false']],
  messages: [['max_tokens', '60'], ['messages', question], ['stream', 'true']],
  responses: [['input', question], ['max_output_tokens', '60'], ['stream', 'false']],
  native: [['input', question], ['stream', 'true'], ['store', 'false']],
  completions: [['prompt', '"Hello"'], ['max_tokens', '60'], ['n', '1'], ['best_of', '1']],
  embeddings: [['input', '"Hello"'], ['dimensions', '8']],
  rerank: [['query', '"Hello"'], ['documents', '["a","b"]'], ['top_n', '1']],
}; // prettier-ignore

export const routes = Object.keys(bases) as ComparedRoute[];

/** Fields that determine cost, route or region. */
const decidingNames = [
  'model', 'stream', 'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'n', 'best_of', 'region',
  'stream_options', 'metadata', 'thinking', 'reasoning', 'top_n', 'dimensions', 'messages', 'input',
]; // prettier-ignore
const harmlessNames = ['temperature', 'top_p', 'user', 'seed', 'top_k', 'stop', 'tomorrow', 'service_tier'];
const steeringNames = [...steeringFields];

const numbers = ['1', '5', '5.0', '5e0', '50e-1', '0.5E1', '5E+0', '64', '200', '128', '100000', '-5', '-0', '0', '1e400', '1.5']; // prettier-ignore
const others = ['null', 'true', 'false', '"5"', '"canary"', '"sim-other"', '{}', '[]', '"tr\\u0075e"', '[{"role":"user","content":"Other"}]']; // prettier-ignore

export function makeBody(chance: SeededRandom, route: ComparedRoute, model: string): Buffer {
  const members: BodyMember[] = [['model', JSON.stringify(model)] as const, ...bases[route]].map(
    ([name, value]) => ({
      name,
      value,
    }),
  );
  // Most requests have a single change, as a request refused for another reason proves nothing.
  const rounds = chance.pick([0, 1, 1, 1, 1, 2, 2, 3]);
  for (let round = 0; round < rounds; round += 1) chance.pick(changes)(chance, members);
  if (chance.flip(0.3)) members.sort(() => chance.next() - 0.5);
  const isSpaced = chance.flip(0.4);
  const gap = (): string => (isSpaced ? chance.pick(['', '', ' ', '\n', '\t', ' \r\n ']) : '');
  const text = members.map(({ name, value }) => `${gap()}"${name}"${gap()}:${gap()}${value}${gap()}`);
  const byteOrderMark = chance.flip(0.01) ? '\ufeff' : '';
  return Buffer.from(`${byteOrderMark}${gap()}{${text.join(',')}}${gap()}`);
}

/** Returns an equivalent JSON spelling of a name. */
function respell(chance: SeededRandom, name: string): string {
  return Array.from(name, (letter) => {
    if (!chance.flip(0.25)) return letter;
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
    return letter.length > 1 ? letter : `\\u${chance.flip() ? code.toUpperCase() : code}`;
  }).join('');
}

/** Returns a different name that some readers may confuse with this one. */
function lookalike(chance: SeededRandom, name: string): string {
  const at = chance.integer(0, name.length - 1);
  const letter = name[at] ?? '';
  const fullwidth = String.fromCharCode(letter.charCodeAt(0) + 0xfee0);
  const lookalikes: Readonly<Record<string, string>> = { k: '\u212a', s: '\u017f', i: '\u0131' };
  const replaceAtPosition = (text: string): string => name.slice(0, at) + text + name.slice(at + 1);
  return chance.pick([
    () => replaceAtPosition(letter.toUpperCase()),
    () => name.toUpperCase(),
    () => name.slice(0, 1).toUpperCase() + name.slice(1),
    () => replaceAtPosition(fullwidth),
    () => replaceAtPosition(lookalikes[letter] ?? letter.toUpperCase()),
    () => replaceAtPosition(`${letter}\u200b`),
    () => replaceAtPosition(`${letter}\u00ad`),
    () => replaceAtPosition(`${letter}\u0301`),
    () => `${name} `,
    () => `\\ufeff${name}`,
    () => name.replaceAll('_', '-'),
  ])();
}

const valueFor = (chance: SeededRandom): string =>
  chance.flip(0.6) ? chance.pick(numbers) : chance.pick(others);

function nestedObject(chance: SeededRandom): string {
  const names = [
    'include_usage',
    'budget_tokens',
    'type',
    'session_id',
    'max_tokens',
    'api_base',
    'region',
    'note',
  ];
  const inner = Array.from({ length: chance.integer(0, 3) }, () => {
    const name = chance.pick(names);
    const written = chance.flip(0.2)
      ? lookalike(chance, name)
      : chance.flip(0.3)
        ? respell(chance, name)
        : name;
    return `"${written}":${name === 'include_usage' ? 'true' : valueFor(chance)}`;
  });
  return `{${inner.join(',')}}`;
}

const insertMember = (chance: SeededRandom, members: BodyMember[], name: string, value: string): void =>
  void members.splice(chance.integer(0, members.length), 0, { name, value });

const changes: readonly ((chance: SeededRandom, members: BodyMember[]) => void)[] = [
  /** Duplicates a member. */
  (chance, members) => {
    const { name } = chance.pick(members);
    insertMember(chance, members, chance.flip() ? respell(chance, name) : name, valueFor(chance));
  },
  /** Writes a name in an equivalent spelling. */
  (chance, members) => {
    for (const member of members) if (chance.flip()) member.name = respell(chance, member.name);
  },
  /** Adds a name that only looks like a known one. */
  (chance, members) => {
    const name = chance.flip(0.7) ? chance.pick(decidingNames) : chance.pick(steeringNames);
    insertMember(chance, members, lookalike(chance, name), valueFor(chance));
  },
  (chance, members) => insertMember(chance, members, respell(chance, chance.pick(steeringNames)), '"canary"'),
  (chance, members) =>
    insertMember(chance, members, respell(chance, chance.pick(decidingNames)), valueFor(chance)),
  (chance, members) => insertMember(chance, members, chance.pick(harmlessNames), valueFor(chance)),
  (chance, members) =>
    insertMember(
      chance,
      members,
      chance.pick(['stream_options', 'metadata', 'thinking', 'reasoning']),
      nestedObject(chance),
    ),
  /** Spells a limit in several ways. */
  (chance, members) => {
    for (const member of members)
      if (/_tokens$|^n$|top_n|best_of/.test(member.name)) member.value = valueFor(chance);
  },
  /** Names with a backslash: the shape of an object that the next one resembles. */
  (chance, members) => {
    const name = chance.pick([...decidingNames, ...steeringNames]);
    const code = name.charCodeAt(0).toString(16).padStart(4, '0');
    insertMember(
      chance,
      members,
      `\\\\u${code}${name.slice(1, chance.integer(1, name.length))}`,
      valueFor(chance),
    );
  },
  () => undefined,
];
