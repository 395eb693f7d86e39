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
import { filled, line, listOf, matching, oneOf, rowId, truth, whole, zone } from '../../kernel';
import { Takes } from '../../platform';
import { type Locale, locales } from '../../views';
import { IsCursor } from '../../web';
import { IsComing } from '../pages/fields';

const stateChoices = [...alertStates, 'all'] as const;
const kindNames = alertKinds.map(({ name }) => name);
const MOST_CHANNELS = 20;
/** The version of what the form showed. */
const version = line(64);

export class AlertsQuery {
  /** Without it, those that are not over. */
  @Takes(oneOf(stateChoices).orBlank())
  state?: AlertState | 'all';

  @Takes(oneOf(kindNames).orBlank())
  kind?: AlertKindName;

  @Takes(oneOf(severities).orBlank())
  severity?: Severity;

  @IsCursor()
  cursor?: string;

  /** Programs read the same as JSON. */
  @Takes(oneOf(['json']).orBlank())
  format?: 'json';
}

export class AcknowledgeForm {
  @Takes(line(500).orBlank())
  reason?: string;
}

const timeOfDay = matching(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'a time of day, like 22:00');

export class AlertSettingsForm {
  @Takes(zone)
  time_zone: string;

  /** No hour is quiet where both are empty. */
  @Takes(timeOfDay.orNone())
  quiet_from?: string | null;

  @Takes(timeOfDay.orNone())
  quiet_to?: string | null;

  @Takes(truth)
  urgent_breaks_quiet: boolean;

  @Takes(whole(0, 720))
  repeat_hours: number;

  @Takes(version.orBlank())
  version?: string;
}

/** Of the parameters, those of the kind; one that is left out stays as it is. */
export class AlertRuleForm {
  @Takes(truth)
  enabled: boolean;

  @Takes(parameterFields.first.orBlank())
  first?: number;

  @Takes(parameterFields.second.orBlank())
  second?: number;

  @Takes(parameterFields.third.orBlank())
  third?: number;

  @Takes(parameterFields.percent.orBlank())
  percent?: number;

  @Takes(parameterFields.seconds.orBlank())
  seconds?: number;

  @Takes(parameterFields.minutes.orBlank())
  minutes?: number;

  @Takes(parameterFields.hours.orBlank())
  hours?: number;

  @Takes(parameterFields.days.orBlank())
  days?: number;

  @Takes(parameterFields.times.orBlank())
  times?: number;

  @Takes(parameterFields.dollars.orBlank())
  dollars?: number;

  /** Without any, every channel is meant. */
  @Takes(listOf(rowId, MOST_CHANNELS).orBlank())
  channels?: number[];

  @IsComing()
  muted_until?: string | null;

  @Takes(version.orBlank())
  version?: string;
}

export class AlertChannelForm {
  @Takes(filled(100))
  name: string;

  @Takes(oneOf(severities))
  least_severity: Severity;

  @Takes(oneOf(locales).default('en'))
  language: Locale;

  @Takes(truth.default(true))
  enabled: boolean;

  /** Whom mails are sent to. */
  @Takes(oneOf(audiences).default('owners'))
  audience: Audience;

  /** Where messages are sent; empty keeps the stored one. */
  @Takes(line(2_048).orBlank())
  url?: string;

  /** The signing secret of a webhook, or the integration key of PagerDuty; empty keeps the stored one. */
  @Takes(line(200).orBlank())
  key?: string;
}

export class NewAlertChannelForm extends AlertChannelForm {
  @Takes(oneOf(channelKinds))
  kind: ChannelKind;
}
