import { deviceOf } from '../../identity';
import type { Translate } from '../../views';

/** Returns a label such as `Firefox on Linux`; an API client is shown by its own name. */
export function sessionLabel(userAgent: string | null, translate: Translate): string {
  const { program, system } = deviceOf(userAgent);
  if (program === null) return translate('settings.session-unknown');
  return system === null ? program : translate('settings.session-label', { browser: program, system });
}
