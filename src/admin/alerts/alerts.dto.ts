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
import { line, listOf, matching, rowId } from '../../kernel';
import { type Locale, locales } from '../../views';
import {
  IsCursor,
  IsFlag,
  IsFutureTime,
  IsLine,
  IsOneOf,
  IsVerbatimLine,
  IsWholeNumber,
  IsZoneName,
  ParsedBy,
} from '../../web';

const stateChoices = [...alertStates, 'all'] as const;
const kindNames = alertKinds.map(({ name }) => name);
const MAX_CHANNELS = 20;
/** Fingerprint of the settings that the form was rendered with. */
const version = line(64);

export class AlertsQuery {
  /** Defaults to alerts that are not resolved. */
  @IsOneOf(stateChoices, { optional: true })
  state?: AlertState | 'all';

  @IsOneOf(kindNames, { optional: true })
  kind?: AlertKindName;

  @IsOneOf(severities, { optional: true })
  severity?: Severity;

  @IsCursor()
  cursor?: string;

  @IsOneOf(['json'], { optional: true })
  format?: 'json';
}

export class AcknowledgeForm {
  @IsVerbatimLine(500, { optional: true })
  reason?: string;
}

const timeOfDay = matching(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'a time of day, like 22:00');

export class AlertSettingsForm {
  @IsZoneName()
  time_zone: string;

  /** No quiet hours if both ends are empty. */
  @ParsedBy(timeOfDay, { clearable: true })
  quiet_from?: string | null;

  @ParsedBy(timeOfDay, { clearable: true })
  quiet_to?: string | null;

  @IsFlag()
  urgent_breaks_quiet: boolean;

  @IsWholeNumber(0, 720)
  repeat_hours: number;

  @ParsedBy(version, { optional: true })
  version?: string;
}

/** Only the parameters of the kind are accepted; an omitted parameter keeps its value. */
export class AlertRuleForm {
  @IsFlag()
  enabled: boolean;

  @ParsedBy(parameterFields.first, { optional: true })
  first?: number;

  @ParsedBy(parameterFields.second, { optional: true })
  second?: number;

  @ParsedBy(parameterFields.third, { optional: true })
  third?: number;

  @ParsedBy(parameterFields.percent, { optional: true })
  percent?: number;

  @ParsedBy(parameterFields.seconds, { optional: true })
  seconds?: number;

  @ParsedBy(parameterFields.minutes, { optional: true })
  minutes?: number;

  @ParsedBy(parameterFields.hours, { optional: true })
  hours?: number;

  @ParsedBy(parameterFields.days, { optional: true })
  days?: number;

  @ParsedBy(parameterFields.times, { optional: true })
  times?: number;

  @ParsedBy(parameterFields.dollars, { optional: true })
  dollars?: number;

  /** Defaults to all channels. */
  @ParsedBy(listOf(rowId, MAX_CHANNELS), { optional: true })
  channels?: number[];

  @IsFutureTime({ clearable: true })
  muted_until?: string | null;

  @ParsedBy(version, { optional: true })
  version?: string;
}

export class AlertChannelForm {
  @IsLine(100)
  name: string;

  @IsOneOf(severities)
  least_severity: Severity;

  @IsOneOf(locales, { default: 'en' })
  language: Locale;

  @IsFlag({ default: true })
  enabled: boolean;

  @IsOneOf(audiences, { default: 'owners' })
  audience: Audience;

  /** Target of the messages; an empty value keeps the stored address. */
  @IsVerbatimLine(2_048, { optional: true })
  url?: string;

  /** Signing secret of a webhook or integration key of PagerDuty; an empty value keeps the stored one. */
  @IsVerbatimLine(200, { optional: true })
  key?: string;
}

export class NewAlertChannelForm extends AlertChannelForm {
  @IsOneOf(channelKinds)
  kind: ChannelKind;
}
