import {
  budgetPeriods,
  choiceField,
  fault,
  type Field,
  type FieldEntry,
  filled,
  instantField,
  type JsonFields,
  Misfit,
  type Nano,
  orNull,
  refused,
  refuseMisfits,
  refuseUnknownFields,
  regionNamed,
} from '../kernel';
import {
  keyBody,
  keyFields,
  LONGEST_LABEL,
  LONGEST_NAME,
  modelBudgetFields,
  MOST_LABELS,
  MOST_MODEL_BUDGETS,
  MOST_MODELS,
  MOST_REGIONS,
  ownerFields,
  rotationFields,
} from './key-fields';
import type { KeyChanges, NewKey } from './managed-key';
import type { NewModelBudget } from './model-budgets';

/** The models that a key may be for; a catalogue is one. */
export interface KnownModels {
  model(name: string): { readonly name: string; readonly state: string } | undefined;
}

const REGION = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const LABEL = /^[\w.:/-]{1,64}$/;
/** Names that mean something else to JavaScript than a label. */
const RESERVED_LABELS: readonly string[] = ['__proto__', 'constructor', 'prototype'];
/** A key that may call this leaves the choice of the model to the gateway. */
const AUTO = 'auto';

const restrictions = Object.keys(keyBody);
const nameField = filled(LONGEST_NAME);
/** These fields of a model's budget may be sent back with it. */
const shownOfModelBudget = ['used', 'remaining', 'resets_at', 'frees_next'];
const owners = Object.keys(ownerFields) as (keyof typeof ownerFields)[];

export type NewKeyForm = Omit<NewKey, 'kind' | 'createdBy'>;

export function readNewKey(body: JsonFields, catalogue: KnownModels): NewKeyForm {
  refuseUnknownFields(body, [...restrictions, ...owners]);
  if (body.name === undefined)
    throw fault('missing_fields', { param: 'name', message: 'A key needs a name.' });
  const { budgetLimit, budgetPeriod, ...fields } = readRestrictions(body, catalogue);
  if (budgetPeriod !== undefined && (budgetLimit === undefined || budgetLimit === null))
    throw refused('budget_limit', 'given together with budget_period');
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

export function readKeyChanges(body: JsonFields, catalogue: KnownModels): KeyChanges {
  refuseUnknownFields(body, [...restrictions, 'status']);
  if (Object.keys(body).length === 0) {
    throw fault('missing_fields', {
      message: `Name at least one field to change: ${[...restrictions, 'status'].join(', ')}.`,
    });
  }
  const changes = readRestrictions(body, catalogue);
  if (body.status === undefined) return changes;
  if (body.status === 'revoked')
    throw refused('status', 'active or disabled; a key is revoked for good by DELETE');
  return { ...changes, status: choiceField(body.status, 'status', ['active', 'disabled'] as const) };
}

export function readGrace(body: JsonFields): number {
  refuseUnknownFields(body, ['grace_seconds']);
  return wholeIn(rotationFields.grace_seconds, body.grace_seconds, 'grace_seconds');
}

/** The value is as the field takes it, or refused in the words of the key's own interface. */
function valueOf<Value>(field: Field<Value>, value: unknown, param: string, expected: string): Value {
  const read = field.read(value);
  if (read instanceof Misfit) throw refused(param, expected);
  return read;
}

function wholeIn<Value>(field: Field<Value>, value: unknown, param: string): Value {
  const { minimum = 0, maximum = 0 } = field.schema;
  return valueOf(field, value, param, `a whole number from ${minimum} to ${maximum.toLocaleString('en')}`);
}

/** These fields are judged by more than their kind. */
const readers: Readonly<Record<string, (value: unknown, catalogue: KnownModels) => unknown>> = {
  name: (value) =>
    valueOf(
      nameField,
      value,
      'name',
      `a text of 1 to ${LONGEST_NAME} characters without control or invisible characters`,
    ),
  allowed_models: (value, catalogue) => orNull(value, (list) => readModels(list, catalogue)),
  allowed_regions: (value) => orNull(value, readRegions),
  metadata: (value) => orNull(value, readMetadata) ?? {},
  expires_at: (value) => orNull(value, readExpiry),
};

/** Numbers are numbers here, and choices are words: the texts of forms are read before. */
function readPlain(value: unknown, { name, property }: FieldEntry): unknown {
  const { column, control, field, none } = property;
  if (value === null && none !== undefined) return null;
  if (control.choices !== undefined) return choiceField(value, name, control.choices);
  if (column.type === 'integer') {
    const orNone = none === undefined ? '' : `, or null for ${none}`;
    if (typeof value !== 'number') throw refused(name, `a whole number${orNone}`);
    return wholeIn(field, value, name);
  }
  refuseMisfits({ [name]: field }, { [name]: value });
  return field.read(value);
}

/** Creation and change share these fields. An absent field stays absent in the result. */
function readRestrictions(body: JsonFields, catalogue: KnownModels): KeyChanges {
  const {
    allowed_regions: regions,
    budget_limit: limit,
    budget_period: period,
    model_budgets: budgets,
  } = body;
  return {
    ...keyFields.given(body, (value, field) =>
      (readers[field.name] ?? ((plain) => readPlain(plain, field)))(value, catalogue),
    ),
    ...(regions === undefined ? {} : { regionsAsList: Array.isArray(regions) }),
    ...(limit === undefined ? {} : { budgetLimit: orNull(limit, readBudgetLimit) }),
    ...(period === undefined ? {} : { budgetPeriod: choiceField(period, 'budget_period', budgetPeriods) }),
    ...(budgets === undefined
      ? {}
      : { modelBudgets: orNull(budgets, (list) => readModelBudgets(list, catalogue)) ?? [] }),
  };
}

function readModels(value: unknown, catalogue: KnownModels): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_MODELS) {
    throw refused(
      'allowed_models',
      `a list of 1 to ${MOST_MODELS.toLocaleString('en')} model ids, or null for every model`,
    );
  }
  const names = value.map((name: unknown, place) => {
    if (name === AUTO) return AUTO;
    const model = typeof name === 'string' ? catalogue.model(name) : undefined;
    if (model === undefined || model.state === 'deleted') {
      throw refused(`allowed_models.${place}`, 'the id or an alias of a model of the catalogue');
    }
    return model.name;
  });
  return [...new Set(names)];
}

