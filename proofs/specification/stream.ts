import type { Passed } from './meddler';

export interface StreamEvent {
  /** Its name, be it on a line of its own or the `type` of its data. */
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
      const named =
        lines
          .find((line) => line.startsWith('event:'))
          ?.slice(6)
          .trim() ?? '';
      const data = lines
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n');
      return { type: named, data, text };
    });
}

export const textOf = (type: string, data: string): StreamEvent => ({
  type,
  data,
  text: `${type === '' ? '' : `event: ${type}\n`}data: ${data}`,
});

export function withEvents(passed: Passed, change: (all: StreamEvent[]) => StreamEvent[]): Passed | null {
  const events = eventsOf(passed.body);
  const changed = change(events);
  if (changed.length === events.length && changed.every((one, place) => one === events[place])) return null;
  return { ...passed, body: Buffer.from(changed.map(({ text }) => `${text}\n\n`).join('')) };
}
