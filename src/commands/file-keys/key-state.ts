import type { FieldTexts } from '../../catalogue';
import { type AnswerModel, type ContinueStreams, formatUsd } from '../../kernel';
import type { KeyBudget, ManagedKey, NewKey, NewKeyForm } from '../../keys';

/** What a file says of a key, but for whose it is. */
export interface KeyState {
  readonly name: string;
  readonly status: 'active' | 'disabled';
  readonly allowedModels: readonly string[] | null;
  readonly allowedRegions: readonly string[] | null;
  readonly budget: KeyBudget | null;
  readonly modelBudgets: NonNullable<NewKey['modelBudgets']>;
  readonly rateLimitRpm: number | null;
  readonly rateLimitTpm: number | null;
  readonly maxParallel: number | null;
  readonly answerModel: AnswerModel | null;
  readonly continueStreams: ContinueStreams | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly expiresAt: Date | null;
}

export const stateOfKey = (key: ManagedKey): KeyState => ({
  ...key,
  status: key.status === 'disabled' ? 'disabled' : 'active',
  modelBudgets: key.modelBudgets.map(({ model, state }) => ({ ...state, model })),
});

export const stateOfForm = (form: NewKeyForm, status: KeyState['status']): KeyState => ({
  name: form.name,
  status,
  allowedModels: form.allowedModels ?? null,
  allowedRegions: form.allowedRegions ?? null,
  budget: form.budget ?? null,
  modelBudgets: form.modelBudgets ?? [],
  rateLimitRpm: form.rateLimitRpm ?? null,
  rateLimitTpm: form.rateLimitTpm ?? null,
  maxParallel: form.maxParallel ?? null,
  answerModel: form.answerModel ?? null,
  continueStreams: form.continueStreams ?? null,
  metadata: form.metadata ?? {},
  expiresAt: form.expiresAt ?? null,
});

/** What a plan shows of a key. A limit that it does not have is left out. */
export function keyTexts(state: KeyState): FieldTexts {
  const texts = new Map([
    ['name', state.name],
    ['status', state.status],
    ['allowed_models', state.allowedModels?.toSorted().join(', ') ?? 'every'],
    ['allowed_regions', state.allowedRegions?.toSorted().join(', ') ?? 'every'],
  ]);
  const note = (field: string, value: number | string | undefined | null): void => {
    if (value !== null && value !== undefined) texts.set(field, String(value));
  };
  note('budget', state.budget && budgetText(state.budget));
  for (const { model, ...budget } of state.modelBudgets) note(`budget of ${model}`, budgetText(budget));
  note('rate_limit_rpm', state.rateLimitRpm);
  note('rate_limit_tpm', state.rateLimitTpm);
  note('max_parallel', state.maxParallel);
  note('answer_model', state.answerModel);
  note('continue_streams', state.continueStreams);
  for (const [label, text] of Object.entries(state.metadata)) note(`metadata.${label}`, text);
  note('expires_at', state.expiresAt?.toISOString());
  return texts;
}

const budgetText = ({ limit, period }: KeyBudget): string => `$${formatUsd(limit)} ${period}`;
