import {
  ANSWER_MODELS,
  budgetPeriods,
  CONTINUE_STREAMS,
  type Defined,
  defineFields,
  dollars,
  Field,
  type Fields,
  filled,
  kept,
  line,
  listOf,
  Misfit,
  objectSchema,
  oneOf,
  optional,
  rowId,
  UNKNOWN_FIELD_MODES,
  whole,
} from '../kernel';

export const MOST_MODELS = 1_000;
export const MOST_REGIONS = 100;
export const MOST_LABELS = 64;
export const LONGEST_LABEL = 512;
export const MOST_MODEL_BUDGETS = 50;
export const LONGEST_NAME = 200;
const LONGEST_MODEL = 256;
const LONGEST_REGION = 63;
const MOST_GRACE_SECONDS = 30 * 24 * 3_600;

/**
 * The fields of a key are declared here and nowhere else. Its columns, gateway files, the interface, the pages, plans
 * and the activity log follow. Budgets, owners and what was decided about a key are things of their own.
 */
export const keyFields = defineFields('key', {
  name: kept.line(LONGEST_NAME).required().notOn('page'),
  allowed_models: kept.words(MOST_MODELS, LONGEST_MODEL, 1).nullable('every').notOn('page'),
  allowed_regions: kept.words(MOST_REGIONS, LONGEST_REGION, 1).nullable('every').notOn('page'),
  /** The regions were given as a list; as a text they are shown as one. */
  regions_as_list: kept.flag().default(false).only(),
  rate_limit_rpm: kept.whole(1, 1_000_000).nullable('the usual limit').explained(),
  rate_limit_tpm: kept.whole(1, 1_000_000_000).nullable('none').explained(),
  max_parallel: kept.whole(1, 10_000).nullable('none').explained(),
  /** Answers carry the model name of the catalogue or of the supplier. */
  answer_model: kept
    .oneOf(ANSWER_MODELS)
    .nullable('as the model says')
    .told('Whose name of the model answers carry; null: as the model says.')
    .explained(),
  /** `off` forbids that a broken stream goes on at another lane. */
  continue_streams: kept
    .oneOf(CONTINUE_STREAMS)
    .nullable('as the model says')
    .told('off: a stream that breaks off ends with an error; on or null: as the model says.')
    .explained(),
  unknown_fields: kept
    .oneOf(UNKNOWN_FIELD_MODES)
    .nullable('as its organisation says')
    .told(
      'Request fields that the gateway does not know. null: as the organisation or the installation says.',
    )
    .explained(),
  /** The labels are for the bookkeeping of its owner. */
  metadata: kept
    .object<Record<string, string>>({
      fromFile: (given) => given.data() as Record<string, string>,
      toJson: (labels) => labels,
      toText: (labels) => Object.entries(labels),
    })
    .default({})
    .notOn('page'),
  expires_at: kept.instant().nullable('never').notOn('page'),
});

export type KeyValues = Readonly<Defined<typeof keyFields>>;

const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === 'object' && given !== null && !Array.isArray(given);
const object = (schema: Field<unknown>['schema']): Field<Readonly<Record<string, unknown>>> =>
  new Field({
    schema,
    read: (given) => (isObject(given) ? given : new Misfit('isObject', 'must be an object')),
  });

export const modelBudgetFields = {
  model: line(LONGEST_MODEL),
  limit: dollars,
  period: oneOf(budgetPeriods).default('monthly'),
};

/** A key may be sent back as it was read, with what its budgets show beside their fields. */
const { additionalProperties: _others, ...modelBudget } = objectSchema(modelBudgetFields);

/** A key can have these fields, as its interface describes them; `key-form.ts` reads and refuses them. */
export const keyBody: Fields = optional({
  ...Object.fromEntries(keyFields.fields),
  allowed_regions: new Field<unknown>({
    schema: { anyOf: [{ type: 'string' }, listOf(line(LONGEST_REGION), MOST_REGIONS, 1).schema] },
    read: (given) => given,
  }).nullable(),
  budget_limit: dollars.nullable().told({ description: 'US dollars.' }),
  budget_period: oneOf(budgetPeriods),
  model_budgets: listOf(object(modelBudget), MOST_MODEL_BUDGETS)
    .nullable()
    .told({ description: 'What may be spent on single models, in US dollars.' }),
  metadata: object({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: LONGEST_LABEL },
  }).nullable(),
});

export const ownerFields = optional({
  user_id: rowId.nullable(),
  organisation_id: rowId.nullable(),
  department_id: rowId.nullable(),
  project_id: rowId.nullable(),
});

/** A new key has these. */
export const newKeyBody = { ...keyBody, name: filled(LONGEST_NAME), ...ownerFields };

/** A change has these, and names what changes alone. */
export const keyChangeBody = { ...keyBody, status: oneOf(['active', 'disabled'] as const).optional() };

/** The fields of a page that stand as they are: what is left empty is not said. */
export const typedKeyFields: Fields = Object.fromEntries(
  keyFields.on('page').map(({ name, property }) => [name, property.typedField]),
);

/** A new secret says for how long the former one still works. */
export const rotationFields = { grace_seconds: whole(0, MOST_GRACE_SECONDS).default(0) };
