import { Injectable } from '@nestjs/common';
import { Settings } from '../../platform';
import {
  formatMoneys,
  formatNumber,
  formatTime,
  isLocale,
  type Locale,
  type Translate,
  ViewEngine,
} from '../../views';
import { alertKind, type Severity } from '../catalogue/kinds';
import type { AlertFacts } from '../looks/detector';
import type { AlertEvent, AlertMessage } from './channel';

export const ALERTS_PATH = '/dashboard/admin/alerts';

export interface NotifiableAlert {
  readonly id: string;
  readonly organisationId: number | null;
  readonly organisationName: string | null;
  readonly departmentId?: number | null;
  readonly kind: string;
  readonly severity: Severity;
  readonly facts: AlertFacts;
  readonly since: Date;
  readonly resolvedAt: Date | null;
}

interface AlertReader {
  readonly locale: Locale;
  readonly timeZone: string;
}

export interface AlertTexts {
  readonly name: string;
  readonly text: string;
  readonly advice: string;
}

function valueOf(name: string, value: string | number, { locale, timeZone }: AlertReader): string {
  if (typeof value === 'number') return formatNumber(locale, value);
  const at = name.endsWith('_at') ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? value : formatTime(locale, timeZone, new Date(at), 'dated-minute');
}

/** Returns the texts of an alert for a reader; only the name for a kind of a newer version. */
export function alertTextsOf(
  { kind, facts }: Pick<NotifiableAlert, 'kind' | 'facts'>,
  translate: Translate,
  reader: AlertReader,
): AlertTexts {
  const registeredKind = alertKind(kind);
  if (registeredKind === undefined) return { name: kind, text: kind, advice: '' };
  const amounts = Object.entries(facts).filter(([name]) => name.endsWith('_nano'));
  const formattedAmounts = formatMoneys(
    reader.locale,
    amounts.map(([, amount]) => BigInt(amount)),
  );
  const values: Record<string, string> = {
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, valueOf(name, value, reader)])),
    ...Object.fromEntries(amounts.map(([name], index) => [name, formattedAmounts[index] as string])),
  };
  const { what, name = '' } = facts;
  if (what !== undefined) values['what'] = translate(`alerts.what.${what}`, { name });
  return {
    name: translate(`alerts.kind.${kind}.name`),
    text: translate(`alerts.kind.${kind}.text`, values),
    advice: [
      translate(`alerts.kind.${kind}.advice`),
      ...(registeredKind.runbook === null
        ? []
        : [translate('alerts.runbook', { path: registeredKind.runbook })]),
    ].join(' '),
  };
}

/** Titles become email subjects, which must be one line. */
const toOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ');

@Injectable()
export class AlertWording {
  constructor(
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
  ) {}

  of(
    alert: NotifiableAlert,
    event: AlertEvent | 'test',
    {
      locale,
      timeZone,
      baseUrl = this.settings.baseUrl,
      brand = this.settings.brandName,
    }: AlertReader & { readonly baseUrl?: string; readonly brand?: string },
  ): Omit<AlertMessage, 'id'> {
    const translate = this.engine.translator(locale);
    const { id, organisationId, organisationName, kind, severity, facts, since, resolvedAt } = alert;
    const isTest = event === 'test';
    const texts = isTest
      ? { name: translate('alerts.test.name'), text: translate('alerts.test.text'), advice: '' }
      : alertTextsOf(alert, translate, { locale, timeZone });
    const title = translate(`alerts.event.${event}`, {
      name: texts.name,
      severity: translate(`alerts.severity.${severity}`),
    });
    const context = translate('alerts.context', {
      brand,
      whose: organisationName ?? translate('alerts.platform'),
      since: `${formatTime(locale, timeZone, since, 'dated-minute')} (${timeZone})`,
    });
    return {
      ...{ event, alertId: id, kind, severity, organisationId, facts, since, resolvedAt, brand, context },
      title: toOneLine(title),
      text: texts.text,
      advice: event === 'resolved' ? '' : texts.advice,
      runbook: isTest ? null : (alertKind(kind)?.runbook ?? null),
      url: `${baseUrl}${ALERTS_PATH}${isTest ? '' : `/${id}`}`,
      linkLabel: translate('alerts.open', { brand }),
      dedupKey: `${new URL(this.settings.baseUrl).host}/alerts/${id}`,
    };
  }
}

export const localeOr = (language: string): Locale => (isLocale(language) ? language : 'en');
