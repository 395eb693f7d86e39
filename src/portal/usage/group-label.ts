import type { UsageGroup, UsageQuestion } from '../../audit';
import type { Looks } from '../lists/looks';

/** A group in words. */
export function groupLabel(
  { kind, label, value }: UsageGroup,
  { groupBy }: UsageQuestion,
  { translate }: Looks,
): string {
  if (kind === 'others') return translate('usage.others');
  if (kind === 'none') return translate(`usage.none.${groupBy ?? 'model'}`);
  return label ?? value ?? '';
}
