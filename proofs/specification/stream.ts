import type { PassedResponse } from './breaking-proxy';

export interface StreamEvent {
  /** Event name from its own line, or the `type` of its data. */
  readonly type: string;
  readonly data: string;
  readonly text: string;
}

export function eventsOf(body: Buffer | string): StreamEvent[] {
  return body
    .toString()
    .split(/\r?\n\r?\n/)
    .filter((text) => text.trim() !== '')
    .map((text) => {
      const lines = text.split(/\r?\n/);
      const eventName =
        lines
          .find((line) => line.startsWith('event:'))
          ?.slice(6)
          .trim() ?? '';
      const data = lines
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n');
      return { type: eventName, data, text };
    });
}

export const textOf = (type: string, data: string): StreamEvent => ({
  type,
  data,
  text: `${type === '' ? '' : `event: ${type}\n`}data: ${data}`,
});

export function withEvents(
  response: PassedResponse,
  change: (all: StreamEvent[]) => StreamEvent[],
): PassedResponse | null {
  const events = eventsOf(response.body);
  const changedEvents = change(events);
  if (changedEvents.length === events.length && changedEvents.every((one, index) => one === events[index]))
    return null;
  return { ...response, body: Buffer.from(changedEvents.map(({ text }) => `${text}\n\n`).join('')) };
}
