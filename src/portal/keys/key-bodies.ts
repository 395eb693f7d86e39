import {
  budgetPeriods,
  day,
  dayOrInstant,
  dollars,
  type Fields,
  filled,
  line,
  lines,
  listOf,
  oneOf,
  optional,
  rowId,
  truth,
  typedDollars,
  uuid,
} from '../../kernel';
import { keyChangeBody, LONGEST_NAME, newKeyBody, rotationFields, typedKeyFields } from '../../keys';

/** The bodies of the pages of keys: as programs send them, and as the forms do, which have texts alone. */

export const acts = [
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
export type Act = (typeof acts)[number];

const reasonField = filled(500);

const beside = {
  action: oneOf(acts).default('save'),
  reason: reasonField.orBlank(),
  confirmation: line(200).optional(),
  final: truth.optional(),
  raise_id: rowId.optional(),
};

export const makeKeyBody = { ...newKeyBody, creation_token: uuid.orBlank() } satisfies Fields;

export const keyActBody = {
  ...beside,
  ...keyChangeBody,
  limits_locked: truth.optional(),
  ...optional(rotationFields),
  raise_amount: dollars.optional(),
  raise_until: dayOrInstant.optional(),
} satisfies Fields;

const MOST_PICKED = 1_000;
const LONGEST_PICKED = 256;
/** All labels fit whose names and texts are as long as they may be. */
const LONGEST_LABELS = 40_000;
const LONGEST_BUDGETS = 20_000;

const picked = listOf(line(LONGEST_PICKED), MOST_PICKED).optional();

/** The fields that both forms show. */
const shown = {
  ...typedKeyFields,
  budget_limit: typedDollars.orBlank(),
  budget_period: oneOf(budgetPeriods).orBlank(),
  models_mode: oneOf(['all', 'pick'] as const).default('all'),
  allowed_models: picked,
  allowed_regions: picked,
  /** Each line reads `model = amount period`. */
  model_budgets: lines(LONGEST_BUDGETS).orBlank(),
  expires_on: day.orBlank(),
  /** Each line reads `name=value`. */
  labels: lines(LONGEST_LABELS).orBlank(),
};

export const makeKeyPage = {
  ...shown,
  name: filled(LONGEST_NAME),
  budget_period: shown.budget_period.default('monthly'),
  project_id: rowId.orBlank(),
  creation_token: uuid.orBlank(),
} satisfies Fields;

export const keyActPage = {
  ...beside,
  ...shown,
  name: filled(LONGEST_NAME).optional(),
  /** The form had the box: one that is not ticked is not sent. */
  limits_lock_shown: line(1).optional(),
  limits_locked: truth.optional(),
  ...optional(rotationFields),
  raise_amount: typedDollars.optional(),
  raise_until: day.optional(),
} satisfies Fields;
