import { steeringFields } from '#product/routing';
import type { Chance } from '../../../test/system/chance';

/** A member as it will be written: its name as the text between the quotation marks, its value as JSON. */
interface Member {
  name: string;
  value: string;
}

export type Route = 'chat' | 'messages' | 'responses' | 'native' | 'completions' | 'embeddings' | 'rerank';

const question = '[{"role":"user","content":"Hello"}]';
const bases: Readonly<Record<Route, readonly (readonly [string, string])[]>> = {
  chat: [['messages', question], ['max_completion_tokens', '60'], ['n', '1'], ['stream', 'false']],
  messages: [['max_tokens', '60'], ['messages', question], ['stream', 'true']],
  responses: [['input', question], ['max_output_tokens', '60'], ['stream', 'false']],
  native: [['input', question], ['stream', 'true'], ['store', 'false']],
  completions: [['prompt', '"Hello"'], ['max_tokens', '60'], ['n', '1'], ['best_of', '1']],
  embeddings: [['input', '"Hello"'], ['dimensions', '8']],
  rerank: [['query', '"Hello"'], ['documents', '["a","b"]'], ['top_n', '1']],
}; // prettier-ignore

export const routes = Object.keys(bases) as Route[];

/** Money, route or place depend on these fields. */
const deciding = [
  'model', 'stream', 'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'n', 'best_of', 'region',
  'stream_options', 'metadata', 'thinking', 'reasoning', 'top_n', 'dimensions', 'messages', 'input',
]; // prettier-ignore
const harmless = ['temperature', 'top_p', 'user', 'seed', 'top_k', 'stop', 'tomorrow', 'service_tier'];
const steering = [...steeringFields];

const numbers = ['1', '5', '5.0', '5e0', '50e-1', '0.5E1', '5E+0', '64', '200', '128', '100000', '-5', '-0', '0', '1e400', '1.5']; // prettier-ignore
const others = ['null', 'true', 'false', '"5"', '"canary"', '"sim-other"', '{}', '[]', '"tr\\u0075e"', '[{"role":"user","content":"Other"}]']; // prettier-ignore

export function makeBody(chance: Chance, route: Route, model: string): Buffer {
  const members: Member[] = [['model', JSON.stringify(model)] as const, ...bases[route]].map(
    ([name, value]) => ({
      name,
      value,
    }),
  );
  // Most requests are changed in one way only: one that is refused for something else proves nothing.
  const rounds = chance.pick([0, 1, 1, 1, 1, 2, 2, 3]);
  for (let round = 0; round < rounds; round += 1) chance.pick(changes)(chance, members);
  if (chance.flip(0.3)) members.sort(() => chance.next() - 0.5);
  const isSpaced = chance.flip(0.4);
  const gap = (): string => (isSpaced ? chance.pick(['', '', ' ', '\n', '\t', ' \r\n ']) : '');
  const text = members.map(({ name, value }) => `${gap()}"${name}"${gap()}:${gap()}${value}${gap()}`);
  const mark = chance.flip(0.01) ? '\ufeff' : '';
  return Buffer.from(`${mark}${gap()}{${text.join(',')}}${gap()}`);
}

/** Legal ways to write one and the same name. */
function spelled(chance: Chance, name: string): string {
  return Array.from(name, (letter) => {
    if (!chance.flip(0.25)) return letter;
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
    return letter.length > 1 ? letter : `\\u${chance.flip() ? code.toUpperCase() : code}`;
  }).join('');
}

/** Other names, which some reader may take for this one. */
function lookalike(chance: Chance, name: string): string {
  const at = chance.whole(0, name.length - 1);
  const letter = name[at] ?? '';
  const wide = String.fromCharCode(letter.charCodeAt(0) + 0xfee0);
  const special: Readonly<Record<string, string>> = { k: '\u212a', s: '\u017f', i: '\u0131' };
  const put = (text: string): string => name.slice(0, at) + text + name.slice(at + 1);
  return chance.pick([
    () => put(letter.toUpperCase()),
    () => name.toUpperCase(),
    () => name.slice(0, 1).toUpperCase() + name.slice(1),
    () => put(wide),
    () => put(special[letter] ?? letter.toUpperCase()),
    () => put(`${letter}\u200b`),
    () => put(`${letter}\u00ad`),
    () => put(`${letter}\u0301`),
    () => `${name} `,
    () => `\\ufeff${name}`,
    () => name.replaceAll('_', '-'),
  ])();
}

const valueFor = (chance: Chance): string => (chance.flip(0.6) ? chance.pick(numbers) : chance.pick(others));

function within(chance: Chance): string {
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
  const inner = Array.from({ length: chance.whole(0, 3) }, () => {
    const name = chance.pick(names);
    const written = chance.flip(0.2)
      ? lookalike(chance, name)
      : chance.flip(0.3)
        ? spelled(chance, name)
        : name;
    return `"${written}":${name === 'include_usage' ? 'true' : valueFor(chance)}`;
  });
  return `{${inner.join(',')}}`;
}

const add = (chance: Chance, members: Member[], name: string, value: string): void =>
  void members.splice(chance.whole(0, members.length), 0, { name, value });

const changes: readonly ((chance: Chance, members: Member[]) => void)[] = [
  /** Twice. */
  (chance, members) => {
    const { name } = chance.pick(members);
    add(chance, members, chance.flip() ? spelled(chance, name) : name, valueFor(chance));
  },
  /** In another spelling that says the same. */
  (chance, members) => {
    for (const member of members) if (chance.flip()) member.name = spelled(chance, member.name);
  },
  /** A name that only looks like a known one. */
  (chance, members) => {
    const name = chance.flip(0.7) ? chance.pick(deciding) : chance.pick(steering);
    add(chance, members, lookalike(chance, name), valueFor(chance));
  },
  (chance, members) => add(chance, members, spelled(chance, chance.pick(steering)), '"canary"'),
  (chance, members) => add(chance, members, spelled(chance, chance.pick(deciding)), valueFor(chance)),
  (chance, members) => add(chance, members, chance.pick(harmless), valueFor(chance)),
  (chance, members) =>
    add(
      chance,
      members,
      chance.pick(['stream_options', 'metadata', 'thinking', 'reasoning']),
      within(chance),
    ),
  /** A limit may be written in these ways. */
  (chance, members) => {
    for (const member of members)
      if (/_tokens$|^n$|top_n|best_of/.test(member.name)) member.value = valueFor(chance);
  },
  /** Names with a backslash in them: the shape of an object that the next one is like. */
  (chance, members) => {
    const name = chance.pick([...deciding, ...steering]);
    const code = name.charCodeAt(0).toString(16).padStart(4, '0');
    add(chance, members, `\\\\u${code}${name.slice(1, chance.whole(1, name.length))}`, valueFor(chance));
  },
  () => undefined,
];
