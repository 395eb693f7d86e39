export const channelKinds = ['mail', 'webhook', 'slack', 'teams', 'pagerduty'] as const;
export type ChannelKind = (typeof channelKinds)[number];
export type SentChannelKind = Exclude<ChannelKind, 'mail'>;

export const audiences = ['owners', 'administrators'] as const;
export type Audience = (typeof audiences)[number];
