import {
  ANSWER_MODELS,
  CONTINUE_STREAMS,
  type Defined,
  defineFields,
  type FileValue,
  kept,
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

/** Lanes of one priority are ordered by weight, by lowest price, or by quickest answers. */
const LANE_ORDERS = ['weight', 'price', 'latency'] as const;
export type LaneOrder = (typeof LANE_ORDERS)[number];

const MOST_TOKENS = 100_000_000;

/** The most input tokens that one thing takes; what is left out takes what its vendor allows. */
export interface ModelBounds {
  readonly imageTokens?: number;
  readonly documentTokens?: number;
  /** Content that only the supplier knows: an earlier answer, a stored prompt, a part of an unknown kind. */
  readonly referenceTokens?: number;
  /** The input tokens that one use of a server tool adds. */
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

function boundsFromFile(given: FileValue): ModelBounds {
  const fields = given.fields(...(Object.keys(boundNames) as BoundName[]));
  return Object.fromEntries(
    Object.entries(boundNames).flatMap(([name, key]) => {
      const tokens = fields[name as BoundName].wholeNumber(1);
      return tokens === undefined ? [] : [[key, tokens]];
    }),
  );
}

function factsFromFile(given: FileValue): FactsOverride {
  const { override, faults } = readOverride(given.data());
  for (const { path, problem } of faults) given.faultBelow(path.replace(/^facts\.?/, ''), problem);
  return override;
}

/**
 * The fields of a model are declared here and nowhere else, except its name and its references. Its columns,
 * `gateway.yaml`, the interface, the page, plans and the activity log follow.
 */
export const modelFields = defineFields('model', {
  display_name: kept.line(200).required(),
  owned_by: kept.line(120).required(),
  kind: kept.oneOf(MODEL_KINDS).usual('chat').notOn('page'),
  state: kept.oneOf(MODEL_STATES).default('active').only('file', 'answer'),
  display_order: kept.whole(-1_000_000, 1_000_000).default(0).inFile('order').only('file', 'answer'),
  lane_order: kept.oneOf(LANE_ORDERS).default('weight'),
  /** Answers carry the model name of the catalogue or of the supplier. The key's setting wins. */
  answer_model: kept.oneOf(ANSWER_MODELS).default('caller').explained(),
  /** `off` forbids that a broken stream goes on at another lane, whatever the key says. */
  continue_streams: kept.oneOf(CONTINUE_STREAMS).default('on').explained(),
  context_tokens: kept.whole(1, MOST_TOKENS).nullable('unknown'),
  max_output_tokens: kept.whole(1, MOST_TOKENS).nullable('unknown'),
  /** Below the vendor's own, where the operator knows better. */
  bounds: kept
    .object<ModelBounds>({
      fromFile: boundsFromFile,
      toJson: boundsToJson,
      toText: (bounds) => leavesOf(boundsToJson(bounds)),
    })
    .default({})
    .only('file'),
  /** The operator corrects the table of the vendor's facts with these. */
  facts: kept
    .object<FactsOverride>({
      fromFile: factsFromFile,
      toJson: overrideFields,
      toText: (facts) => leavesOf(overrideFields(facts)),
    })
    .default({})
    .only('file', 'answer', 'record'),
  input_modalities: kept.words(16, 32).default(['text']),
  output_modalities: kept.words(16, 32).default(['text']),
  capabilities: kept.words(64, 64).default([]),
  replay_included: kept.flag().default(false).only('file', 'answer'),
  /** Open only to organisations it was granted to. */
  restricted: kept.flag().default(false),
  /** Not served from this date on, unless it redirects to another model. */
  retires_at: kept.instant().nullable('never').explained(),
});

export type ModelValues = Defined<typeof modelFields>;
