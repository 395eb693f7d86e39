import {
  ANSWER_MODELS,
  budgetPeriods,
  CONTINUE_STREAMS,
  type Defined,
  defineFields,
  dollars,
  InputField,
  type InputFields,
  nonEmptyLine,
  propertyOf,
  line,
  listOf,
  FieldError,
  objectSchema,
  oneOf,
  optional,
  rowId,
  UNKNOWN_FIELD_MODES,
  integer,
} from '../kernel';

export const MAX_MODELS = 1_000;
export const MAX_REGIONS = 100;
export const MAX_LABELS = 64;
export const MAX_LABEL_LENGTH = 512;
export const MAX_MODEL_BUDGETS = 50;
export const MAX_NAME_LENGTH = 200;
const MAX_MODEL_LENGTH = 256;
const MAX_REGION_LENGTH = 63;
const MAX_GRACE_SECONDS = 30 * 24 * 3_600;

/**
 * Single declaration of the fields of a key: columns, gateway files, the API, pages, plans and the audit log follow
 * from it. Budgets, owners and decisions about a key are separate.
 */
export const keyFields = defineFields('key', {
  name: propertyOf.line(MAX_NAME_LENGTH).required().notOn('page'),
  allowed_models: propertyOf.words(MAX_MODELS, MAX_MODEL_LENGTH, 1).nullable('every').notOn('page'),
  allowed_regions: propertyOf.words(MAX_REGIONS, MAX_REGION_LENGTH, 1).nullable('every').notOn('page'),
  /** Whether the regions were entered as a list; otherwise they are returned as a text. */
  regions_as_list: propertyOf.flag().default(false).only(),
  rate_limit_rpm: propertyOf.integer(1, 1_000_000).nullable('the usual limit').explained(),
  rate_limit_tpm: propertyOf.integer(1, 1_000_000_000).nullable('none').explained(),
  max_parallel: propertyOf.integer(1, 10_000).nullable('none').explained(),
  /** Whether responses carry the model name of the catalogue or of the supplier. */
  answer_model: propertyOf
    .oneOf(ANSWER_MODELS)
    .nullable('as the model says')
    .describedAs('Whose name of the model answers carry; null: as the model says.')
    .explained(),
  /** `off` prevents a broken stream from continuing on another lane. */
  continue_streams: propertyOf
    .oneOf(CONTINUE_STREAMS)
    .nullable('as the model says')
    .describedAs('off: a stream that breaks off ends with an error; on or null: as the model says.')
    .explained(),
  unknown_fields: propertyOf
    .oneOf(UNKNOWN_FIELD_MODES)
    .nullable('as its organisation says')
    .describedAs(
      'Request fields that the gateway does not know. null: as the organisation or the installation says.',
    )
    .explained(),
  metadata: propertyOf
    .object<Record<string, string>>({
      fromFile: (input) => input.data() as Record<string, string>,
      toJson: (labels) => labels,
      toText: (labels) => Object.entries(labels),
    })
    .default({})
    .notOn('page'),
  expires_at: propertyOf.instant().nullable('never').notOn('page'),
});

export type KeyValues = Readonly<Defined<typeof keyFields>>;

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectField = (schema: InputField<unknown>['schema']): InputField<Readonly<Record<string, unknown>>> =>
  new InputField({
    schema,
    read: (value) => (isPlainObject(value) ? value : new FieldError('isObject', 'must be an object')),
  });

export const modelBudgetFields = {
  model: line(MAX_MODEL_LENGTH),
  limit: dollars,
  period: oneOf(budgetPeriods).default('monthly'),
};

/** A key can be sent back as it was read, including the read-only values next to the fields of its budgets. */
const { additionalProperties: _others, ...modelBudget } = objectSchema(modelBudgetFields);

/** Fields of a key as described by the API; `key-form.ts` validates them. */
export const keyBody: InputFields = optional({
  ...Object.fromEntries(keyFields.fields),
  allowed_regions: new InputField<unknown>({
    schema: { anyOf: [{ type: 'string' }, listOf(line(MAX_REGION_LENGTH), MAX_REGIONS, 1).schema] },
    read: (value) => value,
  }).nullable(),
  budget_limit: dollars.nullable().withSchema({ description: 'US dollars.' }),
  budget_period: oneOf(budgetPeriods),
  model_budgets: listOf(objectField(modelBudget), MAX_MODEL_BUDGETS)
    .nullable()
    .withSchema({ description: 'What may be spent on single models, in US dollars.' }),
  metadata: objectField({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: MAX_LABEL_LENGTH },
  }).nullable(),
});

export const ownerFields = optional({
  user_id: rowId.nullable(),
  organisation_id: rowId.nullable(),
  department_id: rowId.nullable(),
  project_id: rowId.nullable(),
});

export const newKeyBody = { ...keyBody, name: nonEmptyLine(MAX_NAME_LENGTH), ...ownerFields };

export const keyChangeBody = { ...keyBody, status: oneOf(['active', 'disabled'] as const).optional() };

/** Fields of a page that are submitted as typed; blank fields are omitted. */
export const typedKeyFields: InputFields = Object.fromEntries(
  keyFields.on('page').map(({ name, property }) => [name, property.typedField]),
);

/** Defines how long the former secret stays valid after a rotation. */
export const rotationFields = { grace_seconds: integer(0, MAX_GRACE_SECONDS).default(0) };
