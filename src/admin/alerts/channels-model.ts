import {
  ALERTS_PATH,
  audiences,
  type Channel,
  type ChannelKind,
  channelKinds,
  PAGERDUTY_ADDRESSES,
  severities,
} from '../../alerts';
import { type FieldModel, type LabelledFigure, locales, type Translate } from '../../views';
import type { HttpRequest, Localisation } from '../../web';
import { choicesOf } from '../pages/choices';
import {
  type ActModel,
  actOf,
  flagField,
  type ObjectPageModel,
  type SectionModel,
} from '../pages/object-page';
import { describeAlertScope, alertTabs, severityBadge } from './alerts-model';

export const CHANNELS_PATH = `${ALERTS_PATH}/channels`;

const nativeLanguageNames = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  it: 'Italiano',
  es: 'Español',
} as const;

export function channelsPage(
  request: HttpRequest,
  channels: readonly Channel[],
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  return {
    page: {
      heading: translate('alerts.channels-heading'),
      scope: describeAlertScope(request, translate),
      tabs: alertTabs(request, 'channels', translate),
      sections: [
        {
          id: 'add',
          heading: translate('alerts.add-channel'),
          acts: channelKinds.map((kind) => addAct(kind, translate)),
        },
        ...(channels.length === 0 ? [emptySection(translate)] : []),
        ...channels.map((channel) => channelSection(channel, translate)),
      ],
    },
  };
}

const emptySection = (translate: Translate): SectionModel => ({
  id: 'nothing',
  table: {
    ...{ caption: translate('alerts.channels-heading'), columns: [], rows: [] },
    empty: { title: translate('alerts.no-channels-title'), text: translate('alerts.no-channels-text') },
  },
});

interface ChannelFormContext {
  readonly kind: ChannelKind;
  readonly id: string;
  readonly channel: Channel | null;
}

const addAct = (kind: ChannelKind, translate: Translate): ActModel =>
  actOf(
    {
      id: `add-${kind}`,
      label: translate(`alerts.channel.${kind}`),
      action: `${CHANNELS_PATH}/create`,
      note: translate(`alerts.channel-note.${kind}`),
      submit: translate('alerts.add'),
      withoutReason: true,
      hidden: [{ name: 'kind', value: kind }],
      fields: fieldsOf({ kind, id: `new-${kind}`, channel: null }, translate),
    },
    translate,
  );

function fieldsOf({ kind, id, channel }: ChannelFormContext, translate: Translate): FieldModel[] {
  const select = (name: string, label: string, options: FieldModel['options']): FieldModel => ({
    ...{ id: `${id}-${name}`, name, type: 'select', label: translate(`alerts.${label}`), options },
  });
  return [
    {
      id: `${id}-name`,
      name: 'name',
      label: translate('alerts.channel-name'),
      required: true,
      autocomplete: 'off',
      ...(channel === null ? {} : { value: channel.name }),
    },
    ...(kind === 'mail' ? [] : addressFields({ kind, id, channel }, translate)),
    select(
      'least_severity',
      'least-severity',
      choicesOf(severities, channel?.leastSeverity ?? 'info', (each) => translate(`alerts.severity.${each}`)),
    ),
    ...(kind === 'mail'
      ? [
          select(
            'audience',
            'audience',
            choicesOf(audiences, channel?.audience ?? 'owners', (each) =>
              translate(`alerts.audiences.${each}`),
            ),
          ),
        ]
      : [
          select(
            'language',
            'language',
            choicesOf(locales, channel?.language ?? 'en', (locale) => nativeLanguageNames[locale]),
          ),
        ]),
    ...(channel === null
      ? []
      : [
          {
            ...flagField('enabled', translate('alerts.channel-enabled'), channel.enabled, translate),
            id: `${id}-enabled`,
          },
        ]),
  ];
}

function addressFields({ kind, id, channel }: ChannelFormContext, translate: Translate): FieldModel[] {
  const keepStoredHint = channel === null ? {} : { optional: true, help: translate('alerts.kept-secret') };
  const isNew = channel === null;
  const address: FieldModel = {
    id: `${id}-url`,
    name: 'url',
    label: translate('alerts.address'),
    width: 'wide',
    autocomplete: 'off',
    ...keepStoredHint,
    ...(isNew && kind === 'pagerduty' ? { value: PAGERDUTY_ADDRESSES[0] } : {}),
    ...(isNew ? { required: true } : {}),
  };
  if (kind !== 'webhook' && kind !== 'pagerduty') return [address];
  return [
    address,
    {
      id: `${id}-key`,
      name: 'key',
      type: 'password',
      label: translate(kind === 'webhook' ? 'alerts.signing-secret' : 'alerts.routing-key'),
      autocomplete: 'off',
      ...keepStoredHint,
      ...(isNew ? { required: true } : {}),
    },
  ];
}

function channelSection(channel: Channel, translate: Translate): SectionModel {
  const { id, name, kind } = channel;
  const path = `${CHANNELS_PATH}/${id}`;
  return {
    id: `channel-${id}`,
    heading: name,
    facts: factsOf(channel, translate),
    acts: [
      actOf(
        {
          id: `test-${id}`,
          label: translate('alerts.test-channel'),
          action: `${path}/test`,
          note: translate('alerts.test-note'),
          submit: translate('alerts.test-channel'),
          withoutReason: true,
        },
        translate,
      ),
      actOf(
        {
          id: `edit-${id}`,
          label: translate('alerts.edit-channel'),
          action: `${path}/update`,
          withoutReason: true,
          fields: fieldsOf({ kind, id: `channel-${id}`, channel }, translate),
        },
        translate,
      ),
      actOf(
        {
          id: `remove-${id}`,
          label: translate('alerts.remove-channel'),
          action: `${path}/remove`,
          note: translate('alerts.remove-note'),
          submit: translate('alerts.remove-channel'),
          danger: true,
          withoutReason: true,
        },
        translate,
      ),
    ],
  };
}

function factsOf(channel: Channel, translate: Translate): LabelledFigure[] {
  const { kind, host, audience, leastSeverity, enabled, succeededAt, failedAt, lastError } = channel;
  const text = (key: string, value: string): LabelledFigure => ({
    label: translate(`alerts.${key}`),
    figure: { kind: 'text', value },
  });
  const time = (key: string, value: Date | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(`alerts.${key}`), figure: { kind: 'time', value } }];
  const state = enabled ? (lastError === null ? 'working' : 'failing') : 'off';
  const tone = ({ working: 'ok', failing: 'warn', off: 'neutral' } as const)[state];
  return [
    text('channel-kind', translate(`alerts.channel.${kind}`)),
    ...(kind === 'mail'
      ? [text('audience', translate(`alerts.audiences.${audience}`))]
      : [text('host', host)]),
    {
      label: translate('alerts.least-severity'),
      figure: { kind: 'badge', value: severityBadge(leastSeverity, translate) },
    },
    {
      label: translate('alerts.channel-state'),
      figure: { kind: 'badge', value: { tone, label: translate(`alerts.channel-states.${state}`) } },
    },
    ...time('succeeded', succeededAt),
    ...time('failed', failedAt),
    ...(lastError === null ? [] : [text('last-error', lastError)]),
  ];
}