function readRegions(value: unknown): string[] {
  const list: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  if (list.length === 0 || list.length > MOST_REGIONS)
    throw refused(
      'allowed_regions',
      'a region, a list of regions with commas or as an array, or null for all',
    );
  const regions = list.map((item, place) => {
    const region = typeof item === 'string' ? regionNamed(item) : '';
    if (!REGION.test(region)) {
      const param = Array.isArray(value) ? `allowed_regions.${place}` : 'allowed_regions';
      throw refused(param, 'the name of a region, like eu or us-east-1');
    }
    return region;
  });
  return [...new Set(regions)];
}

function readModelBudgets(value: unknown, catalogue: KnownModels): NewModelBudget[] {
  if (!Array.isArray(value) || value.length > MOST_MODEL_BUDGETS)
    throw refused('model_budgets', `a list of at most ${MOST_MODEL_BUDGETS} budgets, or null for none`);
  const budgets = value.map((item: unknown, place): NewModelBudget => {
    const param = `model_budgets.${place}`;
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw refused(param, 'an object with model, limit and period');
    const given = item as JsonFields;
    refuseUnknownFields(given, ['model', 'limit', 'period', ...shownOfModelBudget]);
    const model = typeof given.model === 'string' ? catalogue.model(given.model) : undefined;
    if (model === undefined || model.state === 'deleted')
      throw refused(`${param}.model`, 'the id or an alias of a model of the catalogue');
    return {
      model: model.name,
      limit: readBudgetLimit(given.limit, `${param}.limit`),
      period:
        given.period === undefined ? 'monthly' : choiceField(given.period, `${param}.period`, budgetPeriods),
    };
  });
  if (new Set(budgets.map(({ model }) => model)).size < budgets.length)
    throw refused('model_budgets', 'one budget a model');
  return budgets;
}

function readBudgetLimit(value: unknown, param = 'budget_limit'): Nano {
  return valueOf(
    modelBudgetFields.limit,
    value,
    param,
    'an amount in US dollars that is not negative, like 25 or 0.5, or null for none',
  );
}

function readMetadata(value: unknown): Record<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : null;
  if (entries === null || Array.isArray(value) || entries.length > MOST_LABELS)
    throw refused('metadata', `an object of at most ${MOST_LABELS} texts`);
  for (const [name, text] of entries) {
    if (!LABEL.test(name) || RESERVED_LABELS.includes(name))
      throw refused('metadata', 'named by letters, digits and _ . : / - of 1 to 64 characters');
    // PostgreSQL rejects an unpaired surrogate.
    if (
      typeof text !== 'string' ||
      text.length > LONGEST_LABEL ||
      text.includes('\0') ||
      !text.isWellFormed()
    )
      throw refused(`metadata.${name}`, `a text of at most ${LONGEST_LABEL} characters`);
  }
  return Object.fromEntries(entries);
}

function readExpiry(value: unknown): Date {
  const instant = instantField(value, 'expires_at');
  if (instant.getTime() <= Date.now()) throw refused('expires_at', 'in the future');
  return instant;
}

function readOwner(
  body: JsonFields,
): Pick<NewKey, 'userId' | 'organisationId' | 'departmentId' | 'projectId'> {
  const [userId, organisationId, departmentId, projectId] = owners.map(
    (name) => wholeIn(ownerFields[name], body[name], name) ?? null,
  ) as [number | null, number | null, number | null, number | null];
  const groups = [organisationId, departmentId, projectId].filter((id) => id !== null);
  if (groups.length > 1)
    throw refused('project_id', 'the only one of project_id, department_id and organisation_id');
  return { userId, organisationId, departmentId, projectId };
}
