import {
  budgetPeriods,
  choiceField,
  fault,
  type InputField,
  type FieldEntry,
  nonEmptyLine,
  instantField,
  type JsonFields,
  FieldError,
  type Nano,
  orNull,
  invalidField,
  rejectInvalidFields,
  rejectUnknownFields,
  normaliseRegion,
} from '../kernel';
import {
  keyBody,
  keyFields,
  MAX_LABEL_LENGTH,
  MAX_NAME_LENGTH,
  modelBudgetFields,
  MAX_LABELS,
  MAX_MODEL_BUDGETS,
  MAX_MODELS,
  MAX_REGIONS,
  ownerFields,
  rotationFields,
} from './key-fields';
import type { KeyChanges, NewKey } from './managed-key';
import type { NewModelBudget } from './model-budgets';

export interface ModelLookup {
  model(name: string): { readonly name: string; readonly state: string } | undefined;
}

const REGION = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const LABEL = /^[\w.:/-]{1,64}$/;
/** Names with a special meaning in JavaScript. */
const RESERVED_LABELS: readonly string[] = ['__proto__', 'constructor', 'prototype'];
/** A key that is allowed to call this model leaves the choice to the gateway. */
const AUTO = 'auto';

const restrictions = Object.keys(keyBody);
const nameField = nonEmptyLine(MAX_NAME_LENGTH);
const readOnlyBudgetFields = ['used', 'remaining', 'resets_at', 'frees_next'];
const owners = Object.keys(ownerFields) as (keyof typeof ownerFields)[];

export type NewKeyForm = Omit<NewKey, 'kind' | 'createdBy'>;

export function readNewKey(body: JsonFields, catalogue: ModelLookup): NewKeyForm {
  rejectUnknownFields(body, [...restrictions, ...owners]);
  if (body.name === undefined)
    throw fault('missing_fields', { param: 'name', message: 'A key needs a name.' });
  const { budgetLimit, budgetPeriod, ...fields } = readRestrictions(body, catalogue);
  if (budgetPeriod !== undefined && (budgetLimit === undefined || budgetLimit === null))
    throw invalidField('budget_limit', 'given together with budget_period');
  return {
    name: '',
    ...fields,
    ...readOwner(body),
    budget:
      budgetLimit === undefined || budgetLimit === null
        ? null
        : { limit: budgetLimit, period: budgetPeriod ?? 'monthly' },
  };
}

export function readKeyChanges(body: JsonFields, catalogue: ModelLookup): KeyChanges {
  rejectUnknownFields(body, [...restrictions, 'status']);
  if (Object.keys(body).length === 0) {
    throw fault('missing_fields', {
      message: `Name at least one field to change: ${[...restrictions, 'status'].join(', ')}.`,
    });
  }
  const changes = readRestrictions(body, catalogue);
  if (body.status === undefined) return changes;
  if (body.status === 'revoked')
    throw invalidField('status', 'active or disabled; a key is revoked for good by DELETE');
  return { ...changes, status: choiceField(body.status, 'status', ['active', 'disabled'] as const) };
}

export function readGrace(body: JsonFields): number {
  rejectUnknownFields(body, ['grace_seconds']);
  return readInteger(rotationFields.grace_seconds, body.grace_seconds, 'grace_seconds');
}

/** Reads a value through its field; throws the error message of the keys API if it is invalid. */
function readValue<Value>(field: InputField<Value>, value: unknown, param: string, expected: string): Value {
  const read = field.read(value);
  if (read instanceof FieldError) throw invalidField(param, expected);
  return read;
}

function readInteger<Value>(field: InputField<Value>, value: unknown, param: string): Value {
  const { minimum = 0, maximum = 0 } = field.schema;
  return readValue(field, value, param, `a whole number from ${minimum} to ${maximum.toLocaleString('en')}`);
}

/** Readers of fields that need more than a type check. */
const readers: Readonly<Record<string, (value: unknown, catalogue: ModelLookup) => unknown>> = {
  name: (value) =>
    readValue(
      nameField,
      value,
      'name',
      `a text of 1 to ${MAX_NAME_LENGTH} characters without control or invisible characters`,
    ),
  allowed_models: (value, catalogue) => orNull(value, (list) => readModels(list, catalogue)),
  allowed_regions: (value) => orNull(value, readRegions),
  metadata: (value) => orNull(value, readMetadata) ?? {},
  expires_at: (value) => orNull(value, readExpiry),
};

/** JSON must contain numbers as numbers and choices as strings; form texts are converted before. */
function readPlainField(value: unknown, { name, property }: FieldEntry): unknown {
  const { column, control, field, none } = property;
  if (value === null && none !== undefined) return null;
  if (control.choices !== undefined) return choiceField(value, name, control.choices);
  if (column.type === 'integer') {
    const nullHint = none === undefined ? '' : `, or null for ${none}`;
    if (typeof value !== 'number') throw invalidField(name, `a whole number${nullHint}`);
    return readInteger(field, value, name);
  }
  rejectInvalidFields({ [name]: field }, { [name]: value });
  return field.read(value);
}

