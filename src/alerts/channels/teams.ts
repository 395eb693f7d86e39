import { cut, JSON_TYPE, type Vendor } from './channel';

/** A message may have about 28 KB (learn.microsoft.com/connectors/teams, known issues and limitations). */
const LONGEST_TEXT = 4_000;

/** Plain runs: a text block would read a name as Markdown, with links in it. */
const words = (text: string, more: object = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text: cut(text, LONGEST_TEXT), ...more }],
});

const colours = { info: 'Accent', warning: 'Warning', urgent: 'Attention' } as const;

/**
 * The trigger "When a Teams webhook request is received" of Workflows, which took the place of the retired connectors:
 * a message with one Adaptive Card (learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/
 * connectors-using). The flow answers 202; 429 and failures of the service are tried again.
 */
export const teams: Vendor = {
  request({ url }, { event, severity, title, text, advice, context, url: page, linkLabel }) {
    if (event === 'acknowledged') return null;
    const colour = event === 'resolved' ? 'Good' : colours[severity];
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        words(title, { size: 'Medium', weight: 'Bolder', color: colour }),
        words(text),
        ...(event === 'resolved' || advice === '' ? [] : [words(advice)]),
        words(context, { size: 'Small', isSubtle: true }),
      ],
      actions: [{ type: 'Action.OpenUrl', title: cut(linkLabel, 100), url: page }],
      msteams: { width: 'full' },
    };
    const contentType = 'application/vnd.microsoft.card.adaptive';
    const body = { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] };
    return { url, headers: JSON_TYPE, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 200 || status === 202) return 'delivered';
    if (status === 410) return 'gone';
    return status === 408 || status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
