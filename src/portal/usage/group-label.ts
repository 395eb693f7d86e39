import type { UsageGroup, UsageQuestion } from '../../audit';
import type { Localisation } from '../../web';

/** A group in words. */
export function groupLabel(
  { kind, label, value }: UsageGroup,
  { groupBy }: UsageQuestion,
  { translate }: Localisation,
): string {
  if (kind === 'others') return translate('usage.others');
  if (kind === 'none') return translate(`usage.none.${groupBy ?? 'model'}`);
  return label ?? value ?? '';
}
