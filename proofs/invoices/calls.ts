import type { Chance } from '../../test/system/chance';
import type { CallDialect, CallForm } from './evidence';
import { type Outcome, outcomes, type StyleName, styles } from './price-list';

export interface PlannedCall {
  readonly number: number;
  readonly twin: number;
  readonly dialect: CallDialect;
  readonly model: string;
  readonly form: CallForm;
  /** The place of the key in the list. */
  readonly key: number;
  readonly body: object;
  /** The same as a gate leaves it, where it takes a word out. */
  readonly rewritten: object | null;
}

/** The gate of the extension writes the second in place of the first, where a request asks for it. */
export const SECRET = 'sekret-Zürich4711thatNobodyMayEverReadOutsideOfThisHouse';
const HIDDEN = '“hidden” \\ 🙂';
const ASKS_GATE = '[[second:rewrite]]';

interface Question {
  readonly dialect: CallDialect;
  readonly model: string;
  readonly text: string;
  readonly tools: boolean;
  readonly system: string;
}

const dialects: readonly CallDialect[] = ['chat', 'messages', 'responses'];
/** The suppliers of each fate are asked these. */
const formsOf: Readonly<Record<Outcome, readonly CallForm[]>> = {
  good: ['whole', 'stream'],
  silent: ['whole', 'stream'],
  twice: ['whole', 'stream'],
  cut: ['cut'],
  left: ['left'],
  unfinished: ['unfinished'],
};
const usualForms: readonly CallForm[] = ['whole', 'stream'];

/** Every dialect meets every style and every fate; what they ask for is left to chance. */
export function planCalls(chance: Chance, twins: number, keys: number): PlannedCall[] {
  const calls: PlannedCall[] = [];
  const models = [
    ...(Object.keys(styles) as StyleName[]).flatMap((style) =>
      outcomes.map((outcome) => ({ model: `${style}-${outcome}`, forms: formsOf[outcome] })),
    ),
    ...['backed', 'mixed', 'broken', 'backed', 'mixed', 'broken'].map((model) => ({
      model,
      forms: usualForms,
    })),
  ];
  for (let twin = 0; twin < twins; twin += 1) {
    const { model, forms } = models[twin % models.length] ?? { model: 'backed', forms: usualForms };
    const dialect = dialects[Math.floor(twin / models.length) % dialects.length] ?? 'chat';
    const question = { dialect, model, ...ask(chance) };
    const key = chance.whole(0, keys - 1);
    for (const form of forms) {
      const number = calls.length + 1;
      const isStream = form !== 'whole';
      const { text } = question;
      const left = { ...question, text: text.replaceAll(SECRET, HIDDEN) };
      calls.push({
        ...{ number, twin, dialect, model, form, key },
        body: bodyOf(question, number, isStream),
        rewritten: text.includes(SECRET) ? bodyOf(left, number, isStream) : null,
      });
    }
  }
  return calls;
}

/** The mark finds a call in the supplier's journal; it is always as long, so that twins weigh the same. */
export const markOf = (number: number): string => `call-${String(number).padStart(7, '0')}`;

function ask(chance: Chance): Pick<Question, 'text' | 'tools' | 'system'> {
  const tools = chance.flip(0.3);
  const parts = [`[[tokens=${chance.whole(25, 90)}]]`];
  if (chance.flip(0.4)) parts.push(`[[cached=${chance.whole(1, 900)}]]`);
  if (chance.flip(0.3)) parts.push(`[[cache-write=${chance.whole(1, 500)}]]`);
  if (chance.flip(0.3)) parts.push(`[[think=${chance.whole(1, 40)}]]`);
  if (chance.flip(0.2)) parts.push('[[unicode]]');
  if (chance.flip(0.25)) parts.push(`${ASKS_GATE} ${SECRET}, and once more: ${SECRET}`);
  if (tools) parts.push('[[tool=look({"city":"Z\\"ug","days":3})]]');
  return { text: parts.join(' '), tools, system: 'Be brief. '.repeat(chance.whole(1, 120)) };
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
};

function bodyOf({ dialect, model, text, tools, system }: Question, number: number, stream: boolean): object {
  const content = `${markOf(number)} ${text}`;
  const look = { name: 'look', description: 'Looks it up.' };
  if (dialect === 'messages') {
    return {
      model,
      stream,
      max_tokens: 2_000,
      system,
      messages: [{ role: 'user', content }],
      ...(tools ? { tools: [{ ...look, input_schema: schema }] } : {}),
    };
  }
  if (dialect === 'responses') {
    return {
      model,
      stream,
      max_output_tokens: 2_000,
      instructions: system,
      input: [{ role: 'user', content }],
      ...(tools ? { tools: [{ type: 'function', ...look, parameters: schema, strict: true }] } : {}),
    };
  }
  return {
    model,
    stream,
    max_tokens: 2_000,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content },
    ],
    ...(tools ? { tools: [{ type: 'function', function: { ...look, parameters: schema } }] } : {}),
  };
}
