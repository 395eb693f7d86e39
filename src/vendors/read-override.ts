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

export interface OverrideIssue {
  readonly path: string;
  readonly problem: string;
}

type OverrideCheck = (value: unknown, path: string, faults: OverrideIssue[]) => void;

const MAX_TOKENS = 100_000_000;
const MAX_ENTRIES = 64;
const MAX_TEXT_LENGTH = 200;

const checkThat =
  (expected: string, isValid: (value: unknown) => boolean): OverrideCheck =>
  (value, path, faults) => {
    if (!isValid(value)) faults.push({ path, problem: `expected ${expected}` });
  };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT_LENGTH;
const isTokens = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS;

const tokens = checkThat(`a whole number from 1 to ${MAX_TOKENS}`, isTokens);
const factor = checkThat(
  'a number above 0, at most 100',
  (value) => typeof value === 'number' && value > 0 && value <= 100,
);
const truth = checkThat('true or false', (value) => typeof value === 'boolean');
const text = checkThat(`a text of at most ${MAX_TEXT_LENGTH} characters`, isText);
const day = checkThat(
  'a day as YYYY-MM-DD',
  (value) =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
);
const oneOf = (choices: readonly string[]): OverrideCheck =>
  checkThat(`one of ${choices.join(', ')}`, (value) => typeof value === 'string' && choices.includes(value));

const listOf =
  (entry: OverrideCheck): OverrideCheck =>
  (value, path, faults) => {
    if (!Array.isArray(value) || value.length > MAX_ENTRIES)
      return void faults.push({ path, problem: `expected a list of at most ${MAX_ENTRIES}` });
    value.forEach((item, index) => entry(item, `${path}[${index}]`, faults));
  };

const mapOf =
  (entry: OverrideCheck): OverrideCheck =>
  (value, path, faults) => {
    if (!isRecord(value) || Object.keys(value).length > MAX_ENTRIES)
      return void faults.push({ path, problem: 'expected names with values below them' });
    for (const [name, one] of Object.entries(value)) entry(one, `${path}.${name}`, faults);
  };

const fields =
  (checks: Readonly<Record<string, OverrideCheck>>, required: readonly string[] = []): OverrideCheck =>
  (value, path, faults) => {
    if (!isRecord(value)) return void faults.push({ path, problem: 'expected names with values below them' });
    for (const name of required)
      if (value[name] === undefined) faults.push({ path: `${path}.${name}`, problem: 'is missing' });
    for (const [name, one] of Object.entries(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined)
        faults.push({
          path: `${path}.${name}`,
          problem: `is not known here; there are ${Object.keys(checks).join(', ')}`,
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
const pictureKinds: Readonly<Record<string, OverrideCheck>> = { squares, tiles, detail, flat };

const pictures: OverrideCheck = (value, path, faults) => {
  const kind = isRecord(value) && typeof value.kind === 'string' ? value.kind : '';
  const check = Object.hasOwn(pictureKinds, kind) ? pictureKinds[kind] : undefined;
  if (check !== undefined) check(value, path, faults);
  else
    faults.push({ path: `${path}.kind`, problem: `expected one of ${Object.keys(pictureKinds).join(', ')}` });
};

const overrides: Readonly<Record<string, OverrideCheck>> = {
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

/** Reads an operator's facts from a file, a form or JSON; every issue is reported with its path. */
export function readOverride(value: unknown): {
  readonly override: FactsOverride;
  readonly faults: readonly OverrideIssue[];
} {
  const faults: OverrideIssue[] = [];
  check(value, 'facts', faults);
  return { override: faults.length > 0 ? {} : (renameKeys(value, camelCased) as FactsOverride), faults };
}

export const overrideFields = (override: FactsOverride): Readonly<Record<string, unknown>> =>
  renameKeys(override, snakeCased) as Readonly<Record<string, unknown>>;

/** Keys of this field are names given by vendors and stay unchanged. */
const VENDOR_KEYED_FIELD = 'widened';

function renameKeys(value: unknown, rename: (name: string) => string): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      rename(name),
      name === VENDOR_KEYED_FIELD ? one : renameKeys(one, rename),
    ]),
  );
}
