import { truncate, JSON_HEADERS, type ChannelAdapter } from './channel';

/** A message is limited to about 28 KB (learn.microsoft.com/connectors/teams, known issues and limitations). */
const MAX_TEXT_LENGTH = 4_000;

/** Plain text runs, because a text block would render names as Markdown with links. */
const textBlock = (text: string, more: object = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text: truncate(text, MAX_TEXT_LENGTH), ...more }],
});

const colours = { info: 'Accent', warning: 'Warning', urgent: 'Attention' } as const;

/**
 * Workflows trigger "When a Teams webhook request is received", which replaced the retired connectors: a message with
 * one Adaptive Card (learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using). The
 * flow responds with 202; 429 and service failures are retried.
 */
export const teams: ChannelAdapter = {
  request({ url }, { event, severity, title, text, advice, context, url: page, linkLabel }) {
    if (event === 'acknowledged') return null;
    const colour = event === 'resolved' ? 'Good' : colours[severity];
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        textBlock(title, { size: 'Medium', weight: 'Bolder', color: colour }),
        textBlock(text),
        ...(event === 'resolved' || advice === '' ? [] : [textBlock(advice)]),
        textBlock(context, { size: 'Small', isSubtle: true }),
      ],
      actions: [{ type: 'Action.OpenUrl', title: truncate(linkLabel, 100), url: page }],
      msteams: { width: 'full' },
    };
    const contentType = 'application/vnd.microsoft.card.adaptive';
    const body = { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] };
    return { url, headers: JSON_HEADERS, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 200 || status === 202) return 'delivered';
    if (status === 410) return 'gone';
    return status === 408 || status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
