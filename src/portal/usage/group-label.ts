import type { UsageGroup, UsageRequest } from '../../audit';
import type { Localisation } from '../../web';

export function groupLabel(
  { kind, label, value }: UsageGroup,
  { groupBy }: UsageRequest,
  { translate }: Localisation,
): string {
  if (kind === 'others') return translate('usage.others');
  if (kind === 'none') return translate(`usage.none.${groupBy ?? 'model'}`);
  return label ?? value ?? '';
}