/** Reads the fields shared by creation and change. An absent field stays absent in the result. */
function readRestrictions(body: JsonFields, catalogue: ModelLookup): KeyChanges {
  const {
    allowed_regions: regions,
    budget_limit: limit,
    budget_period: period,
    model_budgets: budgets,
  } = body;
  return {
    ...keyFields.fromBody(body, (value, field) =>
      (readers[field.name] ?? ((plain) => readPlainField(plain, field)))(value, catalogue),
    ),
    ...(regions === undefined ? {} : { regionsAsList: Array.isArray(regions) }),
    ...(limit === undefined ? {} : { budgetLimit: orNull(limit, readBudgetLimit) }),
    ...(period === undefined ? {} : { budgetPeriod: choiceField(period, 'budget_period', budgetPeriods) }),
    ...(budgets === undefined
      ? {}
      : { modelBudgets: orNull(budgets, (list) => readModelBudgets(list, catalogue)) ?? [] }),
  };
}

function readModels(value: unknown, catalogue: ModelLookup): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_MODELS) {
    throw invalidField(
      'allowed_models',
      `a list of 1 to ${MAX_MODELS.toLocaleString('en')} model ids, or null for every model`,
    );
  }
  const names = value.map((name: unknown, index) => {
    if (name === AUTO) return AUTO;
    const model = typeof name === 'string' ? catalogue.model(name) : undefined;
    if (model === undefined || model.state === 'deleted') {
      throw invalidField(`allowed_models.${index}`, 'the id or an alias of a model of the catalogue');
    }
    return model.name;
  });
  return [...new Set(names)];
}

function readRegions(value: unknown): string[] {
  const list: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  if (list.length === 0 || list.length > MAX_REGIONS)
    throw invalidField(
      'allowed_regions',
      'a region, a list of regions with commas or as an array, or null for all',
    );
  const regions = list.map((item, index) => {
    const region = typeof item === 'string' ? normaliseRegion(item) : '';
    if (!REGION.test(region)) {
      const param = Array.isArray(value) ? `allowed_regions.${index}` : 'allowed_regions';
      throw invalidField(param, 'the name of a region, like eu or us-east-1');
    }
    return region;
  });
  return [...new Set(regions)];
}

function readModelBudgets(value: unknown, catalogue: ModelLookup): NewModelBudget[] {
  if (!Array.isArray(value) || value.length > MAX_MODEL_BUDGETS)
    throw invalidField('model_budgets', `a list of at most ${MAX_MODEL_BUDGETS} budgets, or null for none`);
  const budgets = value.map((item: unknown, index): NewModelBudget => {
    const param = `model_budgets.${index}`;
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw invalidField(param, 'an object with model, limit and period');
    const input = item as JsonFields;
    rejectUnknownFields(input, ['model', 'limit', 'period', ...readOnlyBudgetFields]);
    const model = typeof input.model === 'string' ? catalogue.model(input.model) : undefined;
    if (model === undefined || model.state === 'deleted')
      throw invalidField(`${param}.model`, 'the id or an alias of a model of the catalogue');
    return {
      model: model.name,
      limit: readBudgetLimit(input.limit, `${param}.limit`),
      period:
        input.period === undefined ? 'monthly' : choiceField(input.period, `${param}.period`, budgetPeriods),
    };
  });
  if (new Set(budgets.map(({ model }) => model)).size < budgets.length)
    throw invalidField('model_budgets', 'one budget a model');
  return budgets;
}

function readBudgetLimit(value: unknown, param = 'budget_limit'): Nano {
  return readValue(
    modelBudgetFields.limit,
    value,
    param,
    'an amount in US dollars that is not negative, like 25 or 0.5, or null for none',
  );
}

function readMetadata(value: unknown): Record<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : null;
  if (entries === null || Array.isArray(value) || entries.length > MAX_LABELS)
    throw invalidField('metadata', `an object of at most ${MAX_LABELS} texts`);
  for (const [name, text] of entries) {
    if (!LABEL.test(name) || RESERVED_LABELS.includes(name))
      throw invalidField('metadata', 'named by letters, digits and _ . : / - of 1 to 64 characters');
    // PostgreSQL rejects unpaired surrogates.
    if (
      typeof text !== 'string' ||
      text.length > MAX_LABEL_LENGTH ||
      text.includes('\0') ||
      !text.isWellFormed()
    )
      throw invalidField(`metadata.${name}`, `a text of at most ${MAX_LABEL_LENGTH} characters`);
  }
  return Object.fromEntries(entries);
}

function readExpiry(value: unknown): Date {
  const instant = instantField(value, 'expires_at');
  if (instant.getTime() <= Date.now()) throw invalidField('expires_at', 'in the future');
  return instant;
}

function readOwner(
  body: JsonFields,
): Pick<NewKey, 'userId' | 'organisationId' | 'departmentId' | 'projectId'> {
  const [userId, organisationId, departmentId, projectId] = owners.map(
    (name) => readInteger(ownerFields[name], body[name], name) ?? null,
  ) as [number | null, number | null, number | null, number | null];
  const groups = [organisationId, departmentId, projectId].filter((id) => id !== null);
  if (groups.length > 1)
    throw invalidField('project_id', 'the only one of project_id, department_id and organisation_id');
  return { userId, organisationId, departmentId, projectId };
}
