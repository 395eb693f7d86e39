import {
  ANSWER_MODELS,
  CONTINUE_STREAMS,
  type Defined,
  defineFields,
  type FileValue,
  propertyOf,
} from '../../kernel';
import { type FactsOverride, overrideFields, readOverride } from '../../vendors';
import { leavesOf } from '../leaves';

export const MODEL_KINDS = [
  'chat',
  'embedding',
  'rerank',
  'transcription',
  'speech',
  'image',
  'moderation',
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** `hidden` is served but not listed; `paused` is listed but not served; `deleted` keeps its record. */
export const MODEL_STATES = ['active', 'paused', 'hidden', 'deleted'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

const LANE_ORDERS = ['weight', 'price', 'latency'] as const;
export type LaneOrder = (typeof LANE_ORDERS)[number];

const MAX_TOKENS = 100_000_000;

/** Maximum input tokens per item; omitted values default to the vendor's limits. */
export interface ModelBounds {
  readonly imageTokens?: number;
  readonly documentTokens?: number;
  /** Content that only the supplier knows: an earlier reply, a stored prompt, a part of an unknown kind. */
  readonly referenceTokens?: number;
  readonly roundTokens?: number;
}

const boundNames = {
  image_tokens: 'imageTokens',
  document_tokens: 'documentTokens',
  reference_tokens: 'referenceTokens',
  round_tokens: 'roundTokens',
} as const;
type BoundName = keyof typeof boundNames;

const boundsToJson = (bounds: ModelBounds): Record<string, number> =>
  Object.fromEntries(
    Object.entries(boundNames).flatMap(([name, key]) => {
      const tokens = bounds[key];
      return tokens === undefined ? [] : [[name, tokens]];
    }),
  );

function boundsFromFile(value: FileValue): ModelBounds {
  const fields = value.fields(...(Object.keys(boundNames) as BoundName[]));
  return Object.fromEntries(
    Object.entries(boundNames).flatMap(([name, key]) => {
      const tokens = fields[name as BoundName].wholeNumber(1);
      return tokens === undefined ? [] : [[key, tokens]];
    }),
  );
}

function factsFromFile(value: FileValue): FactsOverride {
  const { override, faults } = readOverride(value.data());
  for (const { path, problem } of faults) value.faultBelow(path.replace(/^facts\.?/, ''), problem);
  return override;
}

/**
 * The only declaration of a model's fields, except its name and references. Columns, `gateway.yaml`, the API, the page,
 * plans and the activity log are derived from it.
 */
export const modelFields = defineFields('model', {
  display_name: propertyOf.line(200).required(),
  owned_by: propertyOf.line(120).required(),
  kind: propertyOf.oneOf(MODEL_KINDS).fileDefault('chat').notOn('page'),
  state: propertyOf.oneOf(MODEL_STATES).default('active').only('file', 'answer'),
  display_order: propertyOf.integer(-1_000_000, 1_000_000).default(0).inFile('order').only('file', 'answer'),
  lane_order: propertyOf.oneOf(LANE_ORDERS).default('weight'),
  /** Model name in responses, from the catalogue or from the supplier. The key's setting wins. */
  answer_model: propertyOf.oneOf(ANSWER_MODELS).default('caller').explained(),
  /** `off` forbids continuing a broken stream on another lane, whatever the key says. */
  continue_streams: propertyOf.oneOf(CONTINUE_STREAMS).default('on').explained(),
  context_tokens: propertyOf.integer(1, MAX_TOKENS).nullable('unknown'),
  max_output_tokens: propertyOf.integer(1, MAX_TOKENS).nullable('unknown'),
  /** Limits below the vendor's, set by an operator who knows better. */
  bounds: propertyOf
    .object<ModelBounds>({
      fromFile: boundsFromFile,
      toJson: boundsToJson,
      toText: (bounds) => leavesOf(boundsToJson(bounds)),
    })
    .default({})
    .only('file'),
  facts: propertyOf
    .object<FactsOverride>({
      fromFile: factsFromFile,
      toJson: overrideFields,
      toText: (facts) => leavesOf(overrideFields(facts)),
    })
    .default({})
    .only('file', 'answer', 'record'),
  input_modalities: propertyOf.words(16, 32).default(['text']),
  output_modalities: propertyOf.words(16, 32).default(['text']),
  capabilities: propertyOf.words(64, 64).default([]),
  replay_included: propertyOf.flag().default(false).only('file', 'answer'),
  restricted: propertyOf.flag().default(false),
  /** Not served from this date on, unless it redirects to another model. */
  retires_at: propertyOf.instant().nullable('never').explained(),
});

export type ModelValues = Defined<typeof modelFields>;
