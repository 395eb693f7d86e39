import { type Effort, EFFORTS } from './facts';

/** Types of thinking that vendors' lists of models cover. */
const LISTED_TYPES = ['adaptive', 'enabled'] as const;
type ListedThinkingType = (typeof LISTED_TYPES)[number];
/** Efforts that vendors' lists cover. */
export const LISTED_EFFORTS: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** A model in a vendor's list; unstated attributes are absent. */
export interface VendorListedModel {
  readonly id: string;
  readonly window?: number;
  readonly maxOutput?: number;
  /** Null if it does not think. */
  readonly thinking?: {
    readonly types: readonly ListedThinkingType[];
    readonly efforts: readonly Effort[];
  } | null;
  readonly schemas?: boolean;
}

export interface ModelListPage {
  readonly models: readonly VendorListedModel[];
  /** Id after which the next page starts; null on the last page. */
  readonly after: string | null;
}

const MAX_ID_LENGTH = 256;
const MAX_TOKENS = 100_000_000;

/**
 * Reads a response of `GET /v1/models` as sent by Anthropic and OpenAI, the latter with names only; some suppliers send
 * the bare list. Null if it is no list of models.
 */
export function readModelListPage(body: unknown): ModelListPage | null {
  const data = isRecord(body) ? body.data : body;
  if (!Array.isArray(data)) return null;
  const models = data.map(readListedModel).filter((model) => model !== null);
  const last = isRecord(body) && body.has_more === true ? body.last_id : null;
  return { models, after: typeof last === 'string' && last !== '' ? last : null };
}

export function readListedModel(value: unknown): VendorListedModel | null {
  if (!isRecord(value) || typeof value.id !== 'string' || value.id === '' || value.id.length > MAX_ID_LENGTH)
    return null;
  const window = tokensOf(value.max_input_tokens);
  const maxOutput = tokensOf(value.max_tokens);
  const { capabilities } = value;
  return {
    id: value.id,
    ...(window === null ? {} : { window }),
    ...(maxOutput === null ? {} : { maxOutput }),
    ...(isRecord(capabilities) ? listedCapabilities(capabilities) : {}),
  };
}

function listedCapabilities({
  thinking,
  effort,
  structured_outputs: schemas,
}: Readonly<Record<string, unknown>>): Pick<VendorListedModel, 'thinking' | 'schemas'> {
  const types = isRecord(thinking) ? thinking.types : undefined;
  const isListed = isRecord(thinking) && typeof thinking.supported === 'boolean';
  const listed = {
    types: LISTED_TYPES.filter((type) => isSupported(types, type)),
    efforts: EFFORTS.filter((one) => LISTED_EFFORTS.includes(one) && isSupported(effort, one)),
  };
  return {
    ...(isListed ? { thinking: thinking.supported === true ? listed : null } : {}),
    ...(isRecord(schemas) && typeof schemas.supported === 'boolean' ? { schemas: schemas.supported } : {}),
  };
}

const isSupported = (options: unknown, name: string): boolean => {
  const one = isRecord(options) ? options[name] : undefined;
  return isRecord(one) && one.supported === true;
};

const tokensOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS ? value : null;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
