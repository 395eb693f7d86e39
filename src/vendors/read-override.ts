import { camelCased, snakeCased } from '../kernel';
import {
  CHAT_WIRES,
  EFFORTS,
  type FactsOverride,
  SAMPLINGS,
  SCHEMA_RULES,
  THINKING_TYPES,
  WIRES,
} from './facts';

export interface OverrideFault {
  readonly path: string;
  readonly problem: string;
}

type Check = (value: unknown, path: string, faults: OverrideFault[]) => void;

const MOST_TOKENS = 100_000_000;
const MOST_ENTRIES = 64;
const LONGEST_TEXT = 200;

const expecting =
  (wanted: string, isFit: (value: unknown) => boolean): Check =>
  (value, path, faults) => {
    if (!isFit(value)) faults.push({ path, problem: `expected ${wanted}` });
  };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT;
const isTokens = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST_TOKENS;

const tokens = expecting(`a whole number from 1 to ${MOST_TOKENS}`, isTokens);
const factor = expecting(
  'a number above 0, at most 100',
  (value) => typeof value === 'number' && value > 0 && value <= 100,
);
const truth = expecting('true or false', (value) => typeof value === 'boolean');
const text = expecting(`a text of at most ${LONGEST_TEXT} characters`, isText);
const day = expecting(
  'a day as YYYY-MM-DD',
  (value) =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
);
const oneOf = (choices: readonly string[]): Check =>
  expecting(`one of ${choices.join(', ')}`, (value) => typeof value === 'string' && choices.includes(value));

const listOf =
  (entry: Check): Check =>
  (value, path, faults) => {
    if (!Array.isArray(value) || value.length > MOST_ENTRIES)
      return void faults.push({ path, problem: `expected a list of at most ${MOST_ENTRIES}` });
    value.forEach((one, place) => entry(one, `${path}[${place}]`, faults));
  };

const mapOf =
  (entry: Check): Check =>
  (value, path, faults) => {
    if (!isRecord(value) || Object.keys(value).length > MOST_ENTRIES)
      return void faults.push({ path, problem: 'expected names with values below them' });
    for (const [name, one] of Object.entries(value)) entry(one, `${path}.${name}`, faults);
  };

const fields =
  (known: Readonly<Record<string, Check>>, needed: readonly string[] = []): Check =>
  (value, path, faults) => {
    if (!isRecord(value)) return void faults.push({ path, problem: 'expected names with values below them' });
    for (const name of needed)
      if (value[name] === undefined) faults.push({ path: `${path}.${name}`, problem: 'is missing' });
    for (const [name, one] of Object.entries(value)) {
      const check = Object.hasOwn(known, name) ? known[name] : undefined;
      if (check === undefined)
        faults.push({
          path: `${path}.${name}`,
          problem: `is not known here; there are ${Object.keys(known).join(', ')}`,
        });
      else check(one, `${path}.${name}`, faults);
    }
  };

const squares = fields({ kind: text, side: tokens, most: tokens, factor }, ['side', 'most']);
const tiles = fields({ kind: text, base: tokens, tile: tokens, factor }, ['base', 'tile']);
const detail = fields({ kind: text, high: tokens, original: tokens, automatic: tokens, factor }, [
  'high',
  'original',
  'automatic',
  'factor',
]);
const flat = fields({ kind: text, tokens }, ['tokens']);
const pictureKinds: Readonly<Record<string, Check>> = { squares, tiles, detail, flat };

const pictures: Check = (value, path, faults) => {
  const kind = isRecord(value) && typeof value.kind === 'string' ? value.kind : '';
  const check = Object.hasOwn(pictureKinds, kind) ? pictureKinds[kind] : undefined;
  if (check !== undefined) check(value, path, faults);
  else
    faults.push({ path: `${path}.kind`, problem: `expected one of ${Object.keys(pictureKinds).join(', ')}` });
};

/** They are found by the names that files and forms use. */
const overrides: Readonly<Record<string, Check>> = {
  window: tokens,
  widened: mapOf(tokens),
  max_output: tokens,
  thinking: fields(
    {
      types: listOf(oneOf(THINKING_TYPES)),
      efforts: listOf(oneOf(EFFORTS)),
      responses_only: listOf(oneOf(EFFORTS)),
      usual: oneOf(EFFORTS),
      budget: fields({ least: tokens, most: tokens }, ['least', 'most']),
      unasked: truth,
      can_stop: truth,
      stops_up_to: oneOf(EFFORTS),
    },
    ['unasked', 'can_stop'],
  ),
  sampling: oneOf(SAMPLINGS),
  forced_tools: truth,
  prefill: truth,
  chat: oneOf(CHAT_WIRES),
  chat_refuses: listOf(text),
  schema: oneOf(SCHEMA_RULES),
  reasoning_history: truth,
  drops_blocks: truth,
  pictures,
  long_context: fields({ above: tokens, input: factor, output: factor }, ['above', 'input', 'output']),
  harmless_fields: listOf(text),
  rounds: tokens,
  thinks_outside_max_tokens: truth,
  ends: day,
  replaced_by: text,
  wire: oneOf(WIRES),
};
const check = fields(overrides);

/** An operator describes a model in a file, a form or JSON; every fault is named with its place. */
export function readOverride(value: unknown): {
  readonly override: FactsOverride;
  readonly faults: readonly OverrideFault[];
} {
  const faults: OverrideFault[] = [];
  check(value, 'facts', faults);
  return { override: faults.length > 0 ? {} : (renamed(value, camelCased) as FactsOverride), faults };
}

/** The same by the names that files and forms use. */
export const overrideFields = (override: FactsOverride): Readonly<Record<string, unknown>> =>
  renamed(override, snakeCased) as Readonly<Record<string, unknown>>;

/** The names of betas and fields are the vendors' own. */
const NAMED_BY_VENDORS = 'widened';

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      rename(name),
      name === NAMED_BY_VENDORS ? one : renamed(one, rename),
    ]),
  );
}
