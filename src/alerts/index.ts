import { AlertChannel } from './channels/alert-channel.entity';

export { AlertsModule } from './alerts.module';
export { AlertWatch } from './alert-watch';
export {
  AlertQuery,
  type AlertState,
  alertStates,
  ownerOf,
  type AlertView,
  type DeliveryView,
} from './book/alert.query';
export {
  type AlertKind,
  type AlertKindName,
  alertKinds,
  type AlertOwner,
  kindsOf,
  severities,
  type Severity,
} from './catalogue/kinds';
export { parameterFields, parameterNames } from './catalogue/parameters';
export { AlertChannels, type ChannelInput, sealedChannels } from './channels/alert-channels';
export { AlertClient } from './channels/alert-client';
export { AlertTests } from './channels/alert-tests';
export { ALERTS_PATH, alertTextsOf } from './channels/alert-wording';
export {
  type Audience,
  audiences,
  type Channel,
  type ChannelKind,
  channelKinds,
  type ChannelTarget,
} from './channels/channel';
export { PAGERDUTY_ADDRESSES } from './channels/pagerduty';
export { NodeWatch } from './node-watch';
export { AlertDeliveries } from './delivery/alert-deliveries';
export { type AlertRule, AlertRules, type AlertSettings } from './rules/alert-rules';
export { HISTORY_DAYS, forecastRunOut, type SpentDay, findUnusualBound } from './statistics/spending';
export { minutesOf, timeOf } from './rules/quiet-hours';

export const alertEntities = [AlertChannel];
