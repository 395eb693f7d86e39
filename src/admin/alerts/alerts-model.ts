import {
  ALERTS_PATH,
  alertStates,
  kindsOf,
  ownerOf,
  severities,
  type Severity,
  type AlertView,
  type DeliveryView,
  alertTextsOf,
} from '../../alerts';
import { atLeast } from '../../kernel';
import {
  type BadgeModel,
  column,
  type FieldModel,
  type LabelledFigure,
  mixedColumn,
  type TabsModel,
  tableOf,
  type Tone,
  type Translate,
} from '../../views';
import {
  actorOf,
  adminScope,
  type CsvColumns,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  describeScope,
} from '../../web';
import { choicesOf } from '../pages/choices';
import { actOf, type ObjectPageModel } from '../pages/object-page';
import type { AlertsQuery } from './alerts.dto';

const tones: Readonly<Record<Severity, Tone>> = { info: 'info', warning: 'warn', urgent: 'bad' };
const stateTones: Readonly<Record<AlertView['state'], Tone>> = {
  firing: 'bad',
  acknowledged: 'warn',
  resolved: 'ok',
};

const alertsTabs = ['alerts', 'rules', 'channels'] as const;
export type AlertsTab = (typeof alertsTabs)[number];

export function alertTabs(request: HttpRequest, current: AlertsTab, translate: Translate): TabsModel {
  const { role } = actorOf(request);
  return {
    label: translate('alerts.heading'),
    items: alertsTabs
      .filter((tab) => tab === 'alerts' || atLeast(role, 'org_admin'))
      .map((tab) => ({
        label: translate(`alerts.tab.${tab}`),
        href: tab === 'alerts' ? ALERTS_PATH : `${ALERTS_PATH}/${tab}`,
        ...(tab === current ? { current: true } : {}),
      })),
  };
}

/** The platform scope covers the platform's own alerts, not those of all organisations. */
export const describeAlertScope = (request: HttpRequest, translate: Translate): string =>
  ownerOf(adminScope(request)) === null
    ? translate('alerts.platform')
    : describeScope(request, translate, adminScope(request));

export const severityBadge = (severity: Severity, translate: Translate): BadgeModel => ({
  tone: tones[severity],
  label: translate(`alerts.severity.${severity}`),
});

const stateBadge = (state: AlertView['state'], translate: Translate): BadgeModel => ({
  tone: stateTones[state],
  label: translate(`alerts.state.${state}`),
});

export function alertsList(
  request: HttpRequest,
  query: AlertsQuery,
  localisation: Localisation,
): ListDescription<AlertView> {
  const { translate } = localisation;
  const textOf = (alert: AlertView) => alertTextsOf(alert, translate, localisation);
  return {
    heading: translate('alerts.heading'),
    scope: describeAlertScope(request, translate),
    columns: [
      mixedColumn(
        'alerts.kind-label',
        (alert) => ({ kind: 'link', value: textOf(alert).name, href: `${ALERTS_PATH}/${alert.id}` }),
        'heading',
      ),
      column('alerts.what-label', 'text', (alert) => textOf(alert).text, 'minor'),
      mixedColumn('alerts.severity-label', ({ severity }) => ({
        kind: 'badge',
        value: severityBadge(severity, translate),
      })),
      mixedColumn('alerts.state-label', ({ state }) => ({
        kind: 'badge',
        value: stateBadge(state, translate),
      })),
      column('alerts.since', 'time', ({ since }) => since, 'minor'),
    ],
    fields: fieldsOf(request, query, translate),
    nothingYet: {
      title: translate('alerts.nothing-title'),
      text: translate('alerts.nothing-text'),
    },
  };
}

function fieldsOf(request: HttpRequest, query: AlertsQuery, translate: Translate): FieldModel[] {
  const kinds = kindsOf(ownerOf(adminScope(request))).map(({ name }) => name);
  const select = (name: string, options: FieldModel['options']): FieldModel => ({
    ...{ id: `filter-${name}`, name, type: 'select', label: translate(`alerts.${name}-label`), options },
  });
  const all = translate('list.all');
  return [
    select(
      'state',
      choicesOf(
        [...alertStates, 'all'],
        query.state ?? '',
        (state) => translate(`alerts.state.${state}`),
        translate('alerts.state.open'),
      ),
    ),
    select(
      'kind',
      choicesOf(kinds, query.kind ?? '', (kind) => translate(`alerts.kind.${kind}.name`), all),
    ),
    select(
      'severity',
      choicesOf(severities, query.severity ?? '', (each) => translate(`alerts.severity.${each}`), all),
    ),
  ];
}

