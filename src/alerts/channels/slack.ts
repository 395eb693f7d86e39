import { cut, JSON_TYPE, type Vendor } from './channel';

/** Bounds of blocks (docs.slack.dev/reference/block-kit/blocks): header 150 characters, section 3,000. */
const LONGEST_HEADER = 150;
const LONGEST_SECTION = 3_000;

/** These three signs are escaped in texts (docs.slack.dev/messaging/formatting-message-text). */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const plain = (text: string, most: number) => ({ type: 'plain_text', text: cut(text, most), emoji: false });
const section = (text: string) => ({ type: 'section', text: plain(text, LONGEST_SECTION) });

/**
 * Incoming webhooks (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks): 200 with `ok`; 400, 403 and
 * 404 say what is wrong with message or address, 410 that the channel is archived; 429 has Retry-After, at about one
 * message a second (docs.slack.dev/apis/web-api/rate-limits).
 */
export const slack: Vendor = {
  request({ url }, { event, title, text, advice, context, url: page, linkLabel }) {
    if (event === 'acknowledged') return null;
    const link = `<${page.replaceAll('>', '%3E').replaceAll('|', '%7C')}|${escaped(linkLabel)}>`;
    const body = {
      // What a notification shows, and what is read aloud.
      text: escaped(cut(title, LONGEST_SECTION)),
      unfurl_links: false,
      blocks: [
        { type: 'header', text: plain(title, LONGEST_HEADER) },
        section(text),
        ...(event === 'resolved' || advice === '' ? [] : [section(advice)]),
        { type: 'context', elements: [plain(context, LONGEST_SECTION)] },
        { type: 'section', text: { type: 'mrkdwn', text: link } },
      ],
    };
    return { url, headers: JSON_TYPE, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 200) return 'delivered';
    if (status === 410) return 'gone';
    return status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
