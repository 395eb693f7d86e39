import { truncate, JSON_HEADERS, type ChannelAdapter } from './channel';

/** Limits of blocks (docs.slack.dev/reference/block-kit/blocks): header 150 characters, section 3,000. */
const MAX_HEADER_LENGTH = 150;
const MAX_SECTION_LENGTH = 3_000;

/** Escapes the three control characters (docs.slack.dev/messaging/formatting-message-text). */
const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const plain = (text: string, maxLength: number) => ({
  type: 'plain_text',
  text: truncate(text, maxLength),
  emoji: false,
});
const section = (text: string) => ({ type: 'section', text: plain(text, MAX_SECTION_LENGTH) });

/**
 * Incoming webhooks (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks): 200 with `ok`; 400, 403 and
 * 404 report an error of message or address, 410 an archived channel. 429 has Retry-After, at about one message per
 * second (docs.slack.dev/apis/web-api/rate-limits).
 */
export const slack: ChannelAdapter = {
  request({ url }, { event, title, text, advice, context, url: page, linkLabel }) {
    if (event === 'acknowledged') return null;
    const link = `<${page.replaceAll('>', '%3E').replaceAll('|', '%7C')}|${escape(linkLabel)}>`;
    const body = {
      // Text of notifications and screen readers.
      text: escape(truncate(title, MAX_SECTION_LENGTH)),
      unfurl_links: false,
      blocks: [
        { type: 'header', text: plain(title, MAX_HEADER_LENGTH) },
        section(text),
        ...(event === 'resolved' || advice === '' ? [] : [section(advice)]),
        { type: 'context', elements: [plain(context, MAX_SECTION_LENGTH)] },
        { type: 'section', text: { type: 'mrkdwn', text: link } },
      ],
    };
    return { url, headers: JSON_HEADERS, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 200) return 'delivered';
    if (status === 410) return 'gone';
    return status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
