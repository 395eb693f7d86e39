import type { Tx } from '../platform';
import type { KeyValues, NewKey } from '../keys';
import { UsageError } from './command';
import { budgetOf, instantOf, listOf, wholeNumberOf } from './readers';

const limits = {
  models: ['allowedModels', listOf],
  regions: ['allowedRegions', listOf],
  rpm: ['rateLimitRpm', wholeNumberOf],
  tpm: ['rateLimitTpm', wholeNumberOf],
  parallel: ['maxParallel', wholeNumberOf],
  expires: ['expiresAt', instantOf],
} as const;

const text = { type: 'string' } as const;

/** Leaves the choice of the model to the service. */
const AUTO = 'auto';

/** These options set a key that is made or changed. */
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

/** Fields of a key by its options; the word for no limit is one where there is such a word. */
export const limitsIn = (
  values: { readonly [Option in keyof typeof limits]?: string | undefined },
  none?: string,
): Partial<KeyValues> =>
  Object.fromEntries(
    Object.entries(limits).flatMap(([option, [field, read]]) => {
      const said = values[option as keyof typeof limits];
      if (said === undefined) return [];
      return [[field, said === none ? null : read(said, `--${option}`)]];
    }),
  );

/** The one key that a command names. A whole key, pasted, names its id; so does what lists show. */
export function keyIdIn(positionals: readonly string[]): string {
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0) throw new UsageError('Name the id of one key.');
  return /^svc_([0-9A-Za-z]{8})/.exec(id)?.[1] ?? id;
}

/** Names of models for the list of a key, which can also hold `auto`. Throws if there is no such model. */
export async function allowedNames(
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

/** Each text reads like `sim-small=5/daily`, and there is one for each model. */
export async function modelBudgetsOf(
  tx: Tx,
  texts: readonly string[],
): Promise<NonNullable<NewKey['modelBudgets']>> {
  const given = texts.map((text) => {
    const at = text.lastIndexOf('=');
    if (at < 1)
      throw new UsageError('--model-budget takes a model and its budget, such as gpt-x=20/monthly.');
    return { name: text.slice(0, at), budget: budgetOf(text.slice(at + 1)) };
  });
  const names = await modelNames(
    tx,
    given.map(({ name }) => name),
  );
  if (new Set(names).size < names.length) throw new UsageError('Name one --model-budget a model.');
  return given.map(({ budget }, place) => ({ ...budget, model: names[place]! }));
}