export const alertCsvColumns: CsvColumns<AlertView> = {
  alert_id: ({ id }) => id,
  organisation_id: ({ organisationId }) => organisationId,
  kind: ({ kind }) => kind,
  subject: ({ subject }) => subject,
  severity: ({ severity }) => severity,
  state: ({ state }) => state,
  since: ({ since }) => since,
  acknowledged_at: ({ acknowledgedAt }) => acknowledgedAt,
  resolved_at: ({ resolvedAt }) => resolvedAt,
  facts: ({ facts }) => JSON.stringify(facts),
};

export const presentAlert = (alert: AlertView) => ({
  id: alert.id,
  organisation_id: alert.organisationId,
  kind: alert.kind,
  subject: alert.subject,
  severity: alert.severity,
  state: alert.state,
  since: alert.since,
  acknowledged_at: alert.acknowledgedAt,
  resolved_at: alert.resolvedAt,
  facts: alert.facts,
});

export function alertPage(
  alert: AlertView,
  deliveries: readonly DeliveryView[],
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  const { name } = alertTextsOf(alert, translate, localisation);
  return {
    page: {
      heading: name,
      scope: alert.organisationName ?? translate('alerts.platform'),
      crumb: { href: ALERTS_PATH, label: translate('alerts.heading') },
      sections: [
        {
          id: 'alert',
          facts: factsOf(alert, localisation),
          acts:
            alert.state === 'firing'
              ? [
                  actOf(
                    {
                      id: 'acknowledge',
                      label: translate('alerts.acknowledge'),
                      action: `${ALERTS_PATH}/${alert.id}/acknowledge`,
                      note: translate('alerts.acknowledge-note'),
                      submit: translate('alerts.acknowledge'),
                      open: true,
                    },
                    translate,
                  ),
                ]
              : [],
        },
        {
          id: 'deliveries',
          heading: translate('alerts.deliveries'),
          table: deliveryTable(deliveries, translate),
        },
      ],
    },
  };
}

function factsOf(alert: AlertView, localisation: Localisation): LabelledFigure[] {
  const { translate } = localisation;
  const { text, advice } = alertTextsOf(alert, translate, localisation);
  const timeFigure = (key: string, value: Date | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(`alerts.${key}`), figure: { kind: 'time', value } }];
  const textFigure = (key: string, value: string): LabelledFigure[] =>
    value === '' ? [] : [{ label: translate(`alerts.${key}`), figure: { kind: 'text', value } }];
  return [
    ...textFigure('what-label', text),
    ...textFigure('advice-label', advice),
    {
      label: translate('alerts.severity-label'),
      figure: { kind: 'badge', value: severityBadge(alert.severity, translate) },
    },
    {
      label: translate('alerts.state-label'),
      figure: { kind: 'badge', value: stateBadge(alert.state, translate) },
    },
    ...timeFigure('since', alert.since),
    ...timeFigure('told', alert.toldAt),
    ...timeFigure('acknowledged', alert.acknowledgedAt),
    ...textFigure('acknowledged-by', alert.acknowledgedBy ?? ''),
    ...timeFigure('resolved', alert.resolvedAt),
  ];
}

const outcomeTones: Readonly<Record<string, Tone>> = {
  waiting: 'info',
  delivered: 'ok',
  failed: 'bad',
  dropped: 'neutral',
};

const deliveryTable = (deliveries: readonly DeliveryView[], translate: Translate) =>
  tableOf(
    deliveries,
    {
      caption: translate('alerts.deliveries'),
      columns: [
        column('alerts.channel-label', 'text', ({ channel }) => channel, 'heading'),
        column('alerts.message-label', 'text', ({ event }) => translate(`alerts.told-as.${event}`)),
        mixedColumn('alerts.outcome-label', ({ outcome }) => {
          const name = outcome ?? 'waiting';
          return {
            kind: 'badge',
            value: { tone: outcomeTones[name]!, label: translate(`alerts.outcome.${name}`) },
          };
        }),
        column('alerts.attempts', 'number', ({ attempts }) => attempts, 'minor'),
        column('alerts.last-error', 'text', ({ lastError }) => lastError ?? '–', 'minor'),
        column('alerts.made', 'time', ({ createdAt }) => createdAt, 'minor'),
      ],
      empty: {
        title: translate('alerts.no-deliveries-title'),
        text: translate('alerts.no-deliveries-text'),
      },
    },
    translate,
  );
