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
import type { Facts } from '../looks/look';
import type { AlertEvent, AlertMessage } from './channel';

export const ALERTS_PATH = '/dashboard/admin/alerts';

/** An alert as far as it is told. */
export interface TellableAlert {
  readonly id: string;
  readonly organisationId: number | null;
  readonly organisationName: string | null;
  readonly departmentId?: number | null;
  readonly kind: string;
  readonly severity: Severity;
  readonly facts: Facts;
  readonly since: Date;
  readonly resolvedAt: Date | null;
}

interface Reader {
  readonly locale: Locale;
  readonly timeZone: string;
}

export interface Words {
  readonly name: string;
  readonly text: string;
  readonly advice: string;
}

function valueOf(name: string, value: string | number, { locale, timeZone }: Reader): string {
  if (typeof value === 'number') return formatNumber(locale, value);
  const at = name.endsWith('_at') ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? value : formatTime(locale, timeZone, new Date(at), 'dated-minute');
}

/** What an alert says to a reader. A kind of a newer version has its name alone. */
export function wordsOf(
  { kind, facts }: Pick<TellableAlert, 'kind' | 'facts'>,
  translate: Translate,
  reader: Reader,
): Words {
  const known = alertKind(kind);
  if (known === undefined) return { name: kind, text: kind, advice: '' };
  const amounts = Object.entries(facts).filter(([name]) => name.endsWith('_nano'));
  const told = formatMoneys(
    reader.locale,
    amounts.map(([, amount]) => BigInt(amount)),
  );
  const values: Record<string, string> = {
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, valueOf(name, value, reader)])),
    ...Object.fromEntries(amounts.map(([name], place) => [name, told[place] as string])),
  };
  const { what, name = '' } = facts;
  if (what !== undefined) values['what'] = translate(`alerts.what.${what}`, { name });
  return {
    name: translate(`alerts.kind.${kind}.name`),
    text: translate(`alerts.kind.${kind}.text`, values),
    advice: [
      translate(`alerts.kind.${kind}.advice`),
      ...(known.runbook === null ? [] : [translate('alerts.runbook', { path: known.runbook })]),
    ].join(' '),
  };
}

/** Titles go into subjects of mails, which have one line. */
const oneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ');

/** Makes messages of alerts, in every language. */
@Injectable()
export class AlertWording {
  constructor(
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
  ) {}

  of(
    alert: TellableAlert,
    event: AlertEvent | 'test',
    {
      locale,
      timeZone,
      baseUrl = this.settings.baseUrl,
      brand = this.settings.brandName,
    }: Reader & { readonly baseUrl?: string; readonly brand?: string },
  ): Omit<AlertMessage, 'id'> {
    const translate = this.engine.translator(locale);
    const { id, organisationId, organisationName, kind, severity, facts, since, resolvedAt } = alert;
    const isTest = event === 'test';
    const words = isTest
      ? { name: translate('alerts.test.name'), text: translate('alerts.test.text'), advice: '' }
      : wordsOf(alert, translate, { locale, timeZone });
    const title = translate(`alerts.event.${event}`, {
      name: words.name,
      severity: translate(`alerts.severity.${severity}`),
    });
    const context = translate('alerts.context', {
      brand,
      whose: organisationName ?? translate('alerts.platform'),
      since: `${formatTime(locale, timeZone, since, 'dated-minute')} (${timeZone})`,
    });
    return {
      ...{ event, alertId: id, kind, severity, organisationId, facts, since, resolvedAt, brand, context },
      title: oneLine(title),
      text: words.text,
      advice: event === 'resolved' ? '' : words.advice,
      runbook: isTest ? null : (alertKind(kind)?.runbook ?? null),
      url: `${baseUrl}${ALERTS_PATH}${isTest ? '' : `/${id}`}`,
      linkLabel: translate('alerts.open', { brand }),
      dedupKey: `${new URL(this.settings.baseUrl).host}/alerts/${id}`,
    };
  }
}

export const localeOr = (language: string): Locale => (isLocale(language) ? language : 'en');
