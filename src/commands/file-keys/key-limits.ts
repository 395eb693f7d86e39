import type { FutureModels, DesiredKey } from '../../catalogue';
import { Fault } from '../../kernel';
import { type ManagedKey, type NewKeyForm, readKeyChanges, readNewKey } from '../../keys';
import { InvalidTextError } from './key-owners';

export interface KeyLimits {
  readonly form: NewKeyForm | null;
  readonly faults: readonly InvalidTextError[];
}

/** Validates the limits of a key like `/v1/manage/keys`, and returns every fault with its position. */
export function readLimits(
  desiredKey: DesiredKey,
  models: FutureModels,
  existing: ManagedKey | undefined,
): KeyLimits {
  // An expiry that has passed by now was in the future when the key was created.
  const keepsExpiry = desiredKey.limits.some(
    ({ field, value }) => field === 'expires_at' && isExpiryOf(existing, value),
  );
  const limits = desiredKey.limits.filter(({ field }) => !(keepsExpiry && field === 'expires_at'));
  const faults = limits.flatMap(({ at, field, value }) => {
    const problem = problemOf(() => readKeyChanges({ [field]: value }, models));
    return problem === null ? [] : [new InvalidTextError(at, problem)];
  });
  if (faults.length > 0) return { form: null, faults };
  const body = {
    name: desiredKey.name,
    ...Object.fromEntries(limits.map(({ field, value }) => [field, value])),
  };
  try {
    const form = readNewKey(body, models);
    return { form: keepsExpiry ? { ...form, expiresAt: existing?.expiresAt ?? null } : form, faults };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { form: null, faults: [new InvalidTextError(desiredKey.at, error.humanMessage)] };
  }
}

const isExpiryOf = (existing: ManagedKey | undefined, value: unknown): boolean =>
  existing?.expiresAt?.getTime() === Date.parse(String(value));

function problemOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof Fault) return error.humanMessage;
    throw error;
  }
}
