import type { Tx } from '../platform';
import type { KeyValues, NewKey } from '../keys';
import { UsageError } from './command';
import { budgetOf, instantOf, listOf, wholeNumberOf } from './option-parsers';

const limits = {
  models: ['allowedModels', listOf],
  regions: ['allowedRegions', listOf],
  rpm: ['rateLimitRpm', wholeNumberOf],
  tpm: ['rateLimitTpm', wholeNumberOf],
  parallel: ['maxParallel', wholeNumberOf],
  expires: ['expiresAt', instantOf],
} as const;

const text = { type: 'string' } as const;

const AUTO = 'auto';

export const keyOptions = {
  name: text,
  models: text,
  regions: text,
  rpm: text,
  tpm: text,
  parallel: text,
  expires: text,
  budget: text,
  'model-budget': { type: 'string', multiple: true },
} as const;

/** Key fields by option; `none` is the value that removes a limit, if the command has one. */
export const parseLimits = (
  values: { readonly [Option in keyof typeof limits]?: string | undefined },
  none?: string,
): Partial<KeyValues> =>
  Object.fromEntries(
    Object.entries(limits).flatMap(([option, [field, read]]) => {
      const optionText = values[option as keyof typeof limits];
      if (optionText === undefined) return [];
      return [[field, optionText === none ? null : read(optionText, `--${option}`)]];
    }),
  );

/** Returns the id of the only key that a command names. Accepts a complete, pasted key too. */
export function parseKeyId(positionals: readonly string[]): string {
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0) throw new UsageError('Name the id of one key.');
  return /^svc_([0-9A-Za-z]{8})/.exec(id)?.[1] ?? id;
}

/** Resolves model names for the list of a key, which can also contain `auto`. Throws if there is no such model. */
export async function resolveAllowedModels(
  tx: Tx,
  names: readonly string[] | null | undefined,
): Promise<string[] | null> {
  if (names === null || names === undefined) return null;
  const models = await modelNames(
    tx,
    names.filter((name) => name !== AUTO),
  );
  return names.includes(AUTO) ? [...models, AUTO] : models;
}

async function modelNames(tx: Tx, names: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ given: string; name: string | null }[]>(
    `SELECT given, coalesce(m.name, target.name) AS name FROM unnest($1::text[]) WITH ORDINALITY AS g (given, place)
       LEFT JOIN model m ON m.name = given LEFT JOIN model_alias a ON a.name = given
       LEFT JOIN model target ON target.id = a.model_id ORDER BY place`,
    [names],
  );
  const unknown = rows.filter(({ name }) => name === null).map(({ given }) => `"${given}"`);
  if (unknown.length > 0) throw new Error(`There is no model called ${unknown.join(', ')}.`);
  return rows.flatMap(({ name }) => name ?? []);
}

/** Parses texts such as `sim-small=5/daily`, one per model. */
export async function parseModelBudgets(
  tx: Tx,
  texts: readonly string[],
): Promise<NonNullable<NewKey['modelBudgets']>> {
  const requested = texts.map((text) => {
    const separator = text.lastIndexOf('=');
    if (separator < 1)
      throw new UsageError('--model-budget takes a model and its budget, such as gpt-x=20/monthly.');
    return { name: text.slice(0, separator), budget: budgetOf(text.slice(separator + 1)) };
  });
  const names = await modelNames(
    tx,
    requested.map(({ name }) => name),
  );
  if (new Set(names).size < names.length) throw new UsageError('Name one --model-budget a model.');
  return requested.map(({ budget }, index) => ({ ...budget, model: names[index]! }));
}
