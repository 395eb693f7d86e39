import { ALERTS_PATH, severities, type Severity } from '../../alerts';
import type { TileModel, Translate } from '../../views';
import type { HttpRequest } from '../../web';
import { describeAlertScope } from './alerts-model';

export interface OpenAlertsCard {
  readonly scope: string;
  readonly tiles: readonly TileModel[];
}

export const openAlertsCard = (
  request: HttpRequest,
  open: ReadonlyMap<Severity, number>,
  translate: Translate,
): OpenAlertsCard => ({
  scope: describeAlertScope(request, translate),
  tiles: severities.toReversed().map((severity) => ({
    label: translate(`alerts.severity.${severity}`),
    href: `${ALERTS_PATH}?severity=${severity}`,
    figure: { kind: 'number', value: open.get(severity) ?? 0 },
  })),
});
