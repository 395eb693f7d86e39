import {
  type AlertKind,
  type AlertRule,
  ALERTS_PATH,
  type AlertSettings,
  type Channel,
  parameterNames,
  timeOf,
} from '../../alerts';
import { timeZones, versionOf } from '../../kernel';
import type { FieldModel, Translate } from '../../views';
import type { HttpRequest, Localisation } from '../../web';
import { type ActModel, actOf, flagField, type ObjectPageModel } from '../pages/object-page';
import { describeAlertScope, alertTabs, severityBadge } from './alerts-model';

export interface RulesPageContext {
  readonly kinds: readonly AlertKind[];
  readonly settings: AlertSettings;
  readonly rules: ReadonlyMap<string, AlertRule>;
  readonly channels: readonly Channel[];
}

export function rulesPage(
  request: HttpRequest,
  { kinds, settings, rules, channels }: RulesPageContext,
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  return {
    page: {
      heading: translate('alerts.rules-heading'),
      scope: describeAlertScope(request, translate),
      tabs: alertTabs(request, 'rules', translate),
      sections: [
        { id: 'telling', heading: translate('alerts.telling'), acts: [settingsAct(settings, translate)] },
        {
          id: 'rules',
          heading: translate('alerts.kinds-heading'),
          acts: kinds.map((kind) => ruleAct(kind, rules.get(kind.name)!, channels, translate)),
        },
      ],
    },
  };
}

const timeField = (name: string, minutes: number | null, translate: Translate): FieldModel => ({
  id: name,
  name,
  label: translate(`alerts.${name.replace('_', '-')}`),
  placeholder: '22:00',
  optional: true,
  autocomplete: 'off',
  ...(minutes === null ? {} : { value: timeOf(minutes) }),
});

function settingsAct(settings: AlertSettings, translate: Translate): ActModel {
  const { timeZone, quietFrom, quietTo, urgentBreaksQuiet, repeatHours } = settings;
  const value =
    quietFrom === null || quietTo === null
      ? translate('alerts.no-quiet')
      : translate('alerts.quiet-words', { from: timeOf(quietFrom), to: timeOf(quietTo), zone: timeZone });
  return withVersion(
    {
      id: 'settings',
      label: translate('alerts.quiet-label'),
      value,
      action: `${ALERTS_PATH}/settings`,
      note: translate('alerts.quiet-note'),
      fields: [
        timeField('quiet_from', quietFrom, translate),
        timeField('quiet_to', quietTo, translate),
        {
          id: 'time_zone',
          name: 'time_zone',
          type: 'select',
          label: translate('alerts.time-zone'),
          options: timeZones.map((zone) => ({ value: zone, label: zone, selected: zone === timeZone })),
        },
        flagField('urgent_breaks_quiet', translate('alerts.urgent-breaks'), urgentBreaksQuiet, translate),
        numberField('repeat_hours', translate('alerts.repeat-hours'), repeatHours, 'repeat_hours'),
      ],
    },
    versionOf(settings),
    translate,
  );
}

const numberField = (name: string, label: string, value: number, id: string): FieldModel => ({
  ...{ id, name, label, value: String(value), required: true, autocomplete: 'off' },
});

function ruleAct(
  kind: AlertKind,
  rule: AlertRule,
  channels: readonly Channel[],
  translate: Translate,
): ActModel {
  const { name, severity, parameters, isMailedElsewhere } = kind;
  const id = (field: string): string => `${name}-${field}`;
  const { enabled, mutedUntil } = rule;
  const isMuted = mutedUntil !== null && mutedUntil > new Date();
  const status = enabled ? (isMuted ? 'muted' : 'on') : 'off';
  const usableChannels = channels.filter((channel) => !(isMailedElsewhere && channel.kind === 'mail'));
  const advice = translate(`alerts.kind.${name}.about`);
  return withVersion(
    {
      id: `rule-${name}`,
      label: translate(`alerts.kind.${name}.name`),
      value: `${translate(`alerts.rule.${status}`)} · ${severityBadge(severity, translate).label}`,
      action: `${ALERTS_PATH}/rules/${name}`,
      note: isMailedElsewhere ? `${advice} ${translate('alerts.mailed-elsewhere')}` : advice,
      fields: [
        { ...flagField('enabled', translate('alerts.enabled'), enabled, translate), id: id('enabled') },
        ...parameterNames
          .filter((parameter) => parameters[parameter] !== undefined)
          .map((parameter) =>
            numberField(
              parameter,
              translate(`alerts.parameter.${parameter}`),
              rule.parameters[parameter] ?? 0,
              id(parameter),
            ),
          ),
        {
          id: id('muted'),
          name: 'muted_until',
          type: 'datetime-local',
          label: `${translate('alerts.muted-until')} (UTC)`,
          optional: true,
          ...(isMuted ? { value: mutedUntil.toISOString().slice(0, 19) } : {}),
        },
        ...usableChannels.map((channel): FieldModel => ({
          id: id(`channel-${channel.id}`),
          name: 'channels',
          type: 'checkbox',
          value: String(channel.id),
          label: translate('alerts.only-channel', { name: channel.name }),
          checked: rule.channels?.includes(channel.id) ?? false,
        })),
      ],
    },
    versionOf(rule),
    translate,
  );
}

const withVersion = (act: Parameters<typeof actOf>[0], version: string, translate: Translate): ActModel =>
  actOf({ ...act, withoutReason: true, hidden: [{ name: 'version', value: version }] }, translate);
