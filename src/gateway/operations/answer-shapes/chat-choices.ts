import { fault, type JsonFields, parseJsonText, SseScanner } from '../../../kernel';

/**
 * Splits a stream with several choices into one stream per choice, in order of their index. Events without a choice go
 * to all.
 */
export function separateChoices(bytes: Buffer): Buffer[] {
  const events = eventsIn(bytes);
  const indices = new Set(events.flatMap((event) => choicesIn(event).map(indexOf)));
  const choiceIndexes = indices.size === 0 ? [0] : [...indices].sort((one, other) => one - other);
  return choiceIndexes.map((index) => Buffer.from(events.map((event) => eventFor(event, index)).join('')));
}

/** A string is an event that is not JSON, such as [DONE]. */
type ChoiceEvent = JsonFields | string;

function eventsIn(bytes: Buffer): ChoiceEvent[] {
  const events: ChoiceEvent[] = [];
  const scanner = new SseScanner({
    onText: (text, complete) => {
      const trimmed = text.trim();
      if (events.at(-1) === '[DONE]') return;
      if (trimmed === '[DONE]') events.push(trimmed);
      else if (complete && trimmed !== '') events.push(parseObject(trimmed));
    },
  });
  const tooLarge = scanner.push(bytes);
  if (tooLarge !== undefined) throw tooLarge;
  scanner.end();
  return events;
}

function eventFor(event: ChoiceEvent, index: number): string {
  const choices = choicesIn(event);
  const ownChoices = choices.filter((choice) => indexOf(choice) === index);
  if (typeof event === 'string' || choices.length === 0)
    return formatData(typeof event === 'string' ? event : JSON.stringify(event));
  if (ownChoices.length === 0) return '';
  return formatData(
    JSON.stringify({ ...event, choices: ownChoices.map((choice) => ({ ...choice, index: 0 })) }),
  );
}

const formatData = (text: string): string => `data: ${text}\n\n`;

function choicesIn(event: ChoiceEvent): JsonFields[] {
  const choices: unknown = typeof event === 'string' ? null : event.choices;
  return Array.isArray(choices) ? choices.filter(isObject) : [];
}

const isObject = (value: unknown): value is JsonFields => typeof value === 'object' && value !== null;

const indexOf = ({ index }: JsonFields): number => (typeof index === 'number' ? index : 0);

function parseObject(text: string): JsonFields {
  try {
    const value: unknown = parseJsonText(text);
    if (isObject(value)) return value;
  } catch {
    // The error below leaves out the text.
  }
  throw fault('non_json_provider_response');
}
