import {
  budgetPeriods,
  day,
  dayOrInstant,
  dollars,
  type InputFields,
  nonEmptyLine,
  line,
  multilineText,
  listOf,
  oneOf,
  optional,
  rowId,
  trueOrFalse,
  typedDollars,
  uuid,
} from '../../kernel';
import { keyChangeBody, MAX_NAME_LENGTH, newKeyBody, rotationFields, typedKeyFields } from '../../keys';

/** Request bodies of the key pages: typed JSON from API clients, and texts from forms. */

export const keyActions = [
  'save',
  'pause',
  'resume',
  'rotate',
  'revoke',
  'restore',
  'raise',
  'end_raise',
  'exclude',
  'include',
] as const;
export type KeyPageAction = (typeof keyActions)[number];

const reasonField = nonEmptyLine(500);

const actionFields = {
  action: oneOf(keyActions).default('save'),
  reason: reasonField.orBlank(),
  confirmation: line(200).optional(),
  final: trueOrFalse.optional(),
  raise_id: rowId.optional(),
};

export const createKeyBody = { ...newKeyBody, creation_token: uuid.orBlank() } satisfies InputFields;

export const keyActionBody = {
  ...actionFields,
  ...keyChangeBody,
  limits_locked: trueOrFalse.optional(),
  ...optional(rotationFields),
  raise_amount: dollars.optional(),
  raise_until: dayOrInstant.optional(),
} satisfies InputFields;

const MAX_SELECTED = 1_000;
const MAX_SELECTED_LENGTH = 256;
/** Fits the maximum number of labels with names and values of maximum length. */
const MAX_LABELS_LENGTH = 40_000;
const MAX_BUDGETS_LENGTH = 20_000;

const selectionField = listOf(line(MAX_SELECTED_LENGTH), MAX_SELECTED).optional();

const sharedFormFields = {
  ...typedKeyFields,
  budget_limit: typedDollars.orBlank(),
  budget_period: oneOf(budgetPeriods).orBlank(),
  models_mode: oneOf(['all', 'pick'] as const).default('all'),
  allowed_models: selectionField,
  allowed_regions: selectionField,
  /** Lines of `model = amount period`. */
  model_budgets: multilineText(MAX_BUDGETS_LENGTH).orBlank(),
  expires_on: day.orBlank(),
  /** Lines of `name=value`. */
  labels: multilineText(MAX_LABELS_LENGTH).orBlank(),
};

export const createKeyPage = {
  ...sharedFormFields,
  name: nonEmptyLine(MAX_NAME_LENGTH),
  budget_period: sharedFormFields.budget_period.default('monthly'),
  project_id: rowId.orBlank(),
  creation_token: uuid.orBlank(),
} satisfies InputFields;

export const keyActionPage = {
  ...actionFields,
  ...sharedFormFields,
  name: nonEmptyLine(MAX_NAME_LENGTH).optional(),
  /** Marks that the form has the box below, because browsers do not send an unchecked one. */
  limits_lock_shown: line(1).optional(),
  limits_locked: trueOrFalse.optional(),
  ...optional(rotationFields),
  raise_amount: typedDollars.optional(),
  raise_until: day.optional(),
} satisfies InputFields;
