import {
  type Audience,
  audiences,
  type ChannelKind,
  channelKinds,
  alertKinds,
  type AlertKindName,
  alertStates,
  type AlertState,
  parameterFields,
  severities,
  type Severity,
} from '../../alerts';
import { nonEmptyLine, line, listOf, matching, oneOf, rowId, trueOrFalse, integer, zone } from '../../kernel';
import { ParsedBy } from '../../platform';
import { type Locale, locales } from '../../views';
import { IsCursor } from '../../web';
import { IsFutureTime } from '../pages/fields';

const stateChoices = [...alertStates, 'all'] as const;
const kindNames = alertKinds.map(({ name }) => name);
const MAX_CHANNELS = 20;
/** Fingerprint of the settings that the form was rendered with. */
const version = line(64);

export class AlertsQuery {
  /** Defaults to alerts that are not resolved. */
  @ParsedBy(oneOf(stateChoices).orBlank())
  state?: AlertState | 'all';

  @ParsedBy(oneOf(kindNames).orBlank())
  kind?: AlertKindName;

  @ParsedBy(oneOf(severities).orBlank())
  severity?: Severity;

  @IsCursor()
  cursor?: string;

  @ParsedBy(oneOf(['json']).orBlank())
  format?: 'json';
}

export class AcknowledgeForm {
  @ParsedBy(line(500).orBlank())
  reason?: string;
}

const timeOfDay = matching(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'a time of day, like 22:00');

export class AlertSettingsForm {
  @ParsedBy(zone)
  time_zone: string;

  /** No quiet hours if both ends are empty. */
  @ParsedBy(timeOfDay.orNone())
  quiet_from?: string | null;

  @ParsedBy(timeOfDay.orNone())
  quiet_to?: string | null;

  @ParsedBy(trueOrFalse)
  urgent_breaks_quiet: boolean;

  @ParsedBy(integer(0, 720))
  repeat_hours: number;

  @ParsedBy(version.orBlank())
  version?: string;
}

/** Only the parameters of the kind are accepted; an omitted parameter keeps its value. */
export class AlertRuleForm {
  @ParsedBy(trueOrFalse)
  enabled: boolean;

  @ParsedBy(parameterFields.first.orBlank())
  first?: number;

  @ParsedBy(parameterFields.second.orBlank())
  second?: number;

  @ParsedBy(parameterFields.third.orBlank())
  third?: number;

  @ParsedBy(parameterFields.percent.orBlank())
  percent?: number;

  @ParsedBy(parameterFields.seconds.orBlank())
  seconds?: number;

  @ParsedBy(parameterFields.minutes.orBlank())
  minutes?: number;

  @ParsedBy(parameterFields.hours.orBlank())
  hours?: number;

  @ParsedBy(parameterFields.days.orBlank())
  days?: number;

  @ParsedBy(parameterFields.times.orBlank())
  times?: number;

  @ParsedBy(parameterFields.dollars.orBlank())
  dollars?: number;

  /** Defaults to all channels. */
  @ParsedBy(listOf(rowId, MAX_CHANNELS).orBlank())
  channels?: number[];

  @IsFutureTime()
  muted_until?: string | null;

  @ParsedBy(version.orBlank())
  version?: string;
}

export class AlertChannelForm {
  @ParsedBy(nonEmptyLine(100))
  name: string;

  @ParsedBy(oneOf(severities))
  least_severity: Severity;

  @ParsedBy(oneOf(locales).default('en'))
  language: Locale;

  @ParsedBy(trueOrFalse.default(true))
  enabled: boolean;

  @ParsedBy(oneOf(audiences).default('owners'))
  audience: Audience;

  /** Target of the messages; an empty value keeps the stored address. */
  @ParsedBy(line(2_048).orBlank())
  url?: string;

  /** Signing secret of a webhook or integration key of PagerDuty; an empty value keeps the stored one. */
  @ParsedBy(line(200).orBlank())
  key?: string;
}

export class NewAlertChannelForm extends AlertChannelForm {
  @ParsedBy(oneOf(channelKinds))
  kind: ChannelKind;
}
