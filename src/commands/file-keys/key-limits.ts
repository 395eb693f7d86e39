import type { ComingModels, DesiredKey } from '../../catalogue';
import { Fault } from '../../kernel';
import { type ManagedKey, type NewKeyForm, readKeyChanges, readNewKey } from '../../keys';
import { MisplacedText } from './key-owners';

export interface KeyLimits {
  readonly form: NewKeyForm | null;
  readonly faults: readonly MisplacedText[];
}

/** The limits of the key are judged as `/v1/manage/keys` does it: every fault with its place. */
export function limitsIn(wanted: DesiredKey, models: ComingModels, known: ManagedKey | undefined): KeyLimits {
  // An end that is over by now was in the future when the key was made.
  const kept = wanted.limits.some(({ field, value }) => field === 'expires_at' && isEndOf(known, value));
  const limits = wanted.limits.filter(({ field }) => !(kept && field === 'expires_at'));
  const faults = limits.flatMap(({ at, field, value }) => {
    const problem = problemOf(() => readKeyChanges({ [field]: value }, models));
    return problem === null ? [] : [new MisplacedText(at, problem)];
  });
  if (faults.length > 0) return { form: null, faults };
  const body = { name: wanted.name, ...Object.fromEntries(limits.map(({ field, value }) => [field, value])) };
  try {
    const form = readNewKey(body, models);
    return { form: kept ? { ...form, expiresAt: known?.expiresAt ?? null } : form, faults };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { form: null, faults: [new MisplacedText(wanted.at, error.humanMessage)] };
  }
}

const isEndOf = (known: ManagedKey | undefined, value: unknown): boolean =>
  known?.expiresAt?.getTime() === Date.parse(String(value));

function problemOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof Fault) return error.humanMessage;
    throw error;
  }
}
