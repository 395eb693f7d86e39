import type { SeededRandom } from '../../test/system/seeded-random';
import type { CallDialect, CallForm } from './evidence';
import { type SupplierOutcome, outcomes, type StyleName, styles } from './price-list';

export interface PlannedInvoiceCall {
  readonly number: number;
  readonly twin: number;
  readonly dialect: CallDialect;
  readonly model: string;
  readonly form: CallForm;
  /** Index of the key in the list. */
  readonly key: number;
  readonly body: object;
  /** The request body after a gate has removed a word; null if no gate does. */
  readonly rewritten: object | null;
}

/** The extension's gate replaces the first text by the second in requests that ask for it. */
export const SECRET = 'sekret-Zürich4711thatNobodyMayEverReadOutsideOfThisHouse';
const HIDDEN = '“hidden” \\ 🙂';
const GATE_TRIGGER = '[[second:rewrite]]';

interface PlannedQuestion {
  readonly dialect: CallDialect;
  readonly model: string;
  readonly text: string;
  readonly tools: boolean;
  readonly system: string;
}

const dialects: readonly CallDialect[] = ['chat', 'messages', 'responses'];
/** Call forms that the suppliers of each outcome get. */
const formsOf: Readonly<Record<SupplierOutcome, readonly CallForm[]>> = {
  good: ['whole', 'stream'],
  silent: ['whole', 'stream'],
  twice: ['whole', 'stream'],
  cut: ['cut'],
  left: ['left'],
  unfinished: ['unfinished'],
};
const USUAL_FORMS: readonly CallForm[] = ['whole', 'stream'];

/** Combines every dialect with every style and outcome; the content is random. */
export function planCalls(chance: SeededRandom, twins: number, keys: number): PlannedInvoiceCall[] {
  const calls: PlannedInvoiceCall[] = [];
  const models = [
    ...(Object.keys(styles) as StyleName[]).flatMap((style) =>
      outcomes.map((outcome) => ({ model: `${style}-${outcome}`, forms: formsOf[outcome] })),
    ),
    ...['backed', 'mixed', 'broken', 'backed', 'mixed', 'broken'].map((model) => ({
      model,
      forms: USUAL_FORMS,
    })),
  ];
  for (let twin = 0; twin < twins; twin += 1) {
    const { model, forms } = models[twin % models.length] ?? { model: 'backed', forms: USUAL_FORMS };
    const dialect = dialects[Math.floor(twin / models.length) % dialects.length] ?? 'chat';
    const question = { dialect, model, ...randomQuestion(chance) };
    const key = chance.integer(0, keys - 1);
    for (const form of forms) {
      const number = calls.length + 1;
      const isStream = form !== 'whole';
      const { text } = question;
      const rewrittenQuestion = { ...question, text: text.replaceAll(SECRET, HIDDEN) };
      calls.push({
        ...{ number, twin, dialect, model, form, key },
        body: bodyOf(question, number, isStream),
        rewritten: text.includes(SECRET) ? bodyOf(rewrittenQuestion, number, isStream) : null,
      });
    }
  }
  return calls;
}

/** Mark that identifies a call in the supplier's journal; its length is constant, so that twins have the same size. */
export const markOf = (number: number): string => `call-${String(number).padStart(7, '0')}`;

function randomQuestion(chance: SeededRandom): Pick<PlannedQuestion, 'text' | 'tools' | 'system'> {
  const tools = chance.flip(0.3);
  const parts = [`[[tokens=${chance.integer(25, 90)}]]`];
  if (chance.flip(0.4)) parts.push(`[[cached=${chance.integer(1, 900)}]]`);
  if (chance.flip(0.3)) parts.push(`[[cache-write=${chance.integer(1, 500)}]]`);
  if (chance.flip(0.3)) parts.push(`[[think=${chance.integer(1, 40)}]]`);
  if (chance.flip(0.2)) parts.push('[[unicode]]');
  if (chance.flip(0.25)) parts.push(`${GATE_TRIGGER} ${SECRET}, and once more: ${SECRET}`);
  if (tools) parts.push('[[tool=look({"city":"Z\\"ug","days":3})]]');
  return { text: parts.join(' '), tools, system: 'Be brief. '.repeat(chance.integer(1, 120)) };
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
};

function bodyOf(
  { dialect, model, text, tools, system }: PlannedQuestion,
  number: number,
  stream: boolean,
): object {
  const content = `${markOf(number)} ${text}`;
  const lookupTool = { name: 'look', description: 'Looks it up.' };
  if (dialect === 'messages') {
    return {
      model,
      stream,
      max_tokens: 2_000,
      system,
      messages: [{ role: 'user', content }],
      ...(tools ? { tools: [{ ...lookupTool, input_schema: schema }] } : {}),
    };
  }
  if (dialect === 'responses') {
    return {
      model,
      stream,
      max_output_tokens: 2_000,
      instructions: system,
      input: [{ role: 'user', content }],
      ...(tools ? { tools: [{ type: 'function', ...lookupTool, parameters: schema, strict: true }] } : {}),
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
    ...(tools ? { tools: [{ type: 'function', function: { ...lookupTool, parameters: schema } }] } : {}),
  };
}
