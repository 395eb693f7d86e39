import { deviceOf } from '../../identity';
import type { Translate } from '../../views';

/** It reads like `Firefox on Linux`; a program has its own name. */
export function sessionLabel(userAgent: string | null, translate: Translate): string {
  const { program, system } = deviceOf(userAgent);
  if (program === null) return translate('settings.session-unknown');
  return system === null ? program : translate('settings.session-label', { browser: program, system });
}
