import { type Effort, EFFORTS } from './facts';

/** The types of thinking that a vendor's list of models speaks of. */
const TOLD_TYPES = ['adaptive', 'enabled'] as const;
type ToldType = (typeof TOLD_TYPES)[number];
/** The efforts that it speaks of. */
export const TOLD_EFFORTS: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** A vendor's own list says this of a model; what it does not say is absent. */
export interface ToldModel {
  readonly id: string;
  readonly window?: number;
  readonly maxOutput?: number;
  /** Null: it does not think. */
  readonly thinking?: { readonly types: readonly ToldType[]; readonly efforts: readonly Effort[] } | null;
  /** The model keeps to a JSON schema. */
  readonly schemas?: boolean;
}

export interface ToldPage {
  readonly models: readonly ToldModel[];
  /** The next page begins after this id; null means that this is the last one. */
  readonly after: string | null;
}

const LONGEST_ID = 256;
const MOST_TOKENS = 100_000_000;

/**
 * Anthropic and OpenAI answer `GET /v1/models` in these shapes, the second with names alone; some answer with
 * the bare list. Null: this is no list of models.
 */
export function readToldPage(body: unknown): ToldPage | null {
  const data = isRecord(body) ? body.data : body;
  if (!Array.isArray(data)) return null;
  const models = data.map(readToldModel).filter((model) => model !== null);
  const last = isRecord(body) && body.has_more === true ? body.last_id : null;
  return { models, after: typeof last === 'string' && last !== '' ? last : null };
}

/** It reads one of them, or the answer of `GET /v1/models/{id}`. */
export function readToldModel(value: unknown): ToldModel | null {
  if (!isRecord(value) || typeof value.id !== 'string' || value.id === '' || value.id.length > LONGEST_ID)
    return null;
  const window = tokensOf(value.max_input_tokens);
  const maxOutput = tokensOf(value.max_tokens);
  const { capabilities } = value;
  return {
    id: value.id,
    ...(window === null ? {} : { window }),
    ...(maxOutput === null ? {} : { maxOutput }),
    ...(isRecord(capabilities) ? toldCapabilities(capabilities) : {}),
  };
}

function toldCapabilities({
  thinking,
  effort,
  structured_outputs: schemas,
}: Readonly<Record<string, unknown>>): Pick<ToldModel, 'thinking' | 'schemas'> {
  const types = isRecord(thinking) ? thinking.types : undefined;
  const isTold = isRecord(thinking) && typeof thinking.supported === 'boolean';
  const told = {
    types: TOLD_TYPES.filter((type) => isSupported(types, type)),
    efforts: EFFORTS.filter((one) => TOLD_EFFORTS.includes(one) && isSupported(effort, one)),
  };
  return {
    ...(isTold ? { thinking: thinking.supported === true ? told : null } : {}),
    ...(isRecord(schemas) && typeof schemas.supported === 'boolean' ? { schemas: schemas.supported } : {}),
  };
}

const isSupported = (of: unknown, name: string): boolean => {
  const one = isRecord(of) ? of[name] : undefined;
  return isRecord(one) && one.supported === true;
};

const tokensOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST_TOKENS ? value : null;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
