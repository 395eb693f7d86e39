export interface OutgoingEvent {
  event?: string;
  id?: string;
  data: string;
}

const lineBreak = /\r\n|\r|\n/;

/** Line breaks in the data become several `data:` lines, which a reader joins again. */
export function formatEvent({ event, id, data }: OutgoingEvent): string {
  const head = field('event', event) + field('id', id);
  // JSON has no raw line breaks, so the common case needs no splitting.
  if (!data.includes('\n') && !data.includes('\r')) return `${head}data: ${data}\n\n`;
  return `${head}${data
    .split(lineBreak)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
}

function field(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  if (lineBreak.test(value)) throw new RangeError(`the ${name} of an event must be one line`);
  return `${name}: ${value}\n`;
}

/** Readers skip a comment; it keeps the connection open. */
export const formatComment = (text: string): string =>
  `${text
    .split(lineBreak)
    .map((line) => `: ${line}\n`)
    .join('')}\n`;

export const ssePing = formatComment('ping');
