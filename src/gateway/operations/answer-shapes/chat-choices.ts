import { fault, type JsonFields, parseJsonText, SseScanner } from '../../../kernel';

/**
 * Splits a stream of several answers into one stream each. Events of no single answer go to all. Answers come in the
 * order of their index.
 */
export function separateChoices(bytes: Buffer): Buffer[] {
  const events = eventsIn(bytes);
  const indices = new Set(events.flatMap((event) => choicesIn(event).map(indexOf)));
  const wanted = indices.size === 0 ? [0] : [...indices].sort((one, other) => one - other);
  return wanted.map((index) => Buffer.from(events.map((event) => eventFor(event, index)).join('')));
}

/** A text stands for itself. */
type Event = JsonFields | string;

function eventsIn(bytes: Buffer): Event[] {
  const events: Event[] = [];
  const scanner = new SseScanner({
    onText: (text, complete) => {
      const trimmed = text.trim();
      if (events.at(-1) === '[DONE]') return;
      if (trimmed === '[DONE]') events.push(trimmed);
      else if (complete && trimmed !== '') events.push(objectIn(trimmed));
    },
  });
  const tooLarge = scanner.push(bytes);
  if (tooLarge !== undefined) throw tooLarge;
  scanner.end();
  return events;
}

function eventFor(event: Event, index: number): string {
  const choices = choicesIn(event);
  const own = choices.filter((choice) => indexOf(choice) === index);
  if (typeof event === 'string' || choices.length === 0)
    return written(typeof event === 'string' ? event : JSON.stringify(event));
  if (own.length === 0) return '';
  return written(JSON.stringify({ ...event, choices: own.map((choice) => ({ ...choice, index: 0 })) }));
}

const written = (text: string): string => `data: ${text}\n\n`;

function choicesIn(event: Event): JsonFields[] {
  const choices: unknown = typeof event === 'string' ? null : event.choices;
  return Array.isArray(choices) ? choices.filter(isObject) : [];
}

const isObject = (value: unknown): value is JsonFields => typeof value === 'object' && value !== null;

const indexOf = ({ index }: JsonFields): number => (typeof index === 'number' ? index : 0);

function objectIn(text: string): JsonFields {
  try {
    const value: unknown = parseJsonText(text);
    if (isObject(value)) return value;
  } catch {
    // The fault below says so, without the text.
  }
  throw fault('non_json_provider_response');
}
