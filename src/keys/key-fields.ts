import {
  ANSWER_MODELS,
  budgetPeriods,
  CONTINUE_STREAMS,
  dayOrInstant,
  dollars,
  Field,
  filled,
  line,
  listOf,
  Misfit,
  objectSchema,
  oneOf,
  optional,
  rowId,
  whole,
} from '../kernel';

/** What may be said of a key: its fields are declared here, and read, refused and described by that. */

export const MOST_MODELS = 1_000;
export const MOST_REGIONS = 100;
export const MOST_LABELS = 64;
export const LONGEST_LABEL = 512;
export const MOST_MODEL_BUDGETS = 50;
const LONGEST_MODEL = 256;
const LONGEST_REGION = 63;
const MOST_GRACE_SECONDS = 30 * 24 * 3_600;

const model = line(LONGEST_MODEL);
const regions = listOf(line(LONGEST_REGION), MOST_REGIONS, 1);

const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === 'object' && given !== null && !Array.isArray(given);
const object = (schema: Field<unknown>['schema']): Field<Readonly<Record<string, unknown>>> =>
  new Field({
    schema,
    read: (given) => (isObject(given) ? given : new Misfit('isObject', 'must be an object')),
  });

export const modelBudgetFields = {
  model,
  limit: dollars,
  period: oneOf(budgetPeriods).default('monthly'),
};

/** A key may be sent back as it was read, with what its budgets show beside their fields. */
const { additionalProperties: _others, ...modelBudget } = objectSchema(modelBudgetFields);

export const keyCounts = {
  rate_limit_rpm: whole(1, 1_000_000),
  rate_limit_tpm: whole(1, 1_000_000_000),
  max_parallel: whole(1, 10_000),
};

export const keyFields = {
  name: filled(200),
  allowed_models: listOf(model, MOST_MODELS, 1).nullable(),
  allowed_regions: new Field<unknown>({
    schema: { anyOf: [{ type: 'string' }, regions.schema] },
    read: (given) => given,
  }).nullable(),
  budget_limit: dollars.nullable().told({ description: 'US dollars.' }),
  budget_period: oneOf(budgetPeriods),
  model_budgets: listOf(object(modelBudget), MOST_MODEL_BUDGETS)
    .nullable()
    .told({ description: 'What may be spent on single models, in US dollars.' }),
  rate_limit_rpm: keyCounts.rate_limit_rpm.nullable(),
  rate_limit_tpm: keyCounts.rate_limit_tpm.nullable(),
  max_parallel: keyCounts.max_parallel.nullable(),
  answer_model: oneOf(ANSWER_MODELS)
    .nullable()
    .told({ description: 'Whose name of the model answers carry; null: as the model says.' }),
  continue_streams: oneOf(CONTINUE_STREAMS).nullable().told({
    description: 'off: a stream that breaks off ends with an error; on or null: as the model says.',
  }),
  metadata: object({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: LONGEST_LABEL },
  }).nullable(),
  expires_at: dayOrInstant.nullable(),
};

export const ownerFields = optional({
  user_id: rowId.nullable(),
  organisation_id: rowId.nullable(),
  department_id: rowId.nullable(),
  project_id: rowId.nullable(),
});

/** A new key has these. */
export const newKeyFields = { ...optional(keyFields), name: keyFields.name, ...ownerFields };

/** A change has these, and names what changes alone. */
export const keyChangeFields = {
  ...optional(keyFields),
  status: oneOf(['active', 'disabled'] as const).optional(),
};

/** A new secret says for how long the former one still works. */
export const rotationFields = { grace_seconds: whole(0, MOST_GRACE_SECONDS).default(0) };
