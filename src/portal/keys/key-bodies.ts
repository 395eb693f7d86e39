import {
  ANSWER_MODELS,
  budgetPeriods,
  CONTINUE_STREAMS,
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
import { keyChangeFields, keyCounts, keyFields, newKeyFields, rotationFields } from '../../keys';

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

export const newKeyBody = { ...newKeyFields, creation_token: uuid.orBlank() } satisfies Fields;

export const keyActBody = {
  ...beside,
  ...keyChangeFields,
  limits_locked: truth.optional(),
  ...optional(rotationFields),
  raise_amount: dollars.optional(),
  raise_until: dayOrInstant.optional(),
} satisfies Fields;

const MOST_PICKED = 1_000;
const LONGEST_NAME = 256;
/** So much that all labels fit whose names and texts are as long as they may be. */
const LONGEST_LABELS = 40_000;
const LONGEST_BUDGETS = 20_000;

const picked = listOf(line(LONGEST_NAME), MOST_PICKED).optional();

/** The fields that both forms show. */
const shown = {
  budget_limit: typedDollars.orBlank(),
  budget_period: oneOf(budgetPeriods).orBlank(),
  models_mode: oneOf(['all', 'pick'] as const).default('all'),
  allowed_models: picked,
  allowed_regions: picked,
  rate_limit_rpm: keyCounts.rate_limit_rpm.orBlank(),
  rate_limit_tpm: keyCounts.rate_limit_tpm.orBlank(),
  max_parallel: keyCounts.max_parallel.orBlank(),
  answer_model: oneOf(ANSWER_MODELS).orBlank(),
  continue_streams: oneOf(CONTINUE_STREAMS).orBlank(),
  /** Each line reads `model = amount period`. */
  model_budgets: lines(LONGEST_BUDGETS).orBlank(),
  expires_on: day.orBlank(),
  /** Each line reads `name=value`. */
  labels: lines(LONGEST_LABELS).orBlank(),
};

export const newKeyPage = {
  ...shown,
  name: keyFields.name,
  budget_period: shown.budget_period.default('monthly'),
  project_id: rowId.orBlank(),
  creation_token: uuid.orBlank(),
} satisfies Fields;

export const keyActPage = {
  ...beside,
  ...shown,
  name: keyFields.name.optional(),
  /** Whether the form had the box: one that is not ticked is not sent. */
  limits_lock_shown: line(1).optional(),
  limits_locked: truth.optional(),
  ...optional(rotationFields),
  raise_amount: typedDollars.optional(),
  raise_until: day.optional(),
} satisfies Fields;
